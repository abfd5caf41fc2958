import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  asFilter,
  compileExpression,
  ExpressionError,
} from '../../../../activities/placement/expression/expression.ts';
import { instance, network, now } from './builders.ts';

const at = (location: string): ReturnType<typeof instance> => instance({ location });

/** Filter, location, whether it is shown. */
const rows: readonly (readonly [string, string, boolean])[] = [
  ['web', '/DC0/vm/web01', true],
  ['web', '/DC0/vm/db01', false],
  ['running', '/DC0/vm/web01', false],
  ['running', '/DC0/vm/running/a', true],
  ['2404', '/DC0/vm/ubuntu2404', true],
  ['/DC0/vm/web', '/DC0/vm/web01', true],
  ['Incus migrations', '/DC0/vm/Incus migrations/x', true],
  ['^/DC0/.*[0-9]$', '/DC0/vm/web01', true],
  ['^/DC0/.*[0-9]$', '/DC0/vm/web', false],
  [' web ', '/DC0/vm/web01', true],
  ['', '/DC0/vm/web01', true],
  ['cpus == 2', '/DC0/vm/web01', true],
  ['cpus == 3', '/DC0/vm/web01', false],
  ['false', '/DC0/vm/false', false],
];
for (const [text, location, isShown] of rows)
  test(`the filter "${text}" ${isShown ? 'shows' : 'hides'} ${location}`, () => {
    assert.equal(asFilter(text, 'instance').evaluate(at(location), { now }), isShown);
  });

test('a filter of networks looks at their location', () => {
  assert.equal(asFilter('VM Network', 'network').evaluate(network(), { now }), true);
  assert.equal(asFilter("type == 'distributed'", 'network').evaluate(network(), { now }), false);
});

test('an expression with a mistake is no plain text', () => {
  for (const text of ['cpus == "2"', '1.5', "'web'", 'nosuch == 1', 'a.b()', '('.repeat(60)])
    assert.throws(() => asFilter(text, 'instance'), ExpressionError, text);
});

test('plain text that is no pattern is refused', () => {
  assert.throws(() => asFilter('web (', 'instance'), /no pattern of RE2/);
});

test('batches and constraints have no plain text', () => {
  asFilter('/DC0/vm/web', 'instance');
  for (const text of ['web', '/DC0/vm/web', '2404', '']) {
    assert.throws(() => compileExpression(text, 'instance'), ExpressionError, text);
  }
});

test('the same text is compiled once, for each kind of record on its own', () => {
  const text = "location == '/a'";
  assert.equal(compileExpression(text, 'instance'), compileExpression(text, 'instance'));
  assert.notEqual(compileExpression(text, 'instance'), compileExpression(text, 'network'));
  assert.equal(compileExpression(text, 'network').evaluate(network({ location: '/a' }), { now }), true);
});
