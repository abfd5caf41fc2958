import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mostOrdered, orderOf, orderProblems, orderWait, strangersIn } from '../../../workflows/domain/batch/order.ts';
import type { InstanceOverrides } from '../../../workflows/domain/batch/records.ts';

type Overrides = Readonly<Record<string, InstanceOverrides>>;

const members = (...uuids: string[]): { uuid: string; name: string }[] =>
  uuids.map((uuid) => ({ uuid, name: uuid.toUpperCase() }));

/** Who has to wait, where these are finished. */
function waiting(overrides: Overrides, all: readonly string[], finished: readonly string[] = []): string[] {
  const whyOf = orderWait(orderOf(overrides, members(...all)), new Set(finished));
  return all.filter((uuid) => whyOf(uuid) !== undefined);
}

test('whoever depends on another waits until that is finished', () => {
  const overrides = { web: { depends_on: ['db', 'dns'] } };
  assert.deepEqual(waiting(overrides, ['db', 'dns', 'web', 'x']), ['web']);
  assert.deepEqual(waiting(overrides, ['db', 'dns', 'web', 'x'], ['db']), ['web']);
  assert.deepEqual(waiting(overrides, ['db', 'dns', 'web', 'x'], ['db', 'dns']), []);
});

test('a group waits for all of lower groups; who has none waits for nobody', () => {
  const overrides = { a: { group: 1 }, b: { group: 1 }, c: { group: 5 }, d: { group: 7 } };
  const all = ['a', 'b', 'c', 'd', 'x'];
  assert.deepEqual(waiting(overrides, all), ['c', 'd']);
  assert.deepEqual(waiting(overrides, all, ['a']), ['c', 'd']);
  assert.deepEqual(waiting(overrides, all, ['a', 'b']), ['d']);
  assert.deepEqual(waiting(overrides, all, ['a', 'b', 'c']), []);
});

test('it says for whom, by name, and what to do', () => {
  const order = orderOf({ c: { group: 2 }, a: { group: 1 }, b: { group: 1 } }, members('a', 'b', 'c'));
  assert.equal(
    orderWait(order, new Set())('c'),
    'A and 1 more must be finished before it begins (vmflow queue get a); to begin now, without a window: vmflow queue cutover c',
  );
  assert.match(orderWait(order, new Set(['a']))('c') ?? '', /^B must be finished/);
});

test('what is said of a VM that is no member counts for nobody', () => {
  assert.deepEqual(waiting({ gone: { group: 1 }, a: { group: 2 } }, ['a']), []);
});

test('a member that depends on no member is named', () => {
  const order = orderOf({ web: { depends_on: ['db', 'gone'] } }, members('db', 'web'));
  assert.deepEqual(strangersIn(order), [
    {
      path: 'overrides["web"].depends_on[1]',
      message: 'gone is the UUID of no VM of the batch: WEB would never begin',
    },
  ]);
});

const circles: readonly (readonly [title: string, overrides: Overrides, path: string, chain: string])[] = [
  ['itself', { a: { depends_on: ['a'] } }, 'overrides["a"].depends_on', 'a waits for a'],
  [
    'three',
    { x: { depends_on: ['a'] }, a: { depends_on: ['b'] }, b: { depends_on: ['c'] }, c: { depends_on: ['a'] } },
    'overrides["a"].depends_on',
    'a waits for b waits for c waits for a',
  ],
  [
    'a group and what one of it depends on',
    { a: { group: 1, depends_on: ['b'] }, b: { group: 2, name: 'web' } },
    'overrides["a"].depends_on',
    'a of group 1 waits for web (b) of group 2 waits for group 1 waits for a of group 1',
  ],
];

for (const [title, overrides, path, chain] of circles)
  test(`a circle of ${title} is shown from one of its VMs back to it`, () => {
    assert.deepEqual(orderProblems({ overrides }), [
      { path, message: `makes a circle, in which nobody ever begins: ${chain}` },
    ]);
  });

test('no more have an order than a batch keeps in mind', () => {
  const overrides = Object.fromEntries(Array.from({ length: mostOrdered + 1 }, (_, i) => [`vm${i}`, { group: 1 }]));
  assert.match(orderProblems({ overrides })[0]?.message ?? '', /501 VMs/);
  delete overrides['vm0'];
  assert.deepEqual(orderProblems({ overrides }), []);
});

test('an order without a circle is always worked off, and one with a circle never is', () => {
  const uuids = ['a', 'b', 'c', 'd', 'e'];
  const vm = fc.record(
    {
      group: fc.integer({ min: 1, max: 3 }),
      depends_on: fc.uniqueArray(fc.constantFrom(...uuids), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(vm, { minLength: uuids.length, maxLength: uuids.length }), (each) => {
      const overrides = Object.fromEntries(uuids.map((uuid, i) => [uuid, each[i] ?? {}]));
      const finished: string[] = [];
      for (;;) {
        const next = uuids.filter(
          (uuid) => !finished.includes(uuid) && !waiting(overrides, uuids, finished).includes(uuid),
        );
        if (next.length === 0) break;
        finished.push(...next);
      }
      assert.equal(finished.length === uuids.length, orderProblems({ overrides }).length === 0);
    }),
  );
});
