import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toRegistryOperationError } from '../../../activities/registry/operation-error.ts';
import { RegistryError, type RegistryErrorReason } from '../../../activities/registry/port.ts';

const table: readonly (readonly [RegistryErrorReason, string, string, boolean])[] = [
  ['Unauthorized', 'Unauthenticated', 'REGISTRY_AUTH', false],
  ['Forbidden', 'Forbidden', 'REGISTRY_FORBIDDEN', false],
  ['DeletionDisabled', 'Refused', 'REGISTRY_DELETION_DISABLED', false],
  ['TooManyRequests', 'Throttled', 'REGISTRY_THROTTLED', true],
  ['Invalid', 'InvalidRequest', 'REGISTRY_NAME', false],
  ['Untrusted', 'Unauthenticated', 'REGISTRY_TLS', false],
  ['Timeout', 'Timeout', 'REGISTRY_TIMEOUT', true],
  ['Unavailable', 'Unavailable', 'REGISTRY_UNAVAILABLE', true],
  ['Unexpected', 'Unavailable', 'REGISTRY_ODD', true],
];
for (const [reason, type, code, retryable] of table) {
  test(`${reason} becomes ${type}, ${retryable ? 'retried' : 'final'}`, () => {
    const error = toRegistryOperationError(new RegistryError(reason, 'what happened', { status: 418 }));
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
  const error = toRegistryOperationError(new RegistryError('TooManyRequests', 'later', { retryAfterS: 3 }));
  assert.equal(error?.details.primary?.kind, 'transport');
  assert.deepEqual(error.details.facts, { retryAfterS: 3 });
});

test('errors of others are left to others', () => {
  assert.equal(toRegistryOperationError(new Error('boom')), undefined);
});
