import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { HibernateWaits, HibernationActivities, Seen, SetScope } from '../contracts/activities.ts';
import type { HibernationInput, HibernationStatus } from '../contracts/hibernate.ts';
import { messages } from '../contracts/messages.ts';
import { hibernationFingerprint } from '../domain/hibernate/fingerprint.ts';
import { decideHibernation, type HibernationLook, type HibernationStep } from '../domain/hibernate/hibernation.ts';
import { after } from '../domain/time.ts';
import { Publisher } from '../shared/attributes.ts';
import { defined } from '../shared/defined.ts';
import { failure } from '../shared/failures.ts';
import { insist } from '../shared/insist.ts';
import { control, waiting } from '../shared/proxies.ts';
import { now } from '../shared/now.ts';
import { budgets, mostTurns } from './budgets.ts';
import { Poked, refusalPauseMs } from './waits.ts';

/** Puts the VM of one Pod to sleep in the registry, or wakes it, as a CocoonHibernation asks. Closes when that is done. */
export async function hibernation(input: HibernationInput): Promise<void> {
  const given = input as Partial<HibernationInput> | null | undefined;
  if (typeof given?.namespace !== 'string' || typeof given.name !== 'string')
    throw failure('InvalidRequest', 'this is for one CocoonHibernation: { "namespace": …, "name": … }', {
      code: 'INVALID',
    });
  await new Hibernation(input).run();
}

class Hibernation {
  readonly #input: HibernationInput;
  readonly #publisher = new Publisher();
  #seen: Seen<HibernationLook> | undefined;
  #step: HibernationStep | undefined;
  #refusal: string | undefined;
  #since = now();
  #isPoked = false;
  #waiting: CancellationScope | undefined;
  #refusals = 0;

  constructor(input: HibernationInput) {
    this.#input = input;
    setHandler(defineQuery<HibernationStatus>(messages.status), () => this.#status(), {
      description: 'What the hibernation does and waits for',
    });
    setHandler(
      defineSignal(messages.poke),
      () => {
        this.#isPoked = true;
        this.#waiting?.cancel();
      },
      { description: 'Look again now' },
    );
  }

  async run(): Promise<void> {
    this.#seen = await this.#look();
    for (let turn = 1; ; turn++) {
      this.#isPoked = false;
      const { look, at, settings } = this.#seen;
      const step = decideHibernation(look, at, settings.migration);
      this.#show(step, at);
      if (step.kind === 'settled') {
        if (!this.#hasNews()) return;
        this.#seen = await this.#look();
      } else if (step.kind === 'act') await this.#act(step.action.do);
      else await this.#wait(step);
      if (turn >= mostTurns || workflowInfo().continueAsNewSuggested) {
        const { namespace, name } = this.#input;
        await continueAsNew<typeof hibernation>({ namespace, name });
      }
    }
  }

  #hasNews(): boolean {
    return this.#isPoked;
  }

  async #act(what: string): Promise<void> {
    const applied = await this.#insist(() =>
      control<HibernationActivities>(budgets.change, `${what}: ${this.#key()}`).changeHibernation(this.#scope()),
    );
    this.#seen = applied.seen;
    if (applied.outcome === 'done') {
      this.#refusals = 0;
      this.#refusal = undefined;
      return;
    }
    this.#refusals += 1;
    const isRefused = applied.outcome === 'forbidden' || applied.outcome === 'unavailable';
    if (!isRefused && this.#refusals < 3) return;
    this.#refusal = applied.message;
    const { pollFloorMs } = applied.seen.settings;
    const pauseMs = refusalPauseMs(this.#refusals, pollFloorMs);
    await condition(() => this.#isPoked, pauseMs, { summary: 'try again after a refusal' });
    this.#seen = await this.#look();
  }

  async #wait({ reason, since }: Extract<HibernationStep, { kind: 'wait' }>): Promise<void> {
    const { look, settings } = this.#seen ?? (await this.#look());
    const limit = reason === 'Waking' ? settings.migration.wakeMs : settings.migration.hibernateMs;
    const scope = new CancellationScope();
    this.#waiting = scope;
    try {
      if (this.#isPoked) throw new Poked();
      this.#seen = await scope.run(() =>
        this.#insist(() =>
          waiting<HibernateWaits>(budgets.wait, `${reason}: ${this.#key()}`).waitForHibernationChange({
            ...this.#scope(),
            fingerprint: hibernationFingerprint(look),
            ...(since === undefined ? {} : { until: after(since, limit) }),
          }),
        ),
      );
    } catch (err) {
      if (!(err instanceof Poked) && !(isCancellation(err) && this.#isPoked)) throw err;
      this.#seen = await this.#look();
    } finally {
      this.#waiting = undefined;
    }
  }

  async #look(): Promise<Seen<HibernationLook>> {
    return await this.#insist(() =>
      control<HibernationActivities>(budgets.look, `look at ${this.#key()}`).lookAtHibernation(this.#scope()),
    );
  }

  /** A refused right, say, doesn't end it: it goes on when it is given. */
  async #insist<T>(work: () => Promise<T>): Promise<T> {
    return await insist(work, (trouble) => (this.#refusal = trouble));
  }

  #scope(): SetScope {
    const { namespace, name } = this.#input;
    return { namespace, name };
  }

  #show(step: HibernationStep, at: string): void {
    if (wordOf(step) !== wordOf(this.#step)) this.#since = at;
    this.#step = step;
    const { status, message, reason, waitingFor, next } = this.#status();
    this.#publisher.publish({ status, waitingFor: waitingFor ?? null });
    const commands = next.map((command) => `- \`${command}\``);
    setCurrentDetails([`**${this.#key()}**: ${status}`, '', `${reason}: ${message}`, ...commands].join('\n'));
  }

  #status(): HibernationStatus {
    const { namespace, name } = this.#input;
    const { desire, phase } = this.#seen?.look.hibernation ?? {};
    const step = this.#step;
    const isDone = step?.kind === 'settled';
    const wanted = desire === 'Wake' ? 'waking the VM' : 'storing the VM';
    return {
      kind: 'hibernation',
      id: workflowInfo().workflowId,
      status: wordOf(step) === 'Deleted' ? 'Deleted' : (phase ?? 'Pending'),
      reason: wordOf(step),
      message: this.#refusal ?? (isDone ? 'nothing to do' : wanted),
      since: this.#since,
      ...(isDone ? {} : { waitingFor: 'far-side' }),
      steps: [{ id: 'settle', title: wanted, state: isDone ? 'done' : 'active' }],
      next: [`vmflow set list -n ${namespace}`, `kubectl get cocoonhibernation ${name} -n ${namespace}`],
      ...defined('phase', phase),
      ...defined('desire', desire),
    };
  }

  #key(): string {
    return `${this.#input.namespace}/${this.#input.name}`;
  }
}

function wordOf(step: HibernationStep | undefined): string {
  if (step === undefined) return 'Observing';
  if (step.kind === 'settled') return step.gone === true ? 'Deleted' : 'Settled';
  return step.kind === 'wait' ? step.reason : step.action.do;
}
