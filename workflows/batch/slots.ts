import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  getExternalWorkflowHandle,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { SlotsActivities } from '../contracts/batch-activities.ts';
import type { SlotOrder, SlotsGranted, SlotsInput, SlotsView } from '../contracts/batch.ts';
import { searchKeys } from '../contracts/attributes.ts';
import { messages } from '../contracts/messages.ts';
import { afterSlotCall, noSlots, type SlotCall, type SlotGrant, type Slots } from '../domain/batch/slots.ts';
import { insist } from '../shared/insist.ts';
import { control } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';
import { list, pane, plain } from '../domain/markdown.ts';

/** How often it looks whether those that hold slots are still there. */
const reclaimEveryMs = 300_000;
const idleMs = 600_000;
const mostEventsOfSlots = 3_800;

/**
 * Who may create and import now, over all batches. All limits are in one place, so that what needs several gets them at once and
 * nobody holds one while waiting for another.
 */
export async function slots(input: SlotsInput = {}): Promise<void> {
  await new SlotKeeper(input.slots ?? noSlots).run();
}

class SlotKeeper {
  #slots: Slots;
  #toTell: SlotGrant[] = [];
  #orders = 0;

  constructor(kept: Slots) {
    this.#slots = kept;
    setHandler(defineSignal<[SlotOrder]>(messages.slotOrder), (order) => {
      this.#orders += 1;
      this.#after(order.kind === 'ask' ? { kind: 'ask', ask: order.ask } : order);
    });
    setHandler(
      defineQuery<SlotsView>(messages.status),
      () => ({ kind: 'slots', id: workflowInfo().workflowId, slots: this.#slots }),
      {
        description: 'Who holds which limit, who waits for it',
      },
    );
  }

  async run(): Promise<void> {
    upsertSearchAttributes([{ key: searchKeys.kind, value: 'slots' }]);
    let lookedAt = Date.now();
    for (;;) {
      const isIdle = this.#slots.holders.length + this.#slots.waiting.length === 0;
      const orders = this.#orders;
      const untilMs = isIdle ? idleMs : Math.max(lookedAt + reclaimEveryMs - Date.now(), 1);
      const woke = await condition(() => this.#toTell.length > 0 || this.#orders > orders, untilMs, {
        summary: isIdle ? 'close when nobody comes' : 'see who is still there',
      });
      await this.#tell();
      if (!woke && isIdle && this.#orders === orders && allHandlersFinished()) return;
      if (!isIdle && Date.now() - lookedAt >= reclaimEveryMs) {
        await this.#reclaim();
        lookedAt = Date.now();
      }
      this.#show();
      const { continueAsNewSuggested, historyLength } = workflowInfo();
      if ((continueAsNewSuggested || historyLength >= mostEventsOfSlots) && this.#toTell.length === 0)
        await continueAsNew<typeof slots>({ slots: this.#slots });
    }
  }

  #after(call: SlotCall): void {
    const { slots: kept, granted } = afterSlotCall(this.#slots, call);
    this.#slots = kept;
    this.#toTell.push(...granted);
  }

  /** One that is gone gives back at once. */
  async #tell(): Promise<void> {
    while (this.#toTell.length > 0) {
      const granted = this.#toTell;
      this.#toTell = [];
      await Promise.all(
        granted.map(async ({ holder, token, workflowId }) => {
          try {
            await getExternalWorkflowHandle(workflowId).signal<[SlotsGranted]>(messages.slotGranted, { token });
          } catch {
            this.#after({ kind: 'release', holder, token });
          }
        }),
      );
    }
  }

  async #reclaim(): Promise<void> {
    const ids = [...this.#slots.holders, ...this.#slots.waiting].map(({ workflowId }) => workflowId);
    const over = await insist(
      () => control<SlotsActivities>(budgets.look, 'see which holders are over').overOf(ids),
      (trouble) => setCurrentDetails(trouble ?? ''),
    );
    if (over.length > 0) this.#after({ kind: 'reclaim', over });
    await this.#tell();
  }

  #show(): void {
    const { limits, holders, waiting } = this.#slots;
    const lines = Object.entries(limits).map(([name, limit]) => {
      const held = holders.filter(({ permits }) => permits.includes(name)).length;
      const wait = waiting.filter(({ permits }) => permits.includes(name)).length;
      return plain(`${name}: ${held} of ${limit} taken, ${wait} waiting`);
    });
    setCurrentDetails(pane([list(lines)]));
  }
}
