import type { Conflict } from '../../workflows/contracts/conflict.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import type { ImportHeartbeat, TemplateSwapStatus } from '../../workflows/contracts/template.ts';
import { CliError } from '../errors.ts';
import { isUnanswered, type ExecutionRef, type ExecutionView, type Gateway } from '../gateway.ts';
import { omit } from '../objects.ts';
import type { Session } from '../session.ts';
import { readMemo } from './memo.ts';

/** What `template get` prints: the workflow's own status, the transfer in flight and what the server knows. */
export interface TemplateView extends Partial<Omit<TemplateSwapStatus, 'id' | 'kind' | 'status' | 'observed'>> {
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  readonly vcenter: string;
  readonly folder: string;
  readonly by?: string;
  readonly link: string;
  readonly phase: string;
  readonly execution: ExecutionView['state'];
  /** `server`: no worker answered, so this is what Temporal itself recorded last. */
  readonly answeredBy: 'worker' | 'server';
  readonly startedAt: string;
  readonly closedAt?: string;
  readonly steps: TemplateSwapStatus['steps'];
  readonly next: readonly string[];
  readonly transfer?: TransferView;
}

/** A transfer as its worker reported it last, or another step of vmflow's that has to be tried again. */
export interface TransferView {
  readonly activity: string;
  readonly phase?: string;
  readonly waitingFor?: string;
  readonly attempt: number;
  readonly maxAttempts?: number;
  readonly sentBytes?: number;
  readonly totalBytes?: number;
  /** Bytes per second over the last ten seconds. */
  readonly rate?: number;
  readonly secondsLeft?: number;
  readonly stalledMs?: number;
  /** Set while the next attempt is waited for. */
  readonly nextAttemptAt?: string;
  readonly lastFailure?: string;
  readonly reportedAt?: string;
}

/** Reads everything about one execution. */
export async function loadView(session: Session, target: ExecutionRef): Promise<TemplateView> {
  const gateway = await session.gateway();
  const execution = await gateway.describe(target);
  const ref = { workflowId: execution.workflowId, runId: execution.runId };
  const status = await queryStatus(gateway, ref, execution.taskQueue);
  const view = mergeView(execution, status, await session.link(ref.workflowId, ref.runId));
  const isRecorded = status === undefined && ['completed', 'failed'].includes(execution.state);
  return isRecorded ? { ...view, ...((await gateway.outcome(ref)) as Pick<TemplateView, 'result' | 'failure'>) } : view;
}

/** The workflow's own answer, or undefined when no worker gives one. Doesn't wait when nobody polls the queue. */
async function queryStatus(
  gateway: Gateway,
  ref: ExecutionRef,
  queue: string,
): Promise<TemplateSwapStatus | undefined> {
  if ((await gateway.pollers(queue, 'workflow')).length === 0) return undefined;
  try {
    return (await gateway.query(ref, messages.status)) as TemplateSwapStatus;
  } catch (error) {
    if (error instanceof CliError && isUnanswered(error.reason)) return undefined;
    throw error;
  }
}

/** Pure: puts status and description together. */
export function mergeView(
  execution: ExecutionView,
  status: TemplateSwapStatus | undefined,
  link: string,
): TemplateView {
  const memo = readMemo(execution.memo);
  const transfer = transferOf(execution);
  const own: AnyStatus = status ?? recordedStatus(execution);
  return {
    id: execution.workflowId,
    runId: execution.runId,
    name: memo?.name ?? execution.workflowId,
    vcenter: memo?.vcenter ?? '',
    folder: memo?.folder ?? '',
    ...(memo?.by === undefined ? {} : { by: memo.by }),
    link,
    execution: execution.state,
    answeredBy: status === undefined ? 'server' : 'worker',
    startedAt: execution.startedAt,
    ...(execution.closedAt === undefined ? {} : { closedAt: execution.closedAt }),
    ...omit(own, 'observed', 'kind', 'id', 'status'),
    phase: phaseOf(execution, own.status),
    ...(transfer === undefined ? {} : { transfer }),
  };
}

/** How an execution ended, in the words of phases, whatever its last status said. */
const endings: Partial<Record<ExecutionView['state'], string>> = {
  failed: 'Failed',
  cancelled: 'Cancelled',
  terminated: 'Terminated',
  'timed-out': 'TimedOut',
};

/** An execution that was ended from outside can't change its status any more. */
function phaseOf(execution: ExecutionView, phase: string): string {
  return endings[execution.state] ?? phase;
}

/** A status of which the server knows a part only. */
type AnyStatus = Partial<Omit<TemplateSwapStatus, 'status'>> &
  Pick<TemplateSwapStatus, 'steps' | 'next'> & { readonly status: string };

/** What the server recorded last: attributes and memo. Good enough to see where it is, not why. */
function recordedStatus(execution: ExecutionView): AnyStatus {
  const text = (key: string): string | undefined => {
    const value = execution.attributes[key];
    return typeof value === 'string' ? value : undefined;
  };
  const waitingFor = text(searchKeys.waitingFor.name) as TemplateSwapStatus['waitingFor'];
  const version = text(searchKeys.target.name) ?? readMemo(execution.memo)?.version;
  const conflict = text(searchKeys.conflict.name);
  return {
    status: text(searchKeys.status.name) ?? (execution.state === 'running' ? 'Started' : 'Completed'),
    ...(waitingFor === undefined ? {} : { waitingFor }),
    ...(version === undefined ? {} : { target: { version, sha256: '' } }),
    ...(conflict === undefined ? {} : { conflict: recordedConflict(conflict, execution) }),
    steps: [],
    next: [],
  };
}

function recordedConflict(code: string, execution: ExecutionView): Conflict {
  const unknown = 'known to the worker only';
  return { id: '', code, what: code, expected: unknown, found: unknown, since: execution.startedAt, options: [] };
}

const transfers = ['importToTemp', 'ensureSource'];

function transferOf(execution: ExecutionView): TransferView | undefined {
  const activity =
    execution.pending.find((pending) => transfers.includes(pending.type)) ??
    execution.pending.find((pending) => pending.attempt > 1);
  if (activity === undefined) return undefined;
  const beat = (activity.heartbeat ?? {}) as Partial<ImportHeartbeat> & { bytes?: number; total?: number };
  const sentBytes = beat.sentBytes ?? beat.bytes;
  const totalBytes = beat.totalBytes ?? beat.total;
  const isWaiting = activity.state === 'scheduled' && activity.attempt > 1;
  const view = {
    activity: activity.type,
    phase: beat.phase,
    waitingFor: isWaiting ? undefined : beat.waitingFor,
    attempt: activity.attempt,
    maxAttempts: activity.maxAttempts === 0 ? undefined : activity.maxAttempts,
    // What an earlier attempt sent counts for nothing: an upload can't be resumed.
    ...(isWaiting
      ? {}
      : { sentBytes, totalBytes, rate: beat.rate, secondsLeft: secondsLeft(sentBytes, totalBytes, beat.rate) }),
    stalledMs: isWaiting ? undefined : beat.stalledMs,
    nextAttemptAt: isWaiting ? activity.nextAttemptAt : undefined,
    lastFailure: activity.lastFailure,
    reportedAt: activity.heartbeatAt,
  };
  return Object.fromEntries(Object.entries(view).filter(([, value]) => value !== undefined)) as unknown as TransferView;
}

function secondsLeft(sent?: number, total?: number, rate?: number): number | undefined {
  if (sent === undefined || total === undefined || rate === undefined || rate <= 0) return undefined;
  return Math.ceil(Math.max(0, total - sent) / rate);
}
