import {
  Client,
  type ClientInterceptors,
  Connection,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/client';
import type { ConnectionOptions, WorkflowExecutionInfo, WorkflowHandle } from '@temporalio/client';
import { decoded } from '../activities/codec/decoded.ts';
import { plainCodec, type Codec } from '../activities/codec/payload-codec-adapter.ts';
import { pastEvents } from '../activities/history/history-adapter.ts';
import type { PastRun } from '../activities/history/past.ts';
import { lookupId } from '../workflows/contracts/ids.ts';
import { searchKeys, type OperationKind } from '../workflows/contracts/attributes.ts';
import { transferQueueOf } from '../workflows/contracts/task-queues.ts';
import type { CliError } from './errors.ts';
import type {
  ExecutionOutcome,
  ExecutionRef,
  Gateway,
  ScheduleView,
  SearchValue,
  StartRequest,
  UpdateRequest,
} from './gateway.ts';
import type { Settings } from './settings.ts';
import { TemporalAdmin } from './temporal-admin.ts';
import { TemporalSchedules } from './temporal-schedules.ts';
import {
  failureOf,
  fromTemporal,
  isDeadline,
  notAcknowledged,
  unfinished,
  type ErrorContext,
} from './temporal-errors.ts';
import { describedExecution, executionView } from './temporal-views.ts';

/** Milliseconds for any call that only the server answers. Without a deadline a client can wait for ever. */
const rpcDeadlineMs = 10_000;
/** How long an accepted update is given to finish before "accepted" is the answer. */
const updateResultMs = 1_500;
/** How long an accepted request is given to be answered: the far side may be slow, and is asked several times. */
const answerDeadlineMs = 60_000;
/** Milliseconds for one look at a history that hasn't ended; the server answers in less. A dead connection is noticed so. */
const longPollMs = 90_000;
/** A history may have thousands of events; a list without a limit is of everything that Temporal keeps. */
const historyDeadlineMs = 60_000;
const longListMs = 10 * 60_000;
/** A lookup may hash a large OVA or ask a slow vCenter. */
const lookupDeadlineMs = 30 * 60_000;

/** Connects, or rejects with a message that names the address. */
export async function openTemporal(
  options: ConnectionOptions,
  settings: Settings,
  identity: string,
  interceptors: ClientInterceptors,
  codec: Codec = plainCodec,
): Promise<Gateway> {
  const context = contextOf(settings);
  try {
    const connection = await Connection.connect(options);
    return new TemporalGateway(connection, settings, identity, { interceptors, codec });
  } catch (error) {
    throw fromTemporal(error, { ...context, attempt: 'connect', needsWorker: false });
  }
}

function contextOf(settings: Settings): Omit<ErrorContext, 'attempt' | 'needsWorker'> {
  return {
    address: settings.address.value,
    namespace: settings.namespace.value,
    taskQueue: settings.taskQueue.value,
  };
}

/** The only file, with its neighbours of that name, that knows the SDK. */
class TemporalGateway extends TemporalAdmin implements Gateway {
  readonly #client: Client;
  readonly #settings: Settings;
  readonly #schedules: TemporalSchedules;
  readonly #codec: Codec;

  constructor(
    connection: Connection,
    settings: Settings,
    identity: string,
    { interceptors, codec }: { readonly interceptors: ClientInterceptors; readonly codec: Codec },
  ) {
    super(connection, settings.namespace.value, (attempt, deadlineMs, call) => this.#call(attempt, deadlineMs, call));
    this.#settings = settings;
    this.#codec = codec;
    const dataConverter = { payloadCodecs: [codec] };
    this.#client = new Client({
      connection,
      namespace: settings.namespace.value,
      identity,
      interceptors,
      dataConverter,
    });
    this.#schedules = new TemporalSchedules(connection, settings.namespace.value, dataConverter);
  }

  /** Runs one call with a deadline and turns what it throws into a message. */
  async #call<T>(attempt: string, deadlineMs: number, call: () => Promise<T>, needsWorker = false): Promise<T> {
    try {
      return await this.connection.withDeadline(Date.now() + deadlineMs, call);
    } catch (error) {
      throw fromTemporal(error, { ...contextOf(this.#settings), attempt, needsWorker });
    }
  }

  get #ackMs(): number {
    return this.#settings.ackTimeoutMs.value;
  }

  #handle(target: ExecutionRef): WorkflowHandle {
    return this.#client.workflow.getHandle(target.workflowId, target.runId);
  }

  async startWithUpdate(start: StartRequest, update: UpdateRequest): Promise<{ runId: string; answer: unknown }> {
    const startWorkflowOperation = new WithStartWorkflowOperation(start.type, {
      ...this.#startOptions(start),
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    const call = () =>
      this.#client.workflow.startUpdateWithStart(update.name, {
        args: [update.body],
        updateId: update.updateId,
        waitForStage: 'ACCEPTED',
        startWorkflowOperation,
      });
    const attempt = `start ${start.workflowId}`;
    const handle = await this.#call(attempt, this.#ackMs, call, true);
    const answer = await this.#call(attempt, answerDeadlineMs, () => handle.result(), true).catch((error: unknown) => {
      throw isNotAcknowledged(error) ? unfinished(contextOf(this.#settings), attempt, error) : error;
    });
    return { runId: handle.workflowRunId ?? '', answer };
  }

  async start(start: StartRequest): Promise<{ runId: string; joined: boolean }> {
    return this.#call(`start ${start.workflowId}`, rpcDeadlineMs, async () => {
      try {
        const handle = await this.#client.workflow.start(start.type, this.#startOptions(start));
        return { runId: handle.firstExecutionRunId, joined: false };
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        const { runId } = await this.#client.workflow.getHandle(start.workflowId).describe();
        return { runId, joined: true };
      }
    });
  }

  #startOptions(start: StartRequest) {
    return {
      args: [...start.args],
      taskQueue: this.#settings.taskQueue.value,
      workflowId: start.workflowId,
      staticSummary: start.summary,
      staticDetails: start.details,
      memo: { ...start.memo },
      typedSearchAttributes: start.attributes.map(searchPair),
    };
  }

  async update(target: ExecutionRef, update: UpdateRequest): Promise<{ completed: boolean; answer?: unknown }> {
    const attempt = `send "${update.name}" to ${target.workflowId}`;
    const options = { args: [update.body] as [unknown], updateId: update.updateId, waitForStage: 'ACCEPTED' } as const;
    const accepted = await this.#call(
      attempt,
      this.#ackMs,
      () => this.#handle(target).startUpdate<unknown, [unknown]>(update.name, options),
      true,
    );
    try {
      const answer = await this.#call(attempt, update.answerMs ?? updateResultMs, () => accepted.result(), true);
      return { completed: true, answer };
    } catch (error) {
      if (isNotAcknowledged(error)) return { completed: false };
      throw error;
    }
  }

  async query(target: ExecutionRef, name: string, argument?: unknown): Promise<unknown> {
    const attempt = `read the state of ${target.workflowId}`;
    const args = argument === undefined ? [] : [argument];
    return this.#call(attempt, this.#ackMs, () => this.#handle(target).query<unknown, unknown[]>(name, ...args), true);
  }

  async describe(target: ExecutionRef) {
    const description = await this.#call(`find ${target.workflowId}`, rpcDeadlineMs, () =>
      this.#handle(target).describe(),
    );
    return describedExecution(description, await decoded(description.raw.pendingActivities ?? [], this.#codec));
  }

  async list(query: string, limit = Infinity) {
    const deadlineMs = limit === Infinity ? longListMs : rpcDeadlineMs;
    return this.#call('list executions', deadlineMs, async () => {
      const found: WorkflowExecutionInfo[] = [];
      for await (const execution of this.#client.workflow.list({ query, pageSize: Math.min(limit, 200) })) {
        found.push(execution);
        if (found.length >= limit) break;
      }
      return found.map(executionView);
    });
  }

  async cancel(target: ExecutionRef): Promise<void> {
    await this.#call(`cancel ${target.workflowId}`, rpcDeadlineMs, () => this.#handle(target).cancel());
  }

  async input({ workflowId, runId }: ExecutionRef): Promise<unknown> {
    return this.#call(`read the request of ${workflowId}`, rpcDeadlineMs, async () => {
      const { history } = await this.connection.workflowService.getWorkflowExecutionHistory({
        namespace: this.#settings.namespace.value,
        execution: { workflowId, ...(runId === undefined ? {} : { runId }) },
        maximumPageSize: 1,
      });
      const { input } = history?.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
      const [request] = await this.#codec.decode(input?.payloads ?? []);
      return request == null
        ? undefined
        : this.#client.options.loadedDataConverter.payloadConverter.fromPayload<unknown>(request);
    });
  }

  async history(target: Required<ExecutionRef>): Promise<PastRun> {
    return this.#call(`read the history of ${target.workflowId}`, historyDeadlineMs, async () => ({
      ...target,
      events: pastEvents(await decoded(await this.#handle(target).fetchHistory(), this.#codec)),
    }));
  }

  async outcome(target: ExecutionRef): Promise<ExecutionOutcome> {
    return this.#call(`read the result of ${target.workflowId}`, rpcDeadlineMs, async () => {
      try {
        return { result: (await this.#handle(target).result()) as unknown };
      } catch (error) {
        const failure = failureOf(error);
        if (failure === undefined) throw error;
        return { failure };
      }
    });
  }

  async awaitEnd({ workflowId }: Pick<ExecutionRef, 'workflowId'>, signal: AbortSignal): Promise<ExecutionOutcome> {
    const attempt = `wait for ${workflowId}`;
    const look = (): Promise<ExecutionOutcome | undefined> =>
      this.connection.withAbortSignal(signal, async () => {
        try {
          return { result: (await this.#client.workflow.getHandle(workflowId).result()) as unknown };
        } catch (error) {
          const failure = failureOf(error);
          if (failure !== undefined) return { failure };
          if (isDeadline(error) && !signal.aborted) return undefined;
          throw error;
        }
      });
    for (;;) {
      const outcome = await this.#call(attempt, longPollMs, look);
      if (outcome !== undefined) return outcome;
    }
  }

  async schedule(id: string): Promise<ScheduleView | undefined> {
    return this.#call(`look at schedule ${id}`, rpcDeadlineMs, () => this.#schedules.find(id));
  }

  async createSchedule(schedule: ScheduleView): Promise<void> {
    await this.#call(`create schedule ${schedule.id}`, rpcDeadlineMs, () => this.#schedules.create(schedule));
  }

  async changeSchedule(schedule: ScheduleView): Promise<void> {
    await this.#call(`change schedule ${schedule.id}`, rpcDeadlineMs, () => this.#schedules.change(schedule));
  }

  /** The first reaction must come within the acknowledge time; the answer may take longer. */
  async lookup(request: { what: string }): Promise<never> {
    const workflowId = lookupId(crypto.randomUUID());
    const attempt = `ask the workers (${request.what})`;
    await this.start({
      type: 'lookup',
      workflowId,
      args: [request],
      summary: `look up ${request.what}`,
      details: `Read-only question \`${request.what}\` of the command line.`,
      memo: {},
      attributes: [{ key: searchKeys.kind, value: 'lookup' satisfies OperationKind }],
    });
    if (!(await this.#isTakenUp(workflowId)))
      throw await this.#unanswered(workflowId, attempt, this.#settings.taskQueue.value);
    const transferQueue = transferQueueOf(this.#settings.taskQueue.value);
    const isStranded = request.what === 'ova' && (await this.pollers(transferQueue, 'activity')).length === 0;
    if (isStranded) throw await this.#unanswered(workflowId, attempt, transferQueue);
    const handle = this.#handle({ workflowId });
    const answer: unknown = await this.#call(
      attempt,
      lookupDeadlineMs,
      () => handle.result() as Promise<unknown>,
      true,
    );
    const { startedAt } = await this.describe({ workflowId });
    return { answer, startedAt } as never;
  }

  /** Nobody waits for the answer any more, so the question is taken back. */
  async #unanswered(workflowId: string, attempt: string, taskQueue: string): Promise<CliError> {
    await this.#call(attempt, rpcDeadlineMs, () =>
      this.#handle({ workflowId }).terminate('no worker answered in time'),
    );
    const error = notAcknowledged({ ...contextOf(this.#settings), taskQueue, attempt, needsWorker: true });
    return error.with({ state: 'nothing was started or changed' });
  }

  /** True once a worker has completed the first workflow task: the history has grown past its three first events. */
  async #isTakenUp(workflowId: string): Promise<boolean> {
    const until = Date.now() + this.#ackMs;
    for (let pauseMs = 20; ; pauseMs = Math.min(500, pauseMs * 2)) {
      const description = await this.#call(`find ${workflowId}`, rpcDeadlineMs, () =>
        this.#handle({ workflowId }).describe(),
      );
      if (description.historyLength > 3 || description.status.name !== 'RUNNING') return true;
      if (Date.now() + pauseMs > until) return false;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

function isNotAcknowledged(error: unknown): boolean {
  return error instanceof Error && 'reason' in error && error.reason === 'NOT_ACKNOWLEDGED';
}

/** One pair per attribute type: the SDK's types tie the key to the value, which only the key's definition knows here. */
function searchPair({ key, value }: SearchValue) {
  return { key, value } as { key: { name: string; type: 'KEYWORD' }; value: string };
}
