import type { FailureDetails } from '../workflows/contracts/failures.ts';
import type { PastRun } from '../activities/history/past.ts';
import type { LookupAnswer, LookupRequest } from '../workflows/contracts/lookup.ts';

/**
 * What the commands need of Temporal, and nothing else. Every call has a deadline of its own and rejects with a
 * `CliError`; its `reason` is one of `gatewayReasons` or, for a refusal by a workflow, the code of that refusal.
 */
export interface Gateway {
  /**
   * Starts an execution and sends it an update in one call, or sends the update to the open one with this id. A worker has to
   * accept it within the acknowledge time; its answer may take longer.
   */
  startWithUpdate(
    start: StartRequest,
    update: UpdateRequest,
  ): Promise<{ readonly runId: string; readonly answer: unknown }>;
  /** Starts an execution; `joined` when one with this id is open already. */
  start(start: StartRequest): Promise<{ readonly runId: string; readonly joined: boolean }>;
  /** Sends an update. `completed` is false when it was accepted but its handler hasn't finished. */
  update(
    target: ExecutionRef,
    update: UpdateRequest,
  ): Promise<{ readonly completed: boolean; readonly answer?: unknown }>;
  query(target: ExecutionRef, name: string, argument?: unknown): Promise<unknown>;
  describe(target: ExecutionRef): Promise<ExecutionView>;
  /** Newest first, at most `limit`; without one all, for as long as that takes. */
  list(query: string, limit?: number): Promise<readonly ExecutionView[]>;
  cancel(target: ExecutionRef): Promise<void>;
  /** What an execution was started with, as its history says; needs no worker. */
  input(target: ExecutionRef): Promise<unknown>;
  /** What happened in one run so far; needs no worker. */
  history(target: Required<ExecutionRef>): Promise<PastRun>;
  /** How a closed execution ended, as its history says; needs no worker. */
  outcome(target: ExecutionRef): Promise<ExecutionOutcome>;
  /**
   * Waits until the last run with this id has ended, for as long as that takes, without asking again and again. Ends early
   * with an `EXECUTION_NOT_FOUND` when there is none, and when the signal is aborted.
   */
  awaitEnd(target: Pick<ExecutionRef, 'workflowId'>, signal: AbortSignal): Promise<ExecutionOutcome>;
  /** Asks the workers one read-only question. `startedAt` is the server's clock, ISO 8601. */
  lookup<W extends LookupRequest['what']>(
    request: Extract<LookupRequest, { what: W }>,
  ): Promise<{ readonly answer: Extract<LookupAnswer, { what: W }>; readonly startedAt: string }>;
  /** Who has polled a queue within the last minutes. */
  pollers(queue: string, type: 'workflow' | 'activity'): Promise<readonly Poller[]>;
  server(): Promise<{ readonly version: string }>;
  /** Undefined when the namespace doesn't exist. */
  namespace(): Promise<{ readonly name: string; readonly retentionDays: number } | undefined>;
  createNamespace(retentionDays: number): Promise<void>;
  /** Custom search attributes of the namespace: name to type (`KEYWORD`, `BOOL`, …). */
  searchAttributes(): Promise<Readonly<Record<string, string>>>;
  addSearchAttributes(attributes: Readonly<Record<string, string>>): Promise<void>;
  /** Undefined when there is no schedule with this id. */
  schedule(id: string): Promise<ScheduleView | undefined>;
  createSchedule(schedule: ScheduleView): Promise<void>;
  /** Makes the schedule with this id as given; whether it is paused stays. */
  changeSchedule(schedule: ScheduleView): Promise<void>;
  close(): Promise<void>;
}

/** Reasons that mean: nobody can answer for the workflow now, only the server for what it recorded. */
export function isUnanswered(reason: string): boolean {
  return reason === gatewayReasons.notAcknowledged || reason === gatewayReasons.workerFailing;
}

/** Reasons of the errors a gateway makes itself. */
export const gatewayReasons = {
  unreachable: 'TEMPORAL_UNREACHABLE',
  namespaceMissing: 'NAMESPACE_MISSING',
  attributesMissing: 'SEARCH_ATTRIBUTES_MISSING',
  denied: 'TEMPORAL_DENIED',
  notFound: 'EXECUTION_NOT_FOUND',
  notAcknowledged: 'NOT_ACKNOWLEDGED',
  workerFailing: 'WORKER_FAILING',
  unfinished: 'NOT_FINISHED_YET',
} as const;

export interface ExecutionRef {
  readonly workflowId: string;
  readonly runId?: string;
}

export interface StartRequest {
  readonly type: string;
  readonly workflowId: string;
  readonly args: readonly unknown[];
  /** One line, at most 200 bytes. */
  readonly summary: string;
  /** Markdown. */
  readonly details: string;
  readonly memo: Readonly<Record<string, unknown>>;
  readonly attributes: readonly SearchValue[];
}

export interface SearchValue {
  readonly key: { readonly name: string; readonly type: 'KEYWORD' | 'BOOL' | 'DATETIME' | 'DOUBLE' };
  readonly value: string | boolean | number | Date;
}

export interface UpdateRequest {
  readonly name: string;
  readonly updateId: string;
  /** The one argument that every update takes. */
  readonly body: unknown;
  /** How long its answer is worth waiting for once it was accepted, milliseconds; default: a moment. */
  readonly answerMs?: number;
}

export type ExecutionState =
  'running' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed-out' | 'continued' | 'unknown';

export interface ExecutionOutcome {
  readonly result?: unknown;
  readonly failure?: { readonly type: string; readonly message: string; readonly details?: FailureDetails };
}

/** What the server itself knows of an execution, with or without a worker. Times are ISO 8601 in UTC. */
export interface ExecutionView {
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  readonly taskQueue: string;
  readonly state: ExecutionState;
  readonly startedAt: string;
  readonly closedAt?: string;
  readonly memo: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Only from `describe`. */
  readonly pending: readonly PendingActivity[];
}

export interface PendingActivity {
  readonly type: string;
  readonly attempt: number;
  /** 0: no limit. */
  readonly maxAttempts: number;
  readonly state: 'scheduled' | 'started' | 'cancelling' | 'paused' | 'unknown';
  /** Details of the last heartbeat. */
  readonly heartbeat?: unknown;
  readonly heartbeatAt?: string;
  readonly nextAttemptAt?: string;
  readonly lastFailure?: string;
}

export interface Poller {
  readonly identity: string;
  readonly lastSeen?: string;
  readonly buildId?: string;
  /** The server gives it only what its build is for. */
  readonly isVersioned?: boolean;
}

/** A workflow that the server starts by itself. */
export interface ScheduleView {
  readonly id: string;
  readonly workflowType: string;
  /** What the id of each execution begins with. */
  readonly workflowId: string;
  readonly taskQueue: string;
  /** Times of day are UTC. */
  readonly rhythm:
    { readonly everyMs: number } | { readonly dailyAt: { readonly hour: number; readonly minute: number } };
  /** What happens when the execution before is still running. */
  readonly overlap: 'SKIP' | 'ALLOW_ALL';
  /** Executions that were missed for longer than this are left out. */
  readonly catchupMs: number;
}
