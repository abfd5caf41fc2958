import type { CommitRequest } from '../contracts/batch.ts';

/**
 * Of each constraint, the batch sees this many of a shard at a time: what waits for one must not fill its memory. Of those that wait
 * for others it sees all: whom they wait for may be behind them.
 */
const openPerConstraint = 20;
const sentAtOnce = 100;

interface Waiting {
  readonly request: CommitRequest;
  isSent: boolean;
}

/** Who of a shard wants to be committed, and who of them the batch knows of. */
export class ShardRequests {
  readonly #waiting = new Map<string, Waiting>();
  #released: string[] = [];
  #hasMore = false;
  #isCut = false;

  constructor(kept: readonly CommitRequest[] = []) {
    // Told again after a new run: who is known already changes nothing.
    for (const request of kept) this.#waiting.set(request.uuid, { request, isSent: false });
  }

  /** Who is committed wishes nothing any more, and keeps the place that it has got. */
  take(
    uuid: string,
    request: CommitRequest | undefined,
    { isReleased, isCommitted = false }: { readonly isReleased: boolean; readonly isCommitted?: boolean },
  ): void {
    if (request !== undefined) this.#waiting.set(uuid, { request, isSent: false });
    else if ((this.#waiting.delete(uuid) && !isCommitted) || isReleased) this.#released.push(uuid);
  }

  /** Earliest first, of each constraint a few. */
  toSend(isOrdered: (uuid: string) => boolean = () => false): {
    readonly requests: readonly CommitRequest[];
    readonly released: readonly string[];
  } {
    const open = new Map<string, number>();
    const requests: CommitRequest[] = [];
    this.#hasMore = false;
    this.#isCut = false;
    // All of them: what is given back later than a newer wish would take that with it.
    const released = this.#released.splice(0);
    for (const one of [...this.#waiting.values()].sort(byTurn)) {
      const { request } = one;
      const count = open.get(request.constraint ?? '') ?? 0;
      const isLimited = !request.cutover && !isOrdered(request.uuid);
      if (isLimited && count >= openPerConstraint) {
        this.#isCut = true;
        continue;
      }
      if (isLimited) open.set(request.constraint ?? '', count + 1);
      if (one.isSent) continue;
      if (requests.length >= sentAtOnce) {
        this.#hasMore = true;
        continue;
      }
      one.isSent = true;
      requests.push(request);
    }
    return { requests, released };
  }

  /** Not everything could be said at once. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** The batch doesn't see all that wait: whoever is through makes room for one of them. */
  get isCut(): boolean {
    return this.#isCut;
  }

  kept(): CommitRequest[] {
    return [...this.#waiting.values()].map(({ request }) => request);
  }
}

function byTurn({ request: a }: Waiting, { request: b }: Waiting): number {
  if (a.readySince !== b.readySince) return a.readySince < b.readySince ? -1 : 1;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : a.uuid < b.uuid ? -1 : 1;
}
