import { workflowInfo } from '@temporalio/workflow';
import type { MigrationActivities } from '../contracts/activities.ts';
import type { SlotAnswer, SlotCall } from '../contracts/hibernate.ts';
import type { Observation } from '../domain/hibernate/observation.ts';
import type { SlotRequest } from '../domain/hibernate/slots.ts';
import type { Next } from '../domain/hibernate/step.ts';
import { control } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';
import type { MigrationState } from './migration-state.ts';

/** What a migration has to do with the gate: a slot is needed to begin, and never after that. */
export class MigrationSlot {
  readonly #set: string;
  readonly #state: MigrationState;
  /** Target for which one was asked. */
  #asked: string | undefined;
  #isParked = false;

  constructor(set: string, state: MigrationState) {
    this.#set = set;
    this.#state = state;
  }

  /** After a restart: whoever has begun is in, whatever the gate remembers. */
  async claim(look: Observation): Promise<void> {
    if (look.set?.record === undefined || this.#state.hasSlot) return;
    await this.#call({ kind: 'claim', request: this.#request(look) });
    this.#state.slot('granted');
  }

  /** Answers whether one was granted at once. */
  async ask(look: Observation): Promise<boolean> {
    const wish = look.set?.nodeName ?? '';
    if (this.#asked === wish) return false;
    this.#asked = wish;
    const { granted, queued } = await this.#call({ kind: 'request', request: this.#request(look) });
    this.#state.slot(granted || this.#state.hasSlot ? 'granted' : 'asked', queued);
    this.#state.show();
    return this.#state.hasSlot;
  }

  /** The gate may have forgotten: ask again. */
  forget(): void {
    this.#asked = undefined;
  }

  /** Who waits for a person, or for a seat that another one may have to free, doesn't keep others from moving. */
  async keepFree(next: Extract<Next, { kind: 'wait' | 'hold' }>, look: Observation): Promise<void> {
    if (!this.#state.hasSlot) return;
    if (next.kind === 'hold' && look.set?.record === undefined) {
      await this.release();
      return;
    }
    const isStuck = next.kind === 'hold' || next.reason === 'MigrateNoCapacity' || next.reason === 'OldPodStuck';
    if (!isStuck) await this.unpark();
    else if (!this.#isParked) {
      this.#isParked = true;
      await this.#call({ kind: 'park', set: this.#set });
    }
  }

  /** It moves again. */
  async unpark(): Promise<void> {
    if (!this.#isParked) return;
    this.#isParked = false;
    await this.#call({ kind: 'unpark', set: this.#set });
  }

  async release(): Promise<void> {
    if (!this.#state.hasSlot && this.#asked === undefined) return;
    await this.#call({ kind: 'release', set: this.#set });
    this.#state.slot('none');
    this.forget();
  }

  async #call(call: SlotCall): Promise<SlotAnswer> {
    return await control<MigrationActivities>(budgets.gate, `${call.kind} a slot`).callGate(call);
  }

  #request({ set, pod }: Observation): SlotRequest {
    return {
      set: this.#set,
      source: set?.record?.from ?? pod?.nodeName ?? '',
      target: set?.nodeName ?? '',
      workflowId: workflowInfo().workflowId,
    };
  }
}
