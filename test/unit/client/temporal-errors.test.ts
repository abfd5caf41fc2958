import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ActivityFailure,
  ApplicationFailure,
  NamespaceNotFoundError,
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { failureOf, fromTemporal, type ErrorContext } from '../../../client/temporal-errors.ts';

const context: ErrorContext = {
  address: 'temporal.example:7233',
  namespace: 'vmflow',
  taskQueue: 'vmflow',
  attempt: 'list executions',
  needsWorker: false,
};

/** An error of the transport as the SDK wraps it. */
function grpcError(code: number, details: string, message = `${code} X: ${details}`): Error {
  const cause = Object.assign(new Error(message), { code, details, metadata: { get: () => [] } });
  return new ServiceError('Failed', { cause });
}

const refusal = ApplicationFailure.create({
  type: 'Refused',
  message: 'too late',
  details: [
    { code: 'TOO_LATE', next: 'wait', primary: { kind: 'vim-fault', faultType: 'TaskInProgress', message: 'busy' } },
  ],
});

const rows: readonly [string, Error, Partial<ErrorContext>, number, string, RegExp][] = [
  [
    'Temporal is away',
    grpcError(14, 'connect ECONNREFUSED'),
    {},
    7,
    'TEMPORAL_UNREACHABLE',
    /Temporal at temporal\.example:7233 isn't reachable/,
  ],
  [
    'connecting took too long',
    new Error('Failed to connect before the deadline'),
    {},
    7,
    'TEMPORAL_UNREACHABLE',
    /isn't reachable/,
  ],
  ['the server is too slow', grpcError(4, 'deadline'), {}, 7, 'TEMPORAL_UNREACHABLE', /isn't reachable/],
  [
    'no worker answers a query',
    grpcError(4, 'deadline'),
    { needsWorker: true },
    6,
    'NOT_ACKNOWLEDGED',
    /is a worker running\?/,
  ],
  [
    'no worker polls',
    grpcError(9, 'no poller seen for task queue recently, worker may be down'),
    { needsWorker: true },
    6,
    'NOT_ACKNOWLEDGED',
    /is a worker running\?/,
  ],
  [
    'no worker takes an update',
    new WorkflowUpdateRPCTimeoutOrCancelledError('late'),
    { needsWorker: true },
    6,
    'NOT_ACKNOWLEDGED',
    /not yet acknowledged/,
  ],
  [
    'a worker that can’t run the workflow',
    grpcError(3, 'Unable to query workflow due to Workflow Task in failed state.'),
    {},
    6,
    'WORKER_FAILING',
    /can't carry this workflow on/,
  ],
  [
    'the namespace is missing',
    new NamespaceNotFoundError('vmflow'),
    {},
    3,
    'NAMESPACE_MISSING',
    /has no namespace "vmflow"/,
  ],
  [
    'the namespace is missing (status only)',
    grpcError(5, 'Namespace vmflow is not found.'),
    {},
    3,
    'NAMESPACE_MISSING',
    /has no namespace/,
  ],
  [
    'attributes are missing in a query',
    grpcError(3, 'invalid query: column name OpKind is not defined'),
    {},
    3,
    'SEARCH_ATTRIBUTES_MISSING',
    /not registered/,
  ],
  [
    'attributes are missing in a start with update',
    grpcError(
      3,
      'Update-with-Start could not be executed.',
      'Namespace vmflow has no mapping defined for search attribute OpVm',
    ),
    {},
    3,
    'SEARCH_ATTRIBUTES_MISSING',
    /not registered/,
  ],
  [
    'access is denied',
    grpcError(7, 'Request unauthorized.'),
    {},
    4,
    'TEMPORAL_DENIED',
    /refuses access to namespace "vmflow"/,
  ],
  ['the key is wrong', grpcError(16, 'invalid token'), {}, 4, 'TEMPORAL_DENIED', /refuses access/],
  [
    'there is no such execution',
    new WorkflowNotFoundError('workflow not found', 'x', undefined),
    {},
    3,
    'EXECUTION_NOT_FOUND',
    /there is no such operation/,
  ],
  [
    'the execution is closed',
    new WorkflowNotFoundError('already completed', 'x', undefined),
    { needsWorker: true },
    3,
    'EXECUTION_NOT_FOUND',
    /it is not running/,
  ],
  [
    'a validator refuses',
    new WorkflowUpdateFailedError('Workflow Update failed', refusal),
    {},
    5,
    'TOO_LATE',
    /can't list executions: too late/,
  ],
  ['something else', grpcError(13, 'internal'), {}, 1, 'TEMPORAL_ERROR', /answered with an error/],
];
for (const [what, error, more, exit, reason, message] of rows) {
  test(`${what}: exit ${exit}, ${reason}`, () => {
    const mapped = fromTemporal(error, { ...context, ...more });
    assert.deepEqual([mapped.exit, mapped.reason], [exit, reason]);
    assert.match(mapped.message, message);
    assert.ok(mapped.next.length > 0 || exit === 1, 'says what to do next');
  });
}

test('a refusal keeps the far side’s cause and the next step', () => {
  const mapped = fromTemporal(new WorkflowUpdateFailedError('failed', refusal), context);
  assert.deepEqual([mapped.why, mapped.next], ['TaskInProgress: busy', ['wait']]);
});

test('a message without details takes its reason from its first word', () => {
  const bare = ApplicationFailure.create({ type: 'Refused', message: 'SWAP_RUNNING: being updated to 9.5' });
  assert.equal(fromTemporal(new WorkflowUpdateFailedError('failed', bare), context).reason, 'SWAP_RUNNING');
});

test('a lookup that failed in its activity gives the activity’s failure', () => {
  const cause = ApplicationFailure.create({
    type: 'Unavailable',
    message: 'vc1 does not answer',
    details: [{ code: 'VCENTER_UNREACHABLE' }],
  });
  const inActivity = new ActivityFailure('Activity task failed', 'lookup', '1', 'MAXIMUM_ATTEMPTS_REACHED', '', cause);
  const error = new WorkflowFailedError('Workflow execution failed', inActivity, 'MAXIMUM_ATTEMPTS_REACHED');
  const mapped = fromTemporal(error, context);
  assert.deepEqual([mapped.exit, mapped.reason], [7, 'VCENTER_UNREACHABLE']);
  assert.deepEqual(failureOf(error), {
    type: 'Unavailable',
    message: 'vc1 does not answer',
    details: { code: 'VCENTER_UNREACHABLE' },
  });
});
