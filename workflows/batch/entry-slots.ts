import { CancellationScope, condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import type { EntryActivities } from '../contracts/batch-activities.ts';
import type { SlotKind, SlotOrder } from '../contracts/batch.ts';
import { batchSlotsId } from '../contracts/ids.ts';
import type { SlotPriority } from '../domain/batch/slots.ts';
import { messages } from '../contracts/messages.ts';
import { control } from '../shared/proxies.ts';
import { budgets, repeatWishMs } from './budgets.ts';
import type { EntryState } from './entry-state.ts';

/** What one entry has to do with the limits on creations and imports. */
export class EntrySlots {
  readonly #state: EntryState;
  #granted: string | undefined;
  /** Of the wish that is out. */
  #awaited: string | undefined;
  #asked = 0;

  constructor(state: EntryState) {
    this.#state = state;
  }

  /** What comes too late for anybody here is given back at once. */
  granted(token: string): void {
    if (token === this.#awaited) this.#granted = token;
    else if (token !== this.#state.entry.slots?.token)
      void CancellationScope.nonCancellable(() => this.#giveBack(token));
  }

  holds(kind: SlotKind): boolean {
    return this.#state.entry.slots?.kind === kind;
  }

  /**
   * Waits until it may, or until `until`; answers whether it may. A cancelled wait leaves nothing behind. `onWait`: it isn't
   * granted at once.
   */
  async acquire(
    kind: SlotKind,
    priority: SlotPriority,
    options: { until?: number; syncLimit: number; onWait?: () => Promise<void> },
  ): Promise<boolean> {
    if (this.holds(kind)) return true;
    await this.release();
    this.#asked += 1;
    const askedAt = Date.now();
    const token = `${this.#state.entry.token}/${kind}/${askedAt}/${this.#asked}`;
    this.#awaited = token;
    try {
      for (let hasWaited = false; ; hasWaited = true) {
        if (await this.#ask(kind, priority, { token, askedAt }, options.syncLimit)) {
          // The limits were lifted while it waited.
          if (hasWaited) await this.#giveBack(token);
          this.#state.change({ slots: { kind, token, unlimited: true } });
          return true;
        }
        await options.onWait?.();
        // Whoever keeps the slots may have been lost with the wish.
        const leftMs = options.until === undefined ? repeatWishMs : Math.min(repeatWishMs, options.until - Date.now());
        const isGranted = await condition(() => this.#granted === token, Math.max(leftMs, 1), {
          summary: 'ask for a slot again',
        });
        if (isGranted) {
          this.#state.change({ slots: { kind, token, unlimited: false } });
          return true;
        }
        if (options.until !== undefined && Date.now() >= options.until) {
          await this.#giveBack(token);
          return false;
        }
      }
    } catch (err) {
      await CancellationScope.nonCancellable(() => this.#giveBack(token));
      throw err;
    } finally {
      this.#awaited = undefined;
    }
  }

  async release(): Promise<void> {
    const { slots } = this.#state.entry;
    if (slots === undefined) return;
    this.#state.forget('slots');
    if (!slots.unlimited) await this.#giveBack(slots.token);
  }

  async #ask(
    kind: SlotKind,
    priority: SlotPriority,
    wish: { readonly token: string; readonly askedAt: number },
    syncLimit: number,
  ): Promise<boolean> {
    const { granted } = await control<EntryActivities>(budgets.slots, `${kind} slot for ${this.#state.name}`).askSlots({
      scope: this.#state.scope(),
      kind,
      priority,
      ...wish,
      host: this.#state.entry.record.host,
      syncLimit,
    });
    return granted;
  }

  /** Slots that nobody keeps any more need no giving back. */
  async #giveBack(token: string): Promise<void> {
    const order: SlotOrder = { kind: 'release', holder: this.#state.entry.instance_uuid, token };
    await getExternalWorkflowHandle(batchSlotsId(workflowInfo().taskQueue))
      .signal<[SlotOrder]>(messages.slotOrder, order)
      .catch(() => undefined);
  }
}
