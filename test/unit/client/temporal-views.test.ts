import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { defaultPayloadConverter, type WorkflowExecutionDescription } from '@temporalio/client';
import { encryptingCodec } from '../../../activities/codec/payload-codec-adapter.ts';
import { describedExecution } from '../../../client/temporal-views.ts';

const description = {
  workflowId: 'w',
  runId: 'r',
  type: 'migration',
  taskQueue: 'vmflow',
  status: { code: 1, name: 'RUNNING' },
  startTime: new Date(0),
  typedSearchAttributes: { getAll: () => [] },
} as unknown as WorkflowExecutionDescription;

test('an activity in flight is shown with what its heartbeat told', () => {
  const details = { payloads: [defaultPayloadConverter.toPayload({ bytes: 7 })] };
  const { pending } = describedExecution(description, [{ attempt: 2, heartbeatDetails: details }]);
  assert.deepEqual([pending[0]?.attempt, pending[0]?.heartbeat], [2, { bytes: 7 }]);
});

test('an activity in flight is shown without a heartbeat that is encrypted with a key we lack', async () => {
  const codec = encryptingCodec([{ id: 'k1', bytes: randomBytes(32) }]);
  const details = { payloads: await codec.encode([defaultPayloadConverter.toPayload({ bytes: 7 })]) };
  const { pending } = describedExecution(description, [{ attempt: 2, heartbeatDetails: details }]);
  assert.equal(pending[0]?.attempt, 2);
  assert.equal(pending[0].heartbeat, undefined);
});
