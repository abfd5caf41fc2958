import type { PastRun } from '../../../activities/history/past.ts';
import type { LookupAnswer, LookupRequest } from '../../../workflows/contracts/lookup.ts';
import { CliError } from '../../../client/errors.ts';
import { gatewayReasons } from '../../../client/gateway.ts';
import type {
  ExecutionOutcome,
  ExecutionRef,
  ExecutionView,
  Gateway,
  Poller,
  ScheduleView,
  StartRequest,
  UpdateRequest,
} from '../../../client/gateway.ts';

type Answers = { [W in LookupRequest['what']]?: Extract<LookupAnswer, { what: W }> | CliError };

/** Temporal as a test wants it: what it answers is set, what it was asked is recorded. */
export class FakeGateway implements Gateway {
  executions: ExecutionView[] = [];
  /** One status per query; the last one stays. */
  statuses: unknown[] = [];
  /** The same for one workflow id. */
  statusOf: Record<string, unknown> = {};
  outcomeOf: ExecutionOutcome = {};
  /** The same for one workflow id. */
  outcomesOf: Record<string, ExecutionOutcome> = {};
  /** How executions end, by workflow id: one per wait, the last one stays. Without one a wait lasts until it is aborted. */
  ends: Record<string, (ExecutionOutcome | CliError)[]> = {};
  schedules: ScheduleView[] = [];
  /** What happened, by run id. */
  histories: Record<string, PastRun> = {};
  inputOf: unknown;
  answers: Answers = {};
  polled: Readonly<Record<string, readonly Poller[]>> = {};
  /** What the next update answers or throws. */
  updateAnswer: unknown = 'accepted';
  startAnswer: unknown = { how: 'started', version: '9.6', status: 'Validating' };
  isOpenAlready = false;
  knownNamespace: { name: string; retentionDays: number } | undefined = { name: 'vmflow', retentionDays: 30 };
  attributes: Record<string, string> = {};
  serverVersion: string | CliError = '1.29.1';

  readonly started: { start: StartRequest; update?: UpdateRequest }[] = [];
  readonly updates: { target: ExecutionRef; update: UpdateRequest }[] = [];
  readonly cancelled: ExecutionRef[] = [];
  readonly queries: string[] = [];
  readonly lookups: LookupRequest[] = [];
  readonly asked: { id: string; name: string; argument?: unknown }[] = [];
  isClosed = false;

  startWithUpdate(start: StartRequest, update: UpdateRequest): Promise<{ runId: string; answer: unknown }> {
    this.started.push({ start, update });
    return settle(this.startAnswer).then((answer) => ({ runId: 'run-1', answer }));
  }

  start(start: StartRequest): Promise<{ runId: string; joined: boolean }> {
    this.started.push({ start });
    return Promise.resolve({ runId: 'run-1', joined: this.isOpenAlready });
  }

  update(target: ExecutionRef, update: UpdateRequest): Promise<{ completed: boolean; answer?: unknown }> {
    this.updates.push({ target, update });
    return settle(this.updateAnswer).then((answer) => ({ completed: true, answer }));
  }

  query(target: ExecutionRef, name = '', argument?: unknown): Promise<unknown> {
    this.asked.push({ id: target.workflowId, name, argument });
    const own = this.statusOf[target.workflowId];
    if (own !== undefined) return settle(own);
    const next = this.statuses.length > 1 ? this.statuses.shift() : this.statuses[0];
    return settle(next);
  }

  describe(target: ExecutionRef): Promise<ExecutionView> {
    const found = this.executions.find(({ workflowId }) => workflowId === target.workflowId);
    return settle(found ?? notFound(target));
  }

  list(query: string, limit = Infinity): Promise<readonly ExecutionView[]> {
    this.queries.push(query);
    return Promise.resolve(this.executions.filter((execution) => isListed(execution, query)).slice(0, limit));
  }

  cancel(target: ExecutionRef): Promise<void> {
    this.cancelled.push(target);
    return Promise.resolve();
  }

  input(): Promise<unknown> {
    return Promise.resolve(this.inputOf);
  }

  history(target: Required<ExecutionRef>): Promise<PastRun> {
    return settle(this.histories[target.runId] ?? notFound(target));
  }

  outcome({ workflowId }: ExecutionRef): Promise<ExecutionOutcome> {
    return Promise.resolve(this.outcomesOf[workflowId] ?? this.outcomeOf);
  }

  awaitEnd({ workflowId }: Pick<ExecutionRef, 'workflowId'>, signal: AbortSignal): Promise<ExecutionOutcome> {
    const ends = this.ends[workflowId] ?? [];
    const next = ends.length > 1 ? ends.shift() : ends[0];
    if (next !== undefined) return settle(next);
    return new Promise((_, reject) => {
      const giveUp = (): void => reject(new CliError({ exit: 'failed', reason: 'ABORTED', message: 'aborted' }));
      if (signal.aborted) giveUp();
      signal.addEventListener('abort', giveUp);
    });
  }

  schedule(id: string): Promise<ScheduleView | undefined> {
    return Promise.resolve(this.schedules.find((schedule) => schedule.id === id));
  }

  createSchedule(schedule: ScheduleView): Promise<void> {
    this.schedules.push(schedule);
    return Promise.resolve();
  }

  changeSchedule(schedule: ScheduleView): Promise<void> {
    this.schedules = [...this.schedules.filter(({ id }) => id !== schedule.id), schedule];
    return Promise.resolve();
  }

  lookup<W extends LookupRequest['what']>(
    request: Extract<LookupRequest, { what: W }>,
  ): Promise<{ answer: Extract<LookupAnswer, { what: W }>; startedAt: string }> {
    this.lookups.push(request);
    const answer = this.answers[request.what] ?? noWorker(`ask the workers (${request.what})`);
    return settle(answer).then((value) => ({
      answer: value as Extract<LookupAnswer, { what: W }>,
      startedAt: '2026-03-01T13:20:00.000Z',
    }));
  }

  pollers(queue: string): Promise<readonly Poller[]> {
    return Promise.resolve(this.polled[queue] ?? []);
  }

  server(): Promise<{ version: string }> {
    return settle(this.serverVersion).then((version) => ({ version }));
  }

  namespace(): Promise<{ name: string; retentionDays: number } | undefined> {
    return Promise.resolve(this.knownNamespace);
  }

  createNamespace(retentionDays: number): Promise<void> {
    this.knownNamespace = { name: 'vmflow', retentionDays };
    return Promise.resolve();
  }

  searchAttributes(): Promise<Readonly<Record<string, string>>> {
    return Promise.resolve(this.attributes);
  }

  addSearchAttributes(attributes: Readonly<Record<string, string>>): Promise<void> {
    this.attributes = { ...this.attributes, ...attributes };
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

/** The conditions of a list that the command line writes: equal attributes, and being open. */
function isListed({ attributes, state }: ExecutionView, query: string): boolean {
  if (query.includes("ExecutionStatus = 'Running'") && state !== 'running') return false;
  const among = /\((Op\w+) IN \(([^)]*)\) OR (Op\w+) = true\)/.exec(query);
  const isAmong = among?.[2]?.includes(`'${String(attributes[among[1] ?? ''])}'`) === true;
  if (among !== null && !isAmong && attributes[among[3] ?? ''] !== true) return false;
  return [...query.matchAll(/(Op\w+) = '([^']*)'/g)].every(([, name = '', value]) => {
    return attributes[name] === undefined || attributes[name] === value;
  });
}

function settle<T>(value: T): Promise<Exclude<T, Error>> {
  return value instanceof Error ? Promise.reject(value) : Promise.resolve(value as Exclude<T, Error>);
}

function notFound(target: ExecutionRef): CliError {
  return new CliError({
    exit: 'notFound',
    reason: gatewayReasons.notFound,
    message: `can't find ${target.workflowId}: there is no such operation`,
  });
}

export function noWorker(attempt: string): CliError {
  return new CliError({
    exit: 'notAcknowledged',
    reason: gatewayReasons.notAcknowledged,
    message: `can't ${attempt}: sent, not yet acknowledged: is a worker running?`,
    next: 'vmflow doctor',
  });
}

export function refusedBy(code: string, message: string): CliError {
  return new CliError({ exit: 'refused', reason: code, message, cause: new Error(message) });
}
