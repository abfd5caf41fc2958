import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toOperationError } from '../../../../activities/failures.ts';
import { toTargetOperationError } from '../../../../activities/incus/operation-error.ts';
import type { TargetErrorCode } from '../../../../activities/incus/port.ts';
import { TargetError } from '../../../../activities/incus/target-error.ts';
import type { FailureType } from '../../../../workflows/contracts/failures.ts';

const rows: readonly (readonly [TargetErrorCode, FailureType, boolean])[] = [
  ['UNREACHABLE', 'Unavailable', true],
  ['TIMEOUT', 'Timeout', true],
  ['UNTRUSTED', 'Unauthenticated', false],
  ['CERTIFICATE', 'Unauthenticated', false],
  ['FORBIDDEN', 'Forbidden', false],
  ['NOT_FOUND', 'NotFound', false],
  ['PROJECT_GONE', 'NotFound', false],
  ['FOREIGN_INSTANCE', 'Foreign', false],
  ['NOT_OURS', 'Foreign', false],
  ['NO_SPACE', 'NoSpace', false],
  ['BUSY', 'Busy', true],
  ['ETAG', 'Conflict', true],
  ['FENCED', 'Refused', false],
  ['OPERATION_FAILED', 'Unavailable', true],
  ['INVALID', 'InvalidRequest', false],
  ['SERVER', 'Unavailable', true],
  ['PROTOCOL', 'Unavailable', true],
  ['DISK_CONNECTION', 'Unavailable', true],
];

for (const [code, type, retryable] of rows)
  test(`${code} is ${type}, ${retryable ? 'retried' : 'not retried'}, and says what to do next`, () => {
    const error = toOperationError(new TargetError(code, 'Target tgt: could not …'), [toTargetOperationError]);
    assert.equal(error.type, type);
    assert.equal(error.code, `TARGET_${code}`);
    assert.equal(error.retryable, retryable);
    assert.equal(error.message, 'Target tgt: could not …');
    assert.ok(error.details.next);
    assert.deepEqual(error.details.primary, {
      kind: 'transport',
      faultType: code,
      message: 'Target tgt: could not …',
    });
  });

test('the status of the answer and the advice of the place where it failed are kept', () => {
  const error = toTargetOperationError(new TargetError('BUSY', 'x', { status: 409, next: 'wait', retryAfterS: 7 }));
  assert.equal(error?.details.primary?.httpStatus, 409);
  assert.equal(error.details.next, 'wait');
  assert.deepEqual(error.details.facts, { retryAfterS: 7 });
});

test('errors of others are left to others', () => {
  assert.equal(toTargetOperationError(new Error('x')), undefined);
});
