import {
  ApplicationFailure,
  ParentClosePolicy,
  TemporalFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  log,
  patched,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { BatchActivities } from '../contracts/batch-activities.ts';
import type {
  ApplyAnswer,
  ApplyBatch,
  BatchInput,
  BatchSpecAnswer,
  BatchState,
  BatchView,
  ByWhom,
  CommitGranted,
  EditBatch,
  Member,
  OrderDone,
  ResetBatch,
  ShardInput,
  ShardNews,
  ShardOrder,
  StartAnswer,
} from '../contracts/batch.ts';
import { searchKeys } from '../contracts/attributes.ts';
import { migrationId, shardId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import { actionRefusal, type BatchAction } from '../domain/batch/batch-actions.ts';
import {
  type CommitGrant,
  afterNews,
  decideCommits,
  emptyCommits,
  forgetClosed,
  nextCommitInstant,
} from '../domain/batch/commits.ts';
import { orderOf, orderedUuids, strangersIn } from '../domain/batch/order.ts';
import type { BatchSpec } from '../domain/batch/records.ts';
import { isSameJson } from '../domain/batch/stable-json.ts';
import { placesOfShard, reportEveryMs } from '../domain/batch/turns.ts';
import { validWindows } from '../domain/batch/windows.ts';
import { Alarm } from '../shared/alarm.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { insist } from '../shared/insist.ts';
import { control } from '../shared/proxies.ts';
import { now } from '../shared/now.ts';
import { BatchRecord } from './batch-state.ts';
import { answerWithinMs, budgets } from './budgets.ts';

/** Members of one shard at most: their rows are one state. */
const membersPerShard = 500;
const mostEventsOfBatch = 3_800;
/** How often it looks whether those that hold a place are still there. */
const reconcileMs = 300_000;
/** A run that nobody has made a batch of in this time: its `apply` was refused before it could be handled. */
const unmadeMs = 300_000;

/**
 * The record of one batch, open from `apply` to `delete`: what is wanted, who belongs to it (in shards), and who may be committed
 * when. It decides for all its VMs in one place, so that no window and no constraint is ever overrun.
 */
export async function batch(input: BatchInput): Promise<void> {
  if (typeof (input as Partial<BatchInput> | null | undefined)?.name !== 'string')
    throw failure('InvalidRequest', 'a batch is made by vmflow batch apply -f FILE', { code: 'INVALID' });
  await new Batch(input).run();
}

class Batch {
  readonly #name: string;
  #record: BatchRecord | undefined;
  /** One action at a time; what it does is shown. */
  #action: BatchAction | undefined;
  #isOver = false;
  #hasNews = false;
  #done = new Map<string, OrderDone[]>();
  readonly #bornAt = Date.now();
  #lastReconcile = Date.now();
  readonly #alarm = new Alarm('see who may be committed now');

  constructor(input: BatchInput) {
    this.#name = input.name;
    if (input.resume !== undefined) this.#record = new BatchRecord(input.name, input.resume);
    setHandler(defineQuery<BatchView | undefined>(messages.status), () => this.#record?.view(), {
      description: 'How far it is, by window and constraint',
    });
    setHandler(defineQuery<BatchSpecAnswer | undefined>(messages.spec), () => this.#spec(), {
      description: 'What was asked for',
    });
    setHandler(defineSignal<[ShardNews]>(messages.shardNews), (news) => this.#hear(news));
    this.#listen();
  }

  async run(): Promise<void> {
    for (;;) {
      this.#alarm.set(this.#nextLook());
      await condition(() => this.#hasNews || this.#alarm.rang() || (this.#isOver && allHandlersFinished()));
      if ((this.#isOver || this.#isUnmade()) && allHandlersFinished()) {
        this.#alarm.stop();
        return;
      }
      this.#hasNews = false;
      if (this.#record === undefined) continue;
      if (Date.now() - this.#lastReconcile >= reconcileMs) await this.#reconcile();
      await this.#commit();
      this.#finishWhenDone();
      await this.#continueWhenLong();
    }
  }

  #listen(): void {
    this.#update<ApplyBatch, ApplyAnswer>('apply', (given) => this.#apply(given), 'Make it so: { spec, by }');
    this.#update<ByWhom, StartAnswer>('start', () => this.#start(), 'Start it: { by }');
    this.#update<ByWhom, StartAnswer>('resume', () => this.#start(), 'Go on after a stop: { by }');
    this.#update<ByWhom, string>('stop', (given) => this.#stop(given), 'Pause at safe points: { by }');
    this.#update<EditBatch, ApplyAnswer>('edit', (given) => this.#edit(given), 'Change it: { spec, etag?, by }');
    this.#update<ResetBatch, readonly string[]>(
      'reset',
      (given) => this.#reset(given),
      'Back to Defined: { force, by }',
    );
    this.#update<ByWhom, string>('delete', (given) => this.#delete(given), 'Forget it; targets stay: { by }');
  }

  /** Actions are refused before anything is written; one runs at a time. */
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- binds validator and handler
  #update<Given extends { readonly by: string }, Answer>(
    name: BatchAction,
    work: (given: Given) => Promise<Answer>,
    description: string,
  ): void {
    setHandler(
      defineUpdate<Answer, [Given]>(messages[name]),
      async (given) => {
        this.#action = name;
        try {
          log.info(`batch-${name}`, { action: `batch-${name}`, batch: this.#name, by: given.by });
          return await work(given);
        } catch (err) {
          if (err instanceof ApplicationFailure) throw err;
          const { type, message, details } = knownFailure(err);
          throw failure(type as 'Unavailable', message, details ?? { code: 'BATCH_FAILED' });
        } finally {
          this.#action = undefined;
          this.#hasNews = true;
        }
      },
      {
        description,
        validator: (given: Given | undefined) => {
          const reason = this.#refusal(name, given);
          if (reason !== undefined)
            throw failure('Refused', reason, { code: 'WRONG_STATUS', next: `vmflow batch get ${this.#name}` });
        },
      },
    );
  }

  #refusal(name: BatchAction, given: Partial<ResetBatch> | undefined): string | undefined {
    if (typeof given?.by !== 'string' || given.by === '') return 'say who wants it: by';
    if (this.#action !== undefined) return `${this.#action} is under way: try again when it is done`;
    const record = this.#record;
    if (record === undefined) return name === 'apply' ? undefined : `there is no batch ${this.#name} yet`;
    return actionRefusal(name, {
      status: record.state.status,
      isCommitted: record.isCommitted,
      force: given.force === true,
    });
  }

  async #apply({ spec, by }: ApplyBatch): Promise<ApplyAnswer> {
    const record = this.#record;
    if (record !== undefined && isSameJson(record.spec, spec))
      return { members: record.members, result: 'unchanged', etag: String(record.state.revision) };
    if (record !== undefined) return await this.#edit({ spec, by });
    try {
      await this.#act(budgets.person, 'check the batch').checkBatch({ spec });
      await this.#define(spec, 1);
    } catch (err) {
      // Nothing of it is to stay.
      this.#isOver = true;
      throw err;
    }
    return { members: this.#known().members, result: 'created', etag: '1' };
  }

  /** Its members, in shards. */
  async #define(spec: BatchSpec, revision: number, mayBeEmpty = false): Promise<void> {
    const old = this.#record?.state;
    const wanted = orderedUuids(spec.overrides);
    const pages: Member[][] = [];
    for (let after: string | undefined; ;) {
      const page = await this.#act(budgets.inventory, `find the members of ${this.#name}`).selectMembers({
        spec,
        limit: membersPerShard,
        ...(after === undefined ? {} : { after }),
      });
      const members = page.members.map((one): Member => (wanted.has(one.uuid) ? { ...one, ordered: true } : one));
      if (members.length > 0) pages.push(members);
      if (page.next === undefined) break;
      after = page.next;
    }
    if (pages.length === 0 && !mayBeEmpty)
      throw failure('InvalidRequest', `no VM matches ${spec.include_expression}: the batch would be empty`, {
        code: 'EMPTY_SELECTION',
        next: 'vmflow source vms NAME --filter EXPRESSION shows what an expression matches',
      });
    const order = orderOf(spec.overrides, pages.flat());
    const strangers = strangersIn(order);
    if (strangers.length > 0 && !mayBeEmpty)
      throw failure('InvalidRequest', strangers.map(({ path, message }) => `${path}: ${message}`).join('\n'), {
        code: 'BATCH_INVALID',
        next: 'vmflow source vms NAME shows the UUIDs of VMs',
      });
    const state: BatchState = {
      spec,
      revision,
      status: 'Defined',
      statusMessage: '',
      since: now(),
      shards: pages.map((members) => ({ members: members.length, counts: { none: members.length } })),
      commits: emptyCommits,
      order,
    };
    this.#record = new BatchRecord(this.#name, state);
    this.#record.show();
    for (const [shard, members] of pages.entries()) await this.#shard(shard, { kind: 'replace', members });
    for (let shard = pages.length; shard < (old?.shards.length ?? 0); shard += 1) await this.#close(shard);
  }

  /** Starts a shard, or tells the one that is there. One of a deleted batch of this name may just be closing. */
  async #shard(shard: number, order: Extract<ShardOrder, { kind: 'replace' }>): Promise<void> {
    for (;;) {
      if (await this.#startShard(shard, order)) return;
      try {
        await this.#tell(shard, order);
        return;
      } catch (err) {
        if (!isGone(err)) throw err;
      }
    }
  }

  /** Answers whether there was none. */
  async #startShard(shard: number, { members }: Extract<ShardOrder, { kind: 'replace' }>): Promise<boolean> {
    const rows = members.map((member) => ({ ...member, phase: 'none' as const }));
    try {
      await startChild<(input: ShardInput) => Promise<void>>('batchShard', {
        workflowId: shardId(this.#name, shard),
        args: [{ batch: this.#name, shard, rows }],
        parentClosePolicy: ParentClosePolicy.ABANDON,
        staticSummary: `${rows.length} VMs of batch ${this.#name}`,
        typedSearchAttributes: [
          { key: searchKeys.kind, value: 'batch-shard' },
          { key: searchKeys.batch, value: this.#name },
        ],
      });
      return true;
    } catch (err) {
      if (err instanceof TemporalFailure && err.name === 'WorkflowExecutionAlreadyStartedError') return false;
      throw err;
    }
  }

  async #start(): Promise<StartAnswer> {
    const record = this.#known();
    const { migration_windows } = record.spec;
    if (migration_windows.length > 0 && validWindows(migration_windows, Date.now()).length === 0)
      throw failure('Refused', `all windows of ${this.#name} are over`, {
        code: 'WINDOWS_OVER',
        next: `vmflow batch edit -f FILE with a window that is ahead`,
      });
    const before = record.state;
    record.become('Running', '');
    record.change({ startDate: record.state.startDate ?? now() });
    const shards = record.state.shards.length;
    const [places, reportMs] = [placesOfShard(shards), reportEveryMs(shards)];
    const answers = await this.#orderAll((id) => ({ kind: 'start', startId: id, places, reportMs }), 'start');
    await this.#tellAll({ kind: 'tell', message: 'unpause' });
    const queued = sum(answers.map((answer) => answer.queued));
    const skipped = answers.flatMap((answer) => answer.skipped).slice(0, 50);
    const skippedCount = sum(answers.map((answer) => answer.skippedCount));
    const isAllHere = answers.length === record.state.shards.length;
    if (isAllHere && queued === 0 && record.entries === 0 && before.status === 'Defined') {
      record.change(before);
      record.become('Defined', '');
      throw failure(
        'Refused',
        `no member of ${this.#name} can get an entry: ${skipped[0]?.why ?? 'they are in other batches'}`,
        {
          code: 'NOTHING_TO_START',
          next: `vmflow batch get ${this.#name}`,
        },
      );
    }
    return { queued, skipped, skippedCount };
  }

  async #stop({ by }: ByWhom): Promise<string> {
    this.#known().become('Stopped', `stopped by ${by}: what is committed runs to its end`);
    await this.#tellAll({ kind: 'tell', message: 'pause' });
    return 'Stopped';
  }

  async #edit({ spec, etag }: EditBatch): Promise<ApplyAnswer> {
    const record = this.#known();
    const { revision, status, commits } = record.state;
    if (etag !== undefined && etag !== String(revision))
      throw failure('Conflict', `batch ${this.#name} was changed meanwhile (it is at ${revision}, not ${etag})`, {
        code: 'ETAG',
        next: `vmflow batch get ${this.#name} -o yaml, then edit again`,
      });
    if (spec.name !== this.#name) throw failure('Refused', 'the name of a batch is for life', { code: 'NAME' });
    if (isSameJson(record.spec, spec)) return { members: record.members, result: 'unchanged', etag: String(revision) };
    const { counts } = record;
    await this.#act(budgets.person, 'check the change').checkBatch({
      spec,
      edit: {
        status,
        previous: record.spec,
        assignedWindows: commits.holders.flatMap(({ window }) => window ?? []),
        committedConstraints: commits.holders.flatMap(({ constraint }) => constraint ?? []),
        committed: commits.holders.map(({ uuid }) => uuid),
        hasEarlyEntries: (counts.waiting ?? 0) + (counts.blocked ?? 0) > 0,
      },
    });
    const next = revision + 1;
    if (status === 'Defined') await this.#define(spec, next);
    else {
      record.change({ spec, revision: next });
      await this.#tellAll({ kind: 'tell', message: 'settings' });
      record.show();
    }
    return { members: this.#known().members, result: 'changed', etag: String(next) };
  }

  async #reset({ by, reason, force }: ResetBatch): Promise<readonly string[]> {
    const record = this.#known();
    if (record.state.status === 'Defined') return [];
    const whom: ByWhom = { by, ...(reason === undefined ? {} : { reason }) };
    record.become(record.state.status, `Resetting: ${record.entries} entries`);
    const done = await this.#orderAll(
      (orderId) => ({ kind: 'end', orderId, by: whom, cleanup: force ? 'all' : 'unless-configured' }),
      'reset',
      false,
    );
    // What was there may be gone by now: that is no reason against a reset.
    await this.#define(record.spec, record.state.revision + 1, true);
    return done.flatMap(({ warnings }) => warnings);
  }

  async #delete(by: ByWhom): Promise<string> {
    const record = this.#known();
    if (record.entries > 0) {
      record.become(record.state.status, `Deleting: ${record.entries} entries`);
      await this.#orderAll((orderId) => ({ kind: 'end', orderId, by, cleanup: 'none' }), 'delete', false);
    }
    for (const shard of record.state.shards.keys()) await this.#close(shard);
    this.#isOver = true;
    return 'deleted';
  }

  /** Gives all shards an order and waits for them; answers those that were done in time. */
  async #orderAll(order: (id: string) => ShardOrder, what: string, isImpatient = true): Promise<readonly OrderDone[]> {
    const id = `${what}/${Date.now()}`;
    const { shards } = this.#known().state;
    this.#done.set(id, []);
    await this.#tellAll(order(id));
    const isDone = (): boolean => (this.#done.get(id)?.length ?? 0) >= shards.length;
    if (isImpatient) await condition(isDone, answerWithinMs, { summary: `answer ${what}` });
    else await condition(isDone);
    const done = this.#done.get(id) ?? [];
    this.#done.delete(id);
    return done;
  }

  async #tellAll(order: ShardOrder): Promise<void> {
    const { shards } = this.#known().state;
    for (const shard of shards.keys()) await this.#tell(shard, order);
  }

  async #tell(shard: number, order: ShardOrder): Promise<void> {
    await getExternalWorkflowHandle(shardId(this.#name, shard)).signal<[ShardOrder]>(messages.shardOrder, order);
  }

  /** One that is gone needs no closing. */
  async #close(shard: number): Promise<void> {
    await this.#tell(shard, { kind: 'close' }).catch((err: unknown) => {
      if (!isGone(err)) throw err;
    });
  }

  #hear(news: ShardNews): void {
    const record = this.#record;
    if (record === undefined) return;
    record.heard(news);
    record.change({ commits: afterNews(record.commits, news) });
    if (news.done !== undefined) this.#done.get(news.done.id)?.push(news.done);
    this.#hasNews = true;
  }

  /** Who may be committed now. One that is gone gives its place back. */
  async #commit(): Promise<void> {
    const record = this.#known();
    const { migration_windows, constraints } = record.spec;
    const isPaused = record.state.status !== 'Running';
    const { commits, granted } = decideCommits(
      record.commits,
      { windows: migration_windows, constraints, isPaused, orderWait: record.orderWait() },
      Date.now(),
    );
    record.change({ commits });
    if (granted.length > 0) await this.#tellGranted(granted);
    record.show();
  }

  /** All of a round in one call: with a signal for each, thousands of VMs made a history of nothing else. */
  async #tellGranted(granted: readonly CommitGrant[]): Promise<void> {
    const record = this.#known();
    if (!patched('grants-in-one')) {
      const deliver = granted.map(async ({ uuid, token, window }) => {
        const grant: CommitGranted = { token, ...(window === undefined ? {} : { window }) };
        try {
          await getExternalWorkflowHandle(migrationId(uuid)).signal<[CommitGranted]>(messages.commitGranted, grant);
        } catch {
          record.change({ commits: forgetClosed(record.commits, [uuid]) });
        }
      });
      await Promise.all(deliver);
      return;
    }
    const at = Date.now();
    const closed = await insist(
      () =>
        this.#act(budgets.start, `commit ${granted.length} VMs`).grantCommits({
          grants: granted.map((grant) => ({ ...grant, at })),
        }),
      () => undefined,
    );
    if (closed.length > 0) record.change({ commits: forgetClosed(record.commits, closed) });
  }

  async #reconcile(): Promise<void> {
    this.#lastReconcile = Date.now();
    const record = this.#known();
    const uuids = record.commits.holders.map(({ uuid }) => uuid);
    if (uuids.length === 0) return;
    const closed = await insist(
      () =>
        this.#act(budgets.look, 'see whether all that hold a place are there').closedEntries({
          batch: this.#name,
          uuids,
        }),
      () => undefined,
    );
    record.change({ commits: forgetClosed(record.commits, closed) });
  }

  #finishWhenDone(): void {
    const record = this.#known();
    const { counts, entries } = record;
    if (record.state.status !== 'Running' || this.#action !== undefined) return;
    if (entries > 0 && counts.finished === entries) record.become('Finished', `all ${entries} VMs are migrated`);
  }

  #isUnmade(): boolean {
    return this.#record === undefined && this.#action === undefined && Date.now() >= this.#bornAt + unmadeMs;
  }

  /** When something may be decided though nothing was heard. */
  #nextLook(): number | undefined {
    const record = this.#record;
    if (record === undefined) return this.#action === undefined ? this.#bornAt + unmadeMs : undefined;
    const { migration_windows } = record.spec;
    const next = nextCommitInstant(record.commits, { windows: migration_windows }, Date.now());
    const reconcile = record.commits.holders.length === 0 ? undefined : this.#lastReconcile + reconcileMs;
    return next === undefined || reconcile === undefined ? (next ?? reconcile) : Math.min(next, reconcile);
  }

  async #continueWhenLong(): Promise<void> {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    if (!continueAsNewSuggested && historyLength < mostEventsOfBatch) return;
    if (this.#action !== undefined || this.#isOver) return;
    await condition(allHandlersFinished);
    await continueAsNew<typeof batch>({ name: this.#name, resume: this.#known().state });
  }

  #spec(): BatchSpecAnswer | undefined {
    const state = this.#record?.state;
    return state === undefined ? undefined : { spec: state.spec, revision: state.revision, status: state.status };
  }

  #known(): BatchRecord {
    if (this.#record === undefined)
      throw failure('NotFound', `there is no batch ${this.#name} yet`, { code: 'NO_BATCH' });
    return this.#record;
  }

  #act(budget: Parameters<typeof control>[0], summary: string): BatchActivities {
    return control<BatchActivities>(budget, summary);
  }
}

/** Of a signal: nobody has heard it. */
function isGone(err: unknown): boolean {
  return err instanceof ApplicationFailure && err.type === 'ExternalWorkflowExecutionNotFound';
}

function sum(all: readonly number[]): number {
  return all.reduce((total, one) => total + one, 0);
}
