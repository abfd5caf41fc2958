import {
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  Applied,
  HibernateWaits,
  MigrationActivities,
  MigrationTurn,
  Seen,
  TurnResult,
} from '../contracts/activities.ts';
import type {
  MigrateMainInput,
  MigrateMainResult,
  MigrateMainStatus,
  MigrationClosed,
  SetName,
} from '../contracts/hibernate.ts';
import { cocoonSetId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import { decide, textOf, type Decision } from '../domain/hibernate/decide.ts';
import type { Observation } from '../domain/hibernate/observation.ts';
import type { Context, Order } from '../domain/hibernate/situation.ts';
import type { Action, Next, Outcome } from '../domain/hibernate/step.ts';
import { ConflictDesk } from '../shared/conflict-desk.ts';
import { failure } from '../shared/failures.ts';
import { defined } from '../shared/defined.ts';
import { insist } from '../shared/insist.ts';
import { control, waiting } from '../shared/proxies.ts';
import { budgets, mostTurns } from './budgets.ts';
import { listenToOrders } from './migration-orders.ts';
import { MigrationSlot } from './migration-slot.ts';
import { MigrationState } from './migration-state.ts';
import { Poked, refusalPauseMs } from './waits.ts';

/**
 * Moves the main VM of a set to the node that the set asks for, through a snapshot in the registry. Looks, decides, makes one
 * change, looks again; what it remembers can only delay a change, never allow one. Started with nothing but the name it comes to
 * the same end.
 */
export async function migrateMain(input: MigrateMainInput): Promise<MigrateMainResult> {
  const given = input as Partial<MigrateMainInput> | null | undefined;
  if (typeof given?.namespace !== 'string' || typeof given.name !== 'string')
    throw failure('InvalidRequest', 'a migration is of one set: { "namespace": …, "name": … }', { code: 'INVALID' });
  return await new Migration(input).run();
}

/** Which activity makes which change. */
const changes: Readonly<Record<Action['do'], Changes>> = {
  stampPod: 'stampPod',
  writeRecord: 'keepRecord',
  setPhase: 'keepRecord',
  setHibernate: 'setHibernate',
  clearHibernate: 'clearHibernate',
  deletePod: 'deletePod',
  createPod: 'createMainPod',
  dropTag: 'dropTag',
};

type Changes =
  'stampPod' | 'keepRecord' | 'setHibernate' | 'clearHibernate' | 'deletePod' | 'createMainPod' | 'dropTag';

/** What each change is for, as the history shows it. */
const says: Readonly<Record<Changes, string>> = {
  stampPod: "tell the agent of the set's newest version",
  keepRecord: 'note how far it is',
  setHibernate: 'ask the agent to store the VM',
  clearHibernate: 'ask the agent to wake the VM',
  deletePod: 'remove the Pod',
  createMainPod: 'create the Pod for the target',
  dropTag: 'drop the snapshot',
};

class Migration {
  readonly #set: SetName;
  readonly #state: MigrationState;
  readonly #slot: MigrationSlot;
  readonly #conflicts = new ConflictDesk();
  #seen: Seen<Observation> | undefined;
  #order: Order | undefined;
  /** Something was said since the last look. */
  #isPoked = false;
  #waiting: CancellationScope | undefined;
  /** In a row: what the pauses grow with. */
  #refusals = 0;

  constructor(input: MigrateMainInput) {
    this.#set = { namespace: input.namespace, name: input.name };
    this.#state = new MigrationState(input);
    this.#slot = new MigrationSlot(this.#key(), this.#state);
    setHandler(defineQuery<MigrateMainStatus>(messages.status), () => this.#state.status(), {
      description: 'What moves where, how far it is, what it waits for',
    });
    this.#conflicts.listen();
    listenToOrders({
      look: () => this.#seen?.look,
      setTarget: (nodeName, by) => this.#setTarget(nodeName, by),
      order: (order) => this.#give(order),
      abort: () => {
        this.#state.keep({ isAborted: true });
        this.#give('abort');
      },
      acknowledge: (setUid) => {
        this.#state.keep({ acknowledgedLoss: setUid });
        this.#poke();
      },
      granted: () => {
        this.#state.slot('granted');
        this.#poke();
      },
      poke: () => this.#poke(),
    });
  }

  async run(): Promise<MigrateMainResult> {
    this.#take(await this.#observe());
    await this.#slot.claim(this.#current().look);
    for (;;) {
      const outcome = await this.#turn();
      if (outcome !== undefined) return await this.#close(outcome);
      await this.#continueWhenLong();
    }
  }

  /** One decision and what follows from it; answers how the migration ended. */
  async #turn(): Promise<Outcome | undefined> {
    const { look, at, settings } = this.#current();
    const order = this.#order;
    this.#order = undefined;
    this.#isPoked = false;
    const known = this.#state.known(order);
    const context: Context = { now: at, settings: settings.migration, ...known };
    const decision = decide(look, context, this.#state.kept.setUid);
    const { next } = decision;
    if (next.kind === 'act' && order === 'retry' && this.#isDecidedAnyway(decision, context)) this.#order ??= order;
    this.#state.keep({ turn: this.#state.kept.turn + 1 });
    if (next.kind === 'end') return next.outcome;
    if (next.kind === 'leave') return this.#outcome();
    this.#state.decided(decision, context);
    if (next.kind === 'act') {
      await this.#act(next, { scope: this.#scope(), known });
      return undefined;
    }
    if (next.kind === 'wait' && next.reason === 'WaitingForSlot' && (await this.#slot.ask(look))) return undefined;
    await this.#slot.keepFree(next, look);
    await this.#wait(next, textOf(decision), { scope: this.#scope(), known });
    return undefined;
  }

  /** What is done first has nothing to do with the order: that is for the next turn. */
  #isDecidedAnyway(decision: Decision, { now, settings }: Context): boolean {
    const { look } = this.#current();
    const context: Context = { now, settings, ...this.#state.known(undefined) };
    return JSON.stringify(decide(look, context, this.#state.kept.setUid)) === JSON.stringify(decision);
  }

  async #act(next: Extract<Next, { kind: 'act' }>, turn: MigrationTurn): Promise<void> {
    await this.#slot.unpark();
    const { ending } = next;
    if (ending !== undefined) this.#state.keep({ ending });
    const applied = await this.#change(changes[next.action.do], turn);
    if (applied.ending !== undefined) this.#state.keep({ ending: applied.ending });
    this.#take(applied.seen);
    if (applied.outcome === 'done') {
      this.#refusals = 0;
      this.#state.refusal = undefined;
      return;
    }
    await this.#pauseAfter(applied, turn);
  }

  async #change(name: Changes, turn: MigrationTurn): Promise<TurnResult> {
    return await this.#insist(() =>
      control<MigrationActivities>(budgets.change, this.#summary(says[name]))[name](turn),
    );
  }

  /** Somebody else was faster: at once again, unless that goes on. What is refused is shown and tried again, less and less often. */
  async #pauseAfter(applied: Applied, turn: MigrationTurn): Promise<void> {
    this.#refusals += 1;
    const isRefused = applied.outcome === 'forbidden' || applied.outcome === 'unavailable';
    if (!isRefused && this.#refusals < 3) return;
    if (isRefused) {
      this.#state.refusal = applied.message;
      this.#state.show();
      await control<MigrationActivities>(budgets.report, 'show what is refused').reportMigration({
        ...turn,
        refusal: { outcome: applied.outcome, ...(applied.message === undefined ? {} : { message: applied.message }) },
      });
    }
    const { pollFloorMs } = this.#current().settings;
    const pauseMs = refusalPauseMs(this.#refusals, pollFloorMs);
    await condition(() => this.#isPoked, pauseMs, { summary: 'try again after a refusal' });
    this.#take(await this.#observe());
  }

  /** Until something that matters has changed, a person has decided, or looking again finds something else. */
  async #wait(next: Extract<Next, { kind: 'wait' | 'hold' }>, decided: string, turn: MigrationTurn): Promise<void> {
    const until = next.kind === 'wait' ? next.until : undefined;
    const scope = new CancellationScope();
    this.#waiting = scope;
    try {
      if (this.#isPoked) throw new Poked();
      const seen = await scope.run(async () => {
        const { conflict } = this.#state;
        if (conflict !== undefined) void this.#decideConflict(conflict);
        return await this.#insist(() =>
          waiting<HibernateWaits>(budgets.wait, this.#summary(next.reason)).waitForChange({
            ...turn,
            decided,
            ...(until === undefined ? {} : { until }),
            ...(next.reason === 'WaitingForSlot' ? { queuedAs: this.#key() } : {}),
          }),
        );
      });
      this.#take(seen);
      this.#slot.forget();
    } catch (err) {
      if (!(err instanceof Poked) && !(isCancellation(err) && this.#isPoked)) throw err;
      this.#take(await this.#observe());
    } finally {
      this.#waiting = undefined;
      scope.cancel();
    }
  }

  async #decideConflict(conflict: NonNullable<MigrationState['conflict']>): Promise<void> {
    try {
      const resolution = await this.#conflicts.decision(conflict);
      if (resolution?.decision === 'acknowledge-loss')
        this.#state.keep(defined('acknowledgedLoss', this.#state.kept.setUid));
      if (resolution?.decision === 'abort') {
        await this.#setTarget(this.#state.kept.from ?? '', resolution.by);
        this.#state.keep({ isAborted: true });
      }
      if (resolution !== undefined) this.#give(resolution.decision as Order);
    } catch (err) {
      // The wait has ended otherwise.
      if (!isCancellation(err)) throw err;
    }
  }

  async #setTarget(nodeName: string, by: string): Promise<string> {
    const { outcome, message = '' } = await control<MigrationActivities>(
      budgets.person,
      `${by}: the VM is wanted on ${nodeName === '' ? 'any node' : nodeName}`,
    ).setTarget({ scope: this.#scope(), nodeName });
    this.#poke();
    if (outcome === 'done') return `the set now asks for ${nodeName === '' ? 'any node' : nodeName}`;
    throw failure('Conflict', `the set couldn't be changed (${outcome}): ${message}`, { code: 'SET_CHANGED' });
  }

  /** Nothing is left to do. */
  #outcome(): Outcome {
    const { ending = 'superseded', isAborted } = this.#state.kept;
    return isAborted === true && ending === 'superseded' ? 'aborted' : ending;
  }

  async #close(outcome: Outcome): Promise<MigrateMainResult> {
    const result = this.#state.end(outcome);
    await this.#slot.release();
    await condition(allHandlersFinished);
    const { namespace, name } = this.#set;
    const note: MigrationClosed = { ...defined('setUid', this.#state.kept.setUid), result };
    // Its set may have nobody who listens: then nobody needs to know.
    await getExternalWorkflowHandle(cocoonSetId(namespace, name))
      .signal<[MigrationClosed]>(messages.migrationClosed, note)
      .catch(() => undefined);
    return result;
  }

  async #continueWhenLong(): Promise<void> {
    const { turn } = this.#state.kept;
    if (!workflowInfo().continueAsNewSuggested && turn < mostTurns) return;
    await condition(allHandlersFinished);
    if (this.#order !== undefined) return;
    await continueAsNew<typeof migrateMain>({ ...this.#set, resume: { ...this.#state.kept, turn: 0 } });
  }

  async #observe(): Promise<Seen<Observation>> {
    const { setUid } = this.#state.kept;
    return await this.#insist(() =>
      control<MigrationActivities>(budgets.look, `look at ${this.#key()}`).observeSet({
        ...this.#set,
        ...defined('setUid', setUid),
        probe: true,
      }),
    );
  }

  /** A refused right, say, doesn't end a migration: it goes on when it is given. */
  async #insist<T>(work: () => Promise<T>): Promise<T> {
    return await insist(work, (trouble) => {
      this.#state.refusal = trouble;
      this.#state.show();
    });
  }

  #take(seen: Seen<Observation>): void {
    this.#seen = seen;
    this.#state.see(seen);
  }

  #current(): Seen<Observation> {
    if (this.#seen === undefined) throw new Error('nothing was looked at yet');
    return this.#seen;
  }

  #give(order: Order): void {
    this.#order = order;
    this.#poke();
  }

  #poke(): void {
    this.#isPoked = true;
    this.#waiting?.cancel();
  }

  #scope(): MigrationTurn['scope'] {
    return { ...this.#set, ...defined('setUid', this.#state.kept.setUid) };
  }

  #key(): string {
    return `${this.#set.namespace}/${this.#set.name}`;
  }

  #summary(what: string): string {
    return `${what}: ${this.#key()}`;
  }
}
