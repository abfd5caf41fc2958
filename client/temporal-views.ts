import { defaultPayloadConverter } from '@temporalio/client';
import type {
  WorkflowExecutionDescription,
  WorkflowExecutionInfo,
  WorkflowExecutionStatusName,
} from '@temporalio/client';
import { isEncrypted } from '../activities/codec/payload-codec-adapter.ts';
import type { ExecutionState, ExecutionView, PendingActivity } from './gateway.ts';

const states: Partial<Record<WorkflowExecutionStatusName, ExecutionState>> = {
  RUNNING: 'running',
  PAUSED: 'running',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed-out',
  CONTINUED_AS_NEW: 'continued',
};

/** A row of visibility. */
export function executionView(info: Omit<WorkflowExecutionInfo, 'raw'>): ExecutionView {
  return {
    workflowId: info.workflowId,
    runId: info.runId,
    type: info.type,
    taskQueue: info.taskQueue,
    state: states[info.status.name] ?? 'unknown',
    startedAt: info.startTime.toISOString(),
    ...(info.closeTime === undefined ? {} : { closedAt: info.closeTime.toISOString() }),
    memo: info.memo ?? {},
    attributes: Object.fromEntries(
      info.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value as unknown]),
    ),
    pending: [],
  };
}

/** The same with the activities in flight, their payloads decoded. */
export function describedExecution(
  description: WorkflowExecutionDescription,
  pending: readonly RawPending[],
): ExecutionView {
  return { ...executionView(description), pending: pending.map(pendingActivity) };
}

type RawPending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** Numbers of the protocol's enum `PendingActivityState`. */
const pendingStates: Readonly<Record<number, PendingActivity['state']>> = {
  1: 'scheduled',
  2: 'started',
  3: 'cancelling',
  4: 'paused',
  5: 'cancelling',
};

function pendingActivity(raw: RawPending): PendingActivity {
  const heartbeat = raw.heartbeatDetails?.payloads?.[0];
  const heartbeatAt = isoTime(raw.lastHeartbeatTime);
  const nextAttemptAt = isoTime(raw.scheduledTime);
  const lastFailure = raw.lastFailure?.message;
  return {
    type: raw.activityType?.name ?? '',
    attempt: raw.attempt ?? 1,
    maxAttempts: raw.maximumAttempts ?? 0,
    state: pendingStates[raw.state ?? 0] ?? 'unknown',
    // Without its key the rest is shown all the same.
    ...(heartbeat == null || isEncrypted(heartbeat)
      ? {}
      : { heartbeat: defaultPayloadConverter.fromPayload(heartbeat) }),
    ...(heartbeatAt === undefined ? {} : { heartbeatAt }),
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt }),
    ...(lastFailure == null ? {} : { lastFailure }),
  };
}

/** A protocol timestamp as ISO 8601. */
export function isoTime(
  timestamp: { seconds?: { toNumber(): number } | null; nanos?: number | null } | null | undefined,
): string | undefined {
  if (timestamp?.seconds == null) return undefined;
  return new Date(timestamp.seconds.toNumber() * 1000 + Math.floor((timestamp.nanos ?? 0) / 1e6)).toISOString();
}
