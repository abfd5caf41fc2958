import {
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  isCancellation,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  MigrationInput,
  MigrationRecord,
  MigrationView,
  ResolveAnswer,
  SourceUpdated,
  Timeline,
} from '../contracts/batch.ts';
import { messages } from '../contracts/messages.ts';
import { isCommitted, isCopiedAhead } from '../domain/batch/entry.ts';
import type { EntryStatus } from '../domain/batch/records.ts';
import { ConflictDesk } from '../shared/conflict-desk.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { now } from '../shared/now.ts';
import { answerWithinMs, mostEvents, mostTurns } from './budgets.ts';
import { News } from './entry-news.ts';
import { listen, type Order } from './entry-orders.ts';
import { EntryRun } from './entry-run.ts';
import { EntryState } from './entry-state.ts';
import { adapt } from './steps/adapt.ts';
import { assess } from './steps/assess.ts';
import { awaitCommit, isTopUpDue } from './steps/await-commit.ts';
import { backgroundCopy } from './steps/copy.ts';
import { inWords, vmGone } from './steps/conflict.ts';
import { create } from './steps/create.ts';
import { decideConflict } from './steps/decide-conflict.ts';
import { finalPass } from './steps/final.ts';
import { cancel, deleteLeftOvers, retry } from './steps/orders.ts';
import { endWindow } from './steps/roll-back.ts';
import { verify } from './steps/verify.ts';

/**
 * Migrates one VM: checks it, creates its target, copies while the source runs, and, when its batch has given it a window,
 * switches the source off, copies the rest, compares and starts the target. One step at a time; a person or the end of the window
 * interrupts between or within steps. Open until its entry is deleted, reset or archived.
 */
export async function migration(input: MigrationInput): Promise<void> {
  const given = input as Partial<MigrationInput> | null | undefined;
  if (given?.entry === undefined || given.settings === undefined)
    throw failure('InvalidRequest', 'migrations are started by their batch: vmflow batch start', { code: 'INVALID' });
  await new Migration(input).run();
}

/** What an entry in this status does next. */
const steps: Readonly<Record<EntryStatus, (run: EntryRun) => Promise<void>>> = {
  Blocked: assess,
  Waiting: assess,
  'Creating new VM': create,
  Idle: idle,
  'Performing background import tasks': backgroundCopy,
  'Performing final import tasks': finalPass,
  'Performing post-import tasks': adapt,
  'Worker tasks complete': verify,
  Finished: () => Promise.resolve(),
  Error: () => Promise.resolve(),
  Canceled: () => Promise.resolve(),
  Conflict: () => Promise.resolve(),
};

async function idle(run: EntryRun): Promise<void> {
  const { record, stage } = run.state.entry;
  if (stage === 'complete') await adapt(run);
  else if (stage === 'background' && isCopiedAhead(record, run.settings)) await backgroundCopy(run);
  else if (stage === 'final' && !run.hasGrant() && isTopUpDue(run)) await backgroundCopy(run);
  else await awaitCommit(run);
}

class Migration {
  readonly #input: MigrationInput;
  readonly #state: EntryState;
  readonly #run: EntryRun;
  readonly #desk = new ConflictDesk();
  readonly #outcomes = new Map<Order, string | Error>();
  #orders: Order[] = [];
  #isCleaning = false;
  #isDeleted = false;
  #step: CancellationScope | undefined;
  #windowTimer: { readonly end: string; readonly scope: CancellationScope } | undefined;
  #turns = 0;

  constructor(input: MigrationInput) {
    this.#input = input;
    this.#state = new EntryState(input.entry);
    const news = new News(this.#state, input.shardId, input.later === true && input.resume === undefined);
    this.#run = new EntryRun(this.#state, news, input.settings, {
      isPaused: input.paused === true,
      isLater: input.later === true,
      isResolve: input.resume?.isResolve === true,
    });
    setHandler(defineQuery<MigrationView>(messages.status), () => this.#state.view(), {
      description: 'Where it is, what it waits for, what can be done',
    });
    setHandler(
      defineQuery<MigrationRecord>(messages.record),
      () => ({ view: this.#state.view(), record: this.#state.entry.record }),
      { description: 'Its status and the record of its VM' },
    );
    setHandler(defineQuery<Timeline>(messages.timeline), () => this.#state.entry.timeline, {
      description: 'What happened so far',
    });
    this.#desk.listen<ResolveAnswer>(() => this.#answerResolve());
    this.#listen();
  }

  async run(): Promise<void> {
    this.#state.show();
    void CancellationScope.current().cancelRequested.catch(() => {
      this.#orders.push({ kind: 'cancel', by: { by: 'a cancellation of the workflow' }, cleanup: false });
      this.#step?.cancel();
    });
    await CancellationScope.nonCancellable(() => this.#loop());
  }

  async #loop(): Promise<void> {
    for (;;) {
      this.#armWindow();
      if (this.#orders.length > 0) await this.#obey();
      else if (this.#run.isWindowOver) await endWindow(this.#run);
      else await this.#turn();
      if (this.#isDeleted) {
        await this.#close();
        return;
      }
      await this.#continueWhenLong();
    }
  }

  async #turn(): Promise<void> {
    this.#turns += 1;
    const { status } = this.#state.entry;
    if (status === 'Conflict') await this.#interruptible(() => this.#decide());
    else if (status === 'Error' || status === 'Canceled' || status === 'Finished') await this.#park();
    else if (this.#run.isPaused && !isCommitted(this.#state.entry)) await this.#pause();
    else if (this.#run.isLater) await this.#awaitTurn();
    else await this.#interruptible(() => steps[status](this.#run));
  }

  /** An order, or the end of the window, ends it; what it has called ends first. */
  async #interruptible(step: () => Promise<void>): Promise<void> {
    const scope = new CancellationScope();
    this.#step = scope;
    try {
      await scope.run(step);
    } catch (err) {
      if (!isCancellation(err) || !this.#isInterrupted()) throw err;
    } finally {
      this.#step = undefined;
    }
  }

  #isInterrupted(): boolean {
    return this.#orders.length > 0 || this.#run.isWindowOver;
  }

  async #decide(): Promise<void> {
    const decision = await decideConflict(this.#run, this.#desk);
    if (decision === 'cancel')
      this.#orders.push({ kind: 'cancel', by: { by: 'the decision of its conflict' }, cleanup: false });
  }

  /** It is over, and stays to be looked at and taken up again. */
  async #park(): Promise<void> {
    await this.#run.news.send();
    const isFinished = this.#state.entry.status === 'Finished';
    const leftMs = Date.parse(this.#state.entry.since) + this.#run.settings.archiveAfterMs - Date.now();
    if (isFinished && leftMs <= 0) this.#isDeleted = true;
    else await this.#run.until(() => this.#orders.length > 0, isFinished ? leftMs : undefined, 'archive it');
  }

  async #pause(): Promise<void> {
    await this.#run.news.send();
    this.#state.within('paused', 'its batch is stopped');
    await this.#run.until(() => !this.#run.isPaused || this.#orders.length > 0, undefined, '');
    this.#state.within(undefined, 'its batch goes on');
    this.#run.news.forget();
  }

  /** Of a large batch. What it is Blocked by stays to be seen. */
  async #awaitTurn(): Promise<void> {
    await this.#run.news.send();
    const isWaiting = this.#state.entry.status === 'Waiting';
    if (isWaiting) this.#state.within('awaiting-turn', 'Its batch is large: those before it go first');
    await this.#run.until(() => !this.#run.isLater || this.#orders.length > 0, undefined, '');
    if (isWaiting) this.#state.within(undefined, 'Performing initial checks');
  }

  async #obey(): Promise<void> {
    const order = this.#orders.shift();
    if (order === undefined) return;
    this.#isCleaning = true;
    try {
      this.#outcomes.set(order, await this.#carryOut(order));
    } catch (err) {
      const { type, message, details } = knownFailure(err);
      const code = details?.code ?? 'ORDER_FAILED';
      this.#outcomes.set(
        order,
        failure(type === 'Cancelled' ? 'Unavailable' : (type as 'Unavailable'), message, { code }),
      );
    } finally {
      this.#isCleaning = false;
    }
  }

  async #carryOut({ kind, by, cleanup }: Order): Promise<string> {
    const { status } = this.#state.entry;
    if (kind === 'cancel') {
      if (status === 'Finished' || status === 'Canceled') return `it is ${status} already`;
      await cancel(this.#run, by, cleanup);
      return 'canceled';
    }
    if (kind === 'delete') {
      this.#state.event('queue-entry-removed', { by: by.by });
      this.#isDeleted = true;
      return 'deleted';
    }
    if (kind === 'cleanup') {
      await deleteLeftOvers(this.#run, by.by);
      return 'what it left at the target is deleted';
    }
    if (status !== 'Canceled') return `it is ${status}`;
    await retry(this.#run, by.by);
    return `it is ${this.#state.entry.status}`;
  }

  /** A timer of the window that it holds, whatever it does meanwhile. */
  #armWindow(): void {
    const { window } = this.#state.entry;
    const end = isCommitted(this.#state.entry) ? window?.end : undefined;
    if (end === this.#windowTimer?.end) return;
    this.#windowTimer?.scope.cancel();
    this.#windowTimer = undefined;
    if (end === undefined) return;
    const scope = new CancellationScope();
    this.#windowTimer = { end, scope };
    void this.#watch(scope, end, window?.name ?? '');
  }

  async #watch(scope: CancellationScope, end: string, name: string): Promise<void> {
    try {
      await scope.run(() => sleep(Math.max(Date.parse(end) - Date.now(), 1), { summary: `window ${name} ends` }));
    } catch {
      return;
    }
    this.#run.isWindowOver = true;
    this.#run.poke();
    // What finishes the target isn't torn apart: it looks between its calls.
    const { substate } = this.#state.entry;
    if (substate !== 'configuring' && substate !== 'starting') this.#step?.cancel();
  }

  async #answerResolve(): Promise<ResolveAnswer> {
    const { since } = this.#state.entry;
    const isSettled = (): boolean => {
      const { status, substate, since: at } = this.#state.entry;
      return at !== since && status !== 'Worker tasks complete' && substate !== 'cleanup-pending';
    };
    await CancellationScope.nonCancellable(() =>
      condition(isSettled, answerWithinMs, { summary: 'answer the resolve' }),
    );
    const { status, conflict } = this.#state.entry;
    if (!isSettled()) return { result: 'revalidating' };
    if (status === 'Conflict' && conflict !== undefined) return { result: 'conflict', conflict };
    if (status === 'Finished') return { result: 'finished' };
    return { result: status === 'Canceled' ? 'canceled' : 'waiting' };
  }

  async #continueWhenLong(): Promise<void> {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    if (!continueAsNewSuggested && historyLength < mostEvents && this.#turns < mostTurns) return;
    if (this.#orders.length > 0 || this.#run.hasGrant() || this.#run.isWindowOver) return;
    await condition(allHandlersFinished);
    if (this.#orders.length > 0) return;
    await continueAsNew<typeof migration>({
      ...this.#input,
      entry: this.#state.entry,
      settings: this.#run.settings,
      paused: this.#run.isPaused,
      later: this.#run.isLater,
      resume: { isResolve: this.#run.isResolve },
    });
  }

  async #close(): Promise<void> {
    await this.#run.news.send(undefined, true);
    await condition(allHandlersFinished);
  }

  #listen(): void {
    const run = this.#run;
    const state = this.#state;
    listen({
      entry: () => state.entry,
      isCleaning: () => this.#isCleaning,
      give: (order) => {
        this.#orders.push(order);
        run.poke();
        this.#step?.cancel();
      },
      outcomeOf: (order) => this.#outcomes.get(order),
      hold: (held) => {
        state.change({ held });
        run.poke();
      },
      cutover: () => {
        state.change({ cutover: true });
        run.isLater = false;
        run.news.forget();
        run.poke();
      },
      commitGranted: (grant) => {
        run.grant(grant);
        run.poke();
      },
      slotGranted: ({ token }) => run.slots.granted(token),
      sourceUpdated: (update) => this.#sourceUpdated(update),
      settingsChanged: ({ settings }) => {
        run.settings = settings;
        run.poke();
      },
      pause: (isPaused) => {
        run.isPaused = isPaused;
        run.poke();
      },
      giveTurn: () => {
        run.isLater = false;
        run.poke();
      },
      reportNews: () => {
        run.news.forget();
        run.poke();
      },
    });
  }

  /** What a sync found, where a sync may change it. */
  #sourceUpdated(update: SourceUpdated): void {
    const { status, record } = this.#state.entry;
    if (status !== 'Blocked') return;
    if ('record' in update) this.#state.change({ record: update.record });
    else {
      const finding = vmGone(record);
      this.#state.enter('Conflict', inWords(finding), { conflict: { ...finding, moment: 'M1', since: now() } });
    }
    this.#run.poke();
  }
}
