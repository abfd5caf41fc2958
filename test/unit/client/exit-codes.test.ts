import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CliError, toCliError } from '../../../client/errors.ts';
import { combineExits, exitCodes, exitOfFailureType, type ExitCode } from '../../../client/exit-codes.ts';
import { createPaint } from '../../../client/output/colors.ts';
import { formatError } from '../../../client/output/error.ts';
import { errorSchema } from '../../../client/output/schemas.ts';

test('exit codes are a contract', () => {
  const codes = Object.fromEntries(Object.entries(exitCodes).map(([name, { code }]) => [name, code]));
  assert.deepEqual(codes, {
    ok: 0,
    failed: 1,
    usage: 2,
    notFound: 3,
    denied: 4,
    refused: 5,
    notAcknowledged: 6,
    unreachable: 7,
    cancelled: 8,
    partly: 9,
    timeout: 124,
    interrupted: 130,
  });
});

const failureRows: readonly [string, ExitCode][] = [
  ['InvalidRequest', 2],
  ['NotFound', 3],
  ['Forbidden', 4],
  ['Unauthenticated', 4],
  ['Refused', 5],
  ['Foreign', 5],
  ['Conflict', 5],
  ['Busy', 5],
  ['NoSpace', 5],
  ['Throttled', 7],
  ['Unavailable', 7],
  ['Timeout', 7],
  ['LeaseLost', 1],
  ['CleanupFailed', 1],
  ['toString', 1],
  ['SomethingElse', 1],
];
for (const [type, exit] of failureRows) {
  test(`a failure of type ${type} ends with ${exit}`, () => assert.equal(exitOfFailureType(type), exit));
}

test('many targets give their common code, or 9', () => {
  assert.equal(combineExits([]), 0);
  assert.equal(combineExits([5, 5]), 5);
  assert.equal(combineExits([0, 5]), 9);
  assert.equal(combineExits([4, 7]), 9);
});

const example = new CliError({
  exit: 'refused',
  reason: 'FOREIGN_OBJECT',
  message: "can't update template rhel9-base: a powered-on VM has the name",
  why: "it isn't marked as ours",
  state: 'nothing was changed',
  next: ['rename that VM', 'vmflow template update rhel9-base'],
  link: 'https://temporal.example/x',
});

test('an error says what happened, why, what it means, what to do next, and where to look', () => {
  assert.equal(
    formatError(example, 'table', createPaint(false), false),
    `error: can't update template rhel9-base: a powered-on VM has the name
  why     it isn't marked as ours
  state   nothing was changed
  next    rename that VM
          vmflow template update rhel9-base
  link    https://temporal.example/x
`,
  );
});

test('with -o json an error is one document with its exit code', () => {
  const { error } = errorSchema.parse(JSON.parse(formatError(example, 'json', createPaint(true), false)));
  assert.equal(error.code, 5);
  assert.equal(error.reason, 'FOREIGN_OBJECT');
  assert.equal(error.hint, 'rename that VM\nvmflow template update rhel9-base');
});

test('a stack is shown with --debug only', () => {
  const error = toCliError(new TypeError('boom'));
  assert.equal(error.exit, 1);
  assert.doesNotMatch(formatError(error, 'table', createPaint(false), false), /at /);
  assert.match(formatError(error, 'table', createPaint(false), true), /caused by: TypeError: boom\n\s+at /);
});
