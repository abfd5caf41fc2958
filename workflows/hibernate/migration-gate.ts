import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  getExternalWorkflowHandle,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { MigrationActivities } from '../contracts/activities.ts';
import type {
  MigrationGateInput,
  MigrationGateStatus,
  SlotAnswer,
  SlotCall,
  SlotGranted,
} from '../contracts/hibernate.ts';
import { messages } from '../contracts/messages.ts';
import {
  afterCall,
  emptyGate,
  placeInQueue,
  type Gate,
  type GateCall,
  type GateLimits,
  type SlotRequest,
} from '../domain/hibernate/slots.ts';
import { defined } from '../shared/defined.ts';
import { insist } from '../shared/insist.ts';
import { control } from '../shared/proxies.ts';
import { now } from '../shared/now.ts';
import { budgets } from './budgets.ts';
import { list, pane, plain } from '../domain/markdown.ts';

/** How often the gate compares what it remembers with what the cluster shows. */
const reconcileEvery = '60s';
/** A gate that nobody needs closes after this time; the next request starts a new one. */
const idle = '10m';

/**
 * Who may move a VM now. Its memory is only a convenience: what has begun is found in the cluster, and who still waits asks
 * again.
 */
export async function migrationGate(input: MigrationGateInput = {}): Promise<void> {
  await new MigrationGate(input.resume?.gate).run();
}

class MigrationGate {
  readonly #since = now();
  #gate: Gate;
  #limits: GateLimits | undefined;
  /** Told after the handlers have answered: a call must not wait for others. */
  #toTell: SlotRequest[] = [];
  #calls = 0;

  constructor(gate: Gate | undefined) {
    this.#gate = gate ?? emptyGate;
    setHandler(defineQuery<MigrationGateStatus>(messages.status), () => this.#status(), {
      description: 'Who moves and who waits',
    });
    setHandler(defineUpdate<SlotAnswer, [SlotCall]>(messages.slot), (call) => this.#answer(call), {
      description: 'Of a migration: ask for a slot, park it, give it back',
    });
  }

  async run(): Promise<void> {
    await this.#reconcile();
    for (;;) {
      const isEmpty = this.#isEmpty();
      const calls = this.#calls;
      const hasNews = (): boolean => this.#toTell.length > 0 || (isEmpty && this.#calls > calls);
      const summary = isEmpty ? 'close when nobody comes' : 'compare with the cluster';
      const woke = await condition(hasNews, isEmpty ? idle : reconcileEvery, { summary });
      await this.#tell();
      if (!woke && isEmpty && this.#isEmpty() && allHandlersFinished()) return;
      if (!woke) await this.#reconcile();
      if (workflowInfo().continueAsNewSuggested && allHandlersFinished() && this.#toTell.length === 0)
        await continueAsNew<typeof migrationGate>({ resume: { gate: this.#gate } });
    }
  }

  async #answer(call: SlotCall): Promise<SlotAnswer> {
    this.#calls += 1;
    // Before it knows who has begun already, nobody may begin.
    await condition(() => this.#limits !== undefined);
    const granted = this.#after(call);
    if (call.kind !== 'request' && call.kind !== 'claim') {
      this.#toTell.push(...granted);
      return { granted: false };
    }
    const isOwn = ({ set }: SlotRequest): boolean => set === call.request.set;
    this.#toTell.push(...granted.filter((one) => !isOwn(one)));
    const isIn = this.#gate.holders.some(isOwn);
    return { granted: isIn, ...defined('queued', placeInQueue(this.#gate, call.request.set)) };
  }

  #after(call: GateCall): readonly SlotRequest[] {
    if (this.#limits === undefined) return [];
    const { gate, granted } = afterCall(this.#gate, call, this.#limits);
    this.#gate = gate;
    this.#show();
    return granted;
  }

  async #reconcile(): Promise<void> {
    const { begun, over, limits } = await insist(
      () => control<MigrationActivities>(budgets.look, 'compare the gate with the cluster').listMigrations(this.#gate),
      (trouble) => setCurrentDetails(trouble ?? ''),
    );
    this.#limits = limits;
    this.#toTell.push(...this.#after({ kind: 'reconcile', begun, over }));
    await this.#tell();
  }

  /** One that is gone leaves its slot to the next comparison. */
  async #tell(): Promise<void> {
    const granted = this.#toTell;
    this.#toTell = [];
    for (const { set, workflowId } of granted) {
      await getExternalWorkflowHandle(workflowId)
        .signal<[SlotGranted]>(messages.granted, { set })
        .catch(() => this.#toTell.push(...this.#after({ kind: 'release', set })));
    }
  }

  #isEmpty(): boolean {
    return this.#gate.holders.length + this.#gate.queue.length === 0;
  }

  #status(): MigrationGateStatus {
    const { holders, queue } = this.#gate;
    return {
      kind: 'migration-gate',
      id: workflowInfo().workflowId,
      status: queue.length > 0 ? 'Queueing' : 'Open',
      reason: 'Gate',
      message: `${holders.length} on their way, ${queue.length} waiting`,
      since: this.#since,
      steps: [],
      next: ['vmflow migrate list'],
      gate: this.#gate,
    };
  }

  #show(): void {
    const { holders, queue } = this.#gate;
    const way = ({ set, source, target }: { set: string; source: string; target: string }): string =>
      plain(`${set}: ${source} → ${target}`);
    setCurrentDetails(
      pane([
        plain(this.#status().message),
        list([
          ...holders.map((holder) => `▶ ${way(holder)}${holder.parked ? ' (parked)' : ''}`),
          ...queue.map((waiter, place) => `${place + 1}: ${way(waiter)}`),
        ]),
      ]),
    );
  }
}
