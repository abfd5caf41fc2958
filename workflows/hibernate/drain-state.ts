import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type {
  DrainEntry,
  DrainNodeInput,
  DrainNodeResult,
  DrainNodeStatus,
  DrainState as KeptDrain,
} from '../contracts/hibernate.ts';
import type { DrainMove, DrainPlan } from '../domain/hibernate/drain.ts';
import { Publisher } from '../shared/attributes.ts';
import { defined } from '../shared/defined.ts';
import { now } from '../shared/now.ts';
import { list, pane, plain } from '../domain/markdown.ts';
import { fromTerminal } from '../shared/pane-parts.ts';

/** What a drain has done and can't do, for itself, the query and the Web UI. */
export class DrainState {
  readonly #input: DrainNodeInput;
  readonly #publisher = new Publisher();
  #wasCordoned: boolean;
  #startedAt: string;
  #entries: DrainEntry[];
  #plan: DrainPlan | undefined;
  #outcome: DrainNodeResult['outcome'] | undefined;
  readonly #troubles = new Map<string, string>();

  constructor(input: DrainNodeInput) {
    this.#input = input;
    const { resume } = input;
    this.#wasCordoned = resume?.wasCordoned ?? false;
    this.#startedAt = resume?.startedAt ?? now();
    this.#entries = [...(resume?.moves ?? [])];
    this.#show();
  }

  get wasCordoned(): boolean {
    return this.#wasCordoned;
  }

  get moving(): readonly DrainEntry[] {
    return this.#entries.filter(({ state }) => state === 'moving');
  }

  began(wasCordoned: boolean): void {
    this.#wasCordoned = wasCordoned;
  }

  saw(plan: DrainPlan): void {
    this.#plan = plan;
    this.#show();
  }

  started({ set, target, previous }: DrainMove): DrainEntry {
    const entry: DrainEntry = { set, uid: '', target, previous, state: 'moving' };
    this.#entries = [...this.#entries.filter((one) => one.set !== set), entry];
    this.#show();
    return entry;
  }

  ended(entry: DrainEntry, hasMoved: boolean, message: string): void {
    const state = hasMoved ? 'moved' : 'failed';
    this.#entries = this.#entries.map((one) => (one.set === entry.set ? { ...one, state } : one));
    if (hasMoved) this.#troubles.delete(entry.set);
    else this.#troubles.set(entry.set, message);
    this.#show();
  }

  resume(cancelled: boolean): KeptDrain {
    return {
      wasCordoned: this.#wasCordoned,
      startedAt: this.#startedAt,
      moves: this.#entries,
      ...(cancelled ? { cancelled } : {}),
    };
  }

  end(outcome: DrainNodeResult['outcome']): DrainNodeResult {
    this.#outcome = outcome;
    this.#show();
    return { outcome, moved: this.#moved(), blocked: this.#plan?.blocked ?? [] };
  }

  status(): DrainNodeStatus {
    const { node, deadline } = this.#input;
    const inFlight = this.moving.length;
    const blocked = this.#plan?.blocked ?? [];
    const waiting = this.#plan?.waiting ?? 0;
    const ahead = this.#plan?.moves.filter(({ set }) => !this.moving.some((one) => one.set === set)).length ?? 0;
    const moved = this.#moved();
    const total = moved + inFlight + blocked.length + waiting + ahead;
    const isDone = this.#outcome !== undefined;
    const message = `${moved} of ${total} moved, ${inFlight} on their way, ${blocked.length} can't move`;
    return {
      kind: 'drain',
      id: workflowInfo().workflowId,
      status: this.#outcome ?? (blocked.length > 0 && inFlight + waiting === 0 ? 'Blocked' : 'Draining'),
      reason: this.#outcome ?? 'Draining',
      message,
      since: this.#startedAt,
      ...defined('deadline', deadline),
      ...(isDone ? {} : { waitingFor: 'far-side' }),
      ...(total === 0 ? {} : { progress: moved / total }),
      steps: [
        { id: 'cordon', title: `cordon ${node}`, state: this.#plan === undefined ? 'active' : 'done' },
        {
          id: 'move',
          title: 'move the VMs',
          state: isDone ? 'done' : this.#plan === undefined ? 'pending' : 'active',
          detail: message,
        },
      ],
      next: isDone ? ['vmflow set list'] : [`vmflow node status ${node}`, `vmflow node cancel ${node} --uncordon`],
      node,
      total,
      moved,
      inFlight,
      blocked,
    };
  }

  #moved(): number {
    return this.#entries.filter(({ state }) => state === 'moved').length;
  }

  #show(): void {
    const status = this.status();
    this.#publisher.publish({
      status: status.status,
      waitingFor: status.waitingFor ?? null,
      progress: Math.round((status.progress ?? 0) * 100) / 100,
    });
    setCurrentDetails(
      pane([
        `**${plain(status.node)}**: ${status.status}`,
        plain(status.message),
        list([
          ...this.moving.map(({ set, target }) => plain(`▶ ${set} → ${target}`)),
          ...status.blocked.map(({ set, reason }) => plain(`✘ ${set}: ${reason}`)),
          ...[...this.#troubles].map(([set, message]) => plain(`${set}: ${message}`)),
        ]),
        ...fromTerminal(status.next),
      ]),
    );
  }
}
