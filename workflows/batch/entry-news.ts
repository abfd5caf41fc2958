import { getExternalWorkflowHandle } from '@temporalio/workflow';
import type { CommitRequest, EntryNews } from '../contracts/batch.ts';
import { messages } from '../contracts/messages.ts';
import type { EntryState } from './entry-state.ts';

/** Tells the shard what its row is to say, once per change. A shard that is gone is told again when it asks. */
export class News {
  readonly #state: EntryState;
  readonly #shardId: string;
  #last = '';
  #asks = false;

  /** `isKnown`: the shard has it as it is now. */
  constructor(state: EntryState, shardId: string, isKnown = false) {
    this.#state = state;
    this.#shardId = shardId;
    if (isKnown) this.#last = JSON.stringify(this.#news());
  }

  /** The row as it is now; with a wish to be committed where there is one. */
  async send(request?: CommitRequest, closed?: boolean): Promise<void> {
    this.#asks = request !== undefined;
    const needsNoPlace = this.#state.entry.holds_place && !this.#state.isCommitted && request === undefined;
    const news = this.#news(request, closed);
    const text = JSON.stringify(news);
    // A place is given back once, which changes nothing of the row.
    if (text === this.#last && !needsNoPlace) return;
    this.#last = text;
    if (needsNoPlace) this.#state.change({ holds_place: false });
    await getExternalWorkflowHandle(this.#shardId)
      .signal<[EntryNews]>(messages.entryNews, { ...news, ...(needsNoPlace ? { released: true } : {}) })
      .catch(() => undefined);
  }

  #news(request?: CommitRequest, closed?: boolean): EntryNews {
    const { instance_uuid, window } = this.#state.entry;
    return {
      uuid: instance_uuid,
      phase: this.#state.phase(),
      ...(window === undefined ? {} : { window: window.name }),
      ...(request === undefined ? {} : { request }),
      ...(closed === true ? { closed } : {}),
    };
  }

  /** What it said last was that it wants to be committed. */
  get asks(): boolean {
    return this.#asks;
  }

  /** The shard doesn't know it, or has lost what it knew. */
  forget(): void {
    this.#last = '';
  }
}
