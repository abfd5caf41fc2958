import {
  CancellationScope,
  ParentClosePolicy,
  TemporalFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  setHandler,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { CocoonSetActivities, HibernateWaits, Seen, SetTurn } from '../contracts/activities.ts';
import { longestAttribute, searchKeys } from '../contracts/attributes.ts';
import type {
  CocoonSetInput,
  CocoonSetPoke,
  CocoonSetStatus,
  LossAcknowledgement,
  MigrateMainInput,
  MigrationClosed,
  SetName,
} from '../contracts/hibernate.ts';
import { migrateMainId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import { setFingerprint } from '../domain/hibernate/fingerprint.ts';
import { orderProblem } from '../domain/hibernate/orders.ts';
import type { SetLook } from '../domain/hibernate/set-look.ts';
import { setTurn, type SetStep } from '../domain/hibernate/set-turn.ts';
import { cutToBytes } from '../domain/text.ts';
import { after } from '../domain/time.ts';
import { defined } from '../shared/defined.ts';
import { failure } from '../shared/failures.ts';
import { insist } from '../shared/insist.ts';
import { control, oneLine, waiting } from '../shared/proxies.ts';
import { budgets, mostTurns } from './budgets.ts';
import { SetState } from './set-state.ts';
import { Poked, refusalPauseMs } from './waits.ts';

/** A migration that has just told its end is closed a moment later. */
const closingPause = '300ms';

/**
 * The one who decides for a set while there is something to do: creates, stamps, suspends, wakes, scales, deletes, and starts the
 * migration of the main VM. Closes when the set is settled; whoever sees a change starts it again.
 */
export async function cocoonSet(input: CocoonSetInput): Promise<void> {
  const given = input as Partial<CocoonSetInput> | null | undefined;
  if (typeof given?.namespace !== 'string' || typeof given.name !== 'string')
    throw failure('InvalidRequest', 'this is for one set: { "namespace": …, "name": … }', { code: 'INVALID' });
  await new CocoonSet(input).run();
}

class CocoonSet {
  readonly #set: SetName;
  readonly #state: SetState;
  #setUid: string | undefined;
  #seen: Seen<SetLook> | undefined;
  #isPoked = false;
  /** The next look asks the registry also if the set looks settled. */
  #isProbeDue = false;
  #hasClosed = false;
  #acknowledgedLoss: string | undefined;
  #waiting: CancellationScope | undefined;
  #turns = 0;
  #refusals = 0;

  constructor(input: CocoonSetInput) {
    this.#set = { namespace: input.namespace, name: input.name };
    this.#setUid = input.resume?.setUid;
    this.#state = new SetState(this.#set);
    setHandler(defineQuery<CocoonSetStatus>(messages.status), () => this.#state.status(), {
      description: 'What the set does and waits for',
    });
    setHandler(
      defineSignal<[CocoonSetPoke?]>(messages.poke),
      (body) => {
        if (body?.probe === true) this.#isProbeDue = true;
        this.#poke();
      },
      { description: 'Look again now; also for a snapshot that is left over: { probe }' },
    );
    setHandler(
      defineSignal<[MigrationClosed]>(messages.migrationClosed),
      () => {
        this.#hasClosed = true;
        this.#poke();
      },
      { description: 'The migration of the main VM has ended' },
    );
    setHandler(
      defineUpdate<string, [LossAcknowledgement]>(messages.acknowledgeLoss),
      ({ setUid }) => {
        this.#acknowledgedLoss = setUid;
        this.#poke();
        return 'the state of the VM is given up: a fresh one boots';
      },
      {
        description: 'Give up the state of the VM: { setUid, by, reason? }',
        validator: (body: LossAcknowledgement) => {
          const look = this.#seen?.look.main;
          const problem =
            look === undefined
              ? 'it has only just begun; ask again in a moment'
              : orderProblem('acknowledge-loss', look, body.setUid);
          if (problem !== undefined) throw failure('Refused', problem, { code: 'ORDER_REFUSED' });
        },
      },
    );
  }

  async run(): Promise<void> {
    this.#take(await this.#look());
    for (;;) {
      this.#isPoked = false;
      const step = this.#decide();
      this.#state.show(step, this.#current());
      if (step.isOver === true) return;
      if (await this.#carryOut(step)) return;
      await this.#continueWhenLong();
    }
  }

  /** Answers whether there is nothing left to do. */
  async #carryOut(step: SetStep): Promise<boolean> {
    if (step.action?.do === 'startMigration') await this.#startMigration();
    else if (step.action !== undefined) await this.#change(step.action.do);
    else if (step.isSettled === true) return await this.#settle();
    else await this.#wait(step.reason ?? step.phase ?? 'Waiting');
    return false;
  }

  #decide(): SetStep {
    const { look, at, settings } = this.#current();
    const { order } = this.#turn(false);
    return setTurn(look, { now: at, settings: settings.migration, hasSlot: false, ...defined('order', order) });
  }

  async #startMigration(): Promise<void> {
    const { namespace, name } = this.#set;
    const input: MigrateMainInput = { namespace, name };
    try {
      await startChild('migrateMain', {
        workflowId: migrateMainId(namespace, name),
        args: [input],
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary: oneLine(`Move the main VM of ${namespace}/${name}`),
        typedSearchAttributes: [
          { key: searchKeys.kind, value: 'hibernate-migration' },
          { key: searchKeys.vm, value: cutToBytes(`${namespace}/${name}`, longestAttribute) },
        ],
      });
    } catch (err) {
      // It is open: it looks at the set itself.
      if (!(err instanceof TemporalFailure && err.name === 'WorkflowExecutionAlreadyStartedError')) throw err;
    }
    this.#take(await this.#look());
    // One that ends at once would be started again at once.
    if (!this.#current().look.isMigrationOpen) await sleep(closingPause, { summary: 'let the migration close' });
  }

  async #change(what: string): Promise<void> {
    const applied = await this.#insist(() =>
      control<CocoonSetActivities>(budgets.changeSet, `${what}: ${this.#key()}`).changeSet(this.#turn(false)),
    );
    this.#take(applied.seen);
    if (applied.outcome === 'done') {
      this.#refusals = 0;
      return;
    }
    this.#refusals += 1;
    const isRefused = applied.outcome === 'forbidden' || applied.outcome === 'unavailable';
    if (!isRefused && this.#refusals < 3) return;
    this.#state.refused(applied.message);
    const { pollFloorMs } = this.#current().settings;
    const pauseMs = refusalPauseMs(this.#refusals, pollFloorMs);
    await condition(() => this.#isPoked, pauseMs, { summary: 'try again after a refusal' });
    this.#take(await this.#look());
  }

  async #settle(): Promise<boolean> {
    await control<CocoonSetActivities>(budgets.report, `show ${this.#key()}`).reportSet(this.#turn(false));
    if (!this.#isPoked && !this.#isProbeDue && allHandlersFinished()) return true;
    this.#take(await this.#look());
    return false;
  }

  async #wait(what: string): Promise<void> {
    const scope = new CancellationScope();
    this.#waiting = scope;
    try {
      if (this.#isPoked) throw new Poked();
      const { look, at, settings } = this.#current();
      this.#take(
        await scope.run(() =>
          this.#insist(() =>
            waiting<HibernateWaits>(budgets.wait, `${what}: ${this.#key()}`).waitForSetChange({
              ...this.#turn(false),
              fingerprint: setFingerprint(look),
              // What only takes long is shown then.
              ...(look.suspendingSince === undefined ? {} : { until: after(at, settings.migration.suspendMs) }),
            }),
          ),
        ),
      );
    } catch (err) {
      if (!(err instanceof Poked) && !(isCancellation(err) && this.#isPoked)) throw err;
      if (this.#hasClosed) await sleep(closingPause, { summary: 'let the migration close' });
      this.#hasClosed = false;
      this.#take(await this.#look());
    } finally {
      this.#waiting = undefined;
    }
  }

  async #look(): Promise<Seen<SetLook>> {
    const turn = this.#turn(this.#isProbeDue);
    this.#isProbeDue = false;
    return await this.#insist(() =>
      control<CocoonSetActivities>(budgets.look, `look at ${this.#key()}`).lookAtSet(turn),
    );
  }

  #turn(probe: boolean): SetTurn {
    const isGivenUp = this.#acknowledgedLoss !== undefined && this.#acknowledgedLoss === this.#setUid;
    return {
      scope: { ...this.#set, ...defined('setUid', this.#setUid) },
      probe,
      ...(isGivenUp ? { order: 'acknowledge-loss' } : {}),
    };
  }

  /** A refused right, say, doesn't end it: it goes on when it is given. */
  async #insist<T>(work: () => Promise<T>): Promise<T> {
    return await insist(work, (trouble) => {
      if (trouble !== undefined) this.#state.refused(trouble);
    });
  }

  async #continueWhenLong(): Promise<void> {
    this.#turns += 1;
    if (!workflowInfo().continueAsNewSuggested && this.#turns < mostTurns) return;
    await condition(allHandlersFinished);
    await continueAsNew<typeof cocoonSet>({ ...this.#set, resume: defined('setUid', this.#setUid) });
  }

  #take(seen: Seen<SetLook>): void {
    this.#seen = seen;
    this.#setUid ??= seen.look.set?.uid;
  }

  #current(): Seen<SetLook> {
    if (this.#seen === undefined) throw new Error('nothing was looked at yet');
    return this.#seen;
  }

  #poke(): void {
    this.#isPoked = true;
    this.#waiting?.cancel();
  }

  #key(): string {
    return `${this.#set.namespace}/${this.#set.name}`;
  }
}
