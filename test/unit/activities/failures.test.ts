import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { MockActivityEnvironment } from '@temporalio/testing';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { DefaultLogger } from '@temporalio/worker';
import { FailureMapper, OperationError } from '../../../activities/failures.ts';
import { errorTranslators } from '../../../activities/index.ts';
import { SourceError } from '../../../activities/ova/source-error.ts';
import { VSphereError, VimFault } from '../../../activities/vsphere/faults.ts';

/** Every one of these failures would be logged as a warning. */
const logger = new DefaultLogger('ERROR');

/** What the server would be told about an error that an activity throws. */
async function failureOf(err: Error | undefined): Promise<ApplicationFailure> {
  const mapper = new FailureMapper(errorTranslators);
  const environment = new MockActivityEnvironment({ activityType: 'someStep' }, { logger });
  const thrown = await environment
    .run(() => mapper.execute({ args: [], headers: {} }, () => Promise.reject(err ?? new Error('nothing'))))
    .catch((caught: unknown) => caught);
  assert.ok(thrown instanceof ApplicationFailure, String(thrown));
  return thrown;
}

const fault = (faultType: string, fields = {}): VimFault =>
  new VimFault({ kind: 'vim-fault', faultType, fields, method: 'M' });
const vsphere = (code: VSphereError['code']): VSphereError => new VSphereError(code, code, { kind: 'transport' });

const table: readonly (readonly [Error | undefined, string, string, boolean])[] = [
  [fault('InvalidLogin'), 'Unauthenticated', 'AUTH', false],
  [fault('NotAuthenticated'), 'Unauthenticated', 'SESSION_LOST', true],
  [fault('NoPermission'), 'Forbidden', 'NO_PERMISSION', false],
  [fault('ManagedObjectNotFound'), 'NotFound', 'GONE', false],
  [fault('NoDiskSpace'), 'NoSpace', 'INSUFFICIENT_SPACE', false],
  [fault('TaskInProgress'), 'Busy', 'BUSY', true],
  [fault('InvalidPowerState'), 'Foreign', 'POWERED_ON', false],
  [fault('HostNotReachable'), 'Unavailable', 'HOST_UNREACHABLE', true],
  [fault('InvalidVmConfig'), 'Refused', 'VCENTER_REFUSED', false],
  [vsphere('TRANSPORT'), 'Unavailable', 'VCENTER_UNREACHABLE', true],
  [vsphere('AUTH'), 'Unauthenticated', 'AUTH', false],
  [vsphere('TLS_THUMBPRINT'), 'Unauthenticated', 'TLS_THUMBPRINT', false],
  [vsphere('LEASE_LOST'), 'LeaseLost', 'LEASE_LOST', true],
  [vsphere('UPLOAD_STALLED'), 'Timeout', 'UPLOAD_STALLED', true],
  [vsphere('INSUFFICIENT_SPACE'), 'NoSpace', 'INSUFFICIENT_SPACE', false],
  [new SourceError('OVA_TRUNCATED', 'short'), 'InvalidRequest', 'OVA_TRUNCATED', false],
  [new SourceError('SOURCE_HTTP', '503', { permanent: false }), 'Unavailable', 'SOURCE_HTTP', true],
  [z.strictObject({ a: z.string() }).safeParse({}).error, 'InvalidRequest', 'INVALID', false],
  [new Error('boom'), 'Unavailable', 'UNEXPECTED', true],
];

for (const [err, type, code, retryable] of table) {
  test(`an error becomes a typed failure: ${code} is ${type}`, async () => {
    const failure = await failureOf(err);
    assert.deepEqual(
      [failure.type, (failure.details?.[0] as { code: string }).code, !(failure.nonRetryable ?? false)],
      [type, code, retryable],
    );
  });
}

test('a failure names the step and keeps both causes', async () => {
  const failure = await failureOf(
    new OperationError('Busy', 'm', {
      code: 'C',
      primary: { kind: 'rest', message: 'first' },
      secondary: { kind: 'rest', message: 'second' },
    }),
  );
  assert.deepEqual(failure.details?.[0], {
    code: 'C',
    step: 'someStep',
    primary: { kind: 'rest', message: 'first' },
    secondary: { kind: 'rest', message: 'second' },
  });
});

test('an abort because of a cancellation is reported as the cancellation', async () => {
  const environment = new MockActivityEnvironment({}, { logger });
  const mapper = new FailureMapper(errorTranslators);
  const running = environment.run(() =>
    mapper.execute({ args: [], headers: {} }, async () => {
      await new Promise((_resolve, reject) => {
        Context.current().cancellationSignal.addEventListener('abort', () =>
          reject(new DOMException('aborted', 'AbortError')),
        );
      });
    }),
  );
  environment.cancel();
  await assert.rejects(running, CancelledFailure);
});
