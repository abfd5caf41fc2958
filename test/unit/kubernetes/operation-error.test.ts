import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toClusterOperationError } from '../../../activities/kubernetes/operation-error.ts';
import { ClusterError, type ClusterErrorReason } from '../../../activities/kubernetes/port.ts';

const table: readonly (readonly [ClusterErrorReason, string, string, boolean])[] = [
  ['NotFound', 'NotFound', 'CLUSTER_NOT_FOUND', false],
  ['AlreadyExists', 'Conflict', 'NAME_TAKEN', true],
  ['Conflict', 'Conflict', 'CHANGED_MEANWHILE', true],
  ['Invalid', 'InvalidRequest', 'INVALID_OBJECT', false],
  ['Forbidden', 'Forbidden', 'CLUSTER_FORBIDDEN', false],
  ['Denied', 'Refused', 'ADMISSION_DENIED', false],
  ['Unauthorized', 'Unauthenticated', 'CLUSTER_AUTH', false],
  ['TooManyRequests', 'Throttled', 'CLUSTER_THROTTLED', true],
  ['Unavailable', 'Unavailable', 'CLUSTER_UNAVAILABLE', true],
  ['Other', 'Refused', 'CLUSTER_REFUSED', false],
];
for (const [reason, type, code, retryable] of table) {
  test(`${reason} becomes ${type}, ${retryable ? 'retried' : 'final'}`, () => {
    const error = toClusterOperationError(new ClusterError(reason, 'what happened', { status: 418 }));
    assert.deepEqual([error?.type, error?.code, error?.retryable], [type, code, retryable]);
    assert.equal(error?.message, 'what happened');
    assert.deepEqual(error.details.primary, {
      kind: 'http',
      faultType: reason,
      message: 'what happened',
      httpStatus: 418,
    });
  });
}

test('without a status it was the connection', () => {
  const error = toClusterOperationError(new ClusterError('Unavailable', 'no answer', { retryAfterS: 3 }));
  assert.equal(error?.details.primary?.kind, 'transport');
  assert.deepEqual(error.details.facts, { retryAfterS: 3 });
});

test('errors of others are left to others', () => {
  assert.equal(toClusterOperationError(new Error('boom')), undefined);
});
