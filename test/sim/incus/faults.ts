/** What goes wrong with a request. */
export type Effect =
  /** Answered so without doing anything, or after it was done. `error` is the text of the server. */
  | { readonly kind: 'status'; readonly status: number; readonly error?: string; readonly isDone?: boolean }
  /** A page that isn't of the server, as proxies send them. Nothing is done, or it is all the same. */
  | { readonly kind: 'page'; readonly status: number; readonly isDone?: boolean }
  /** Done late. */
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'hold'; readonly until: Promise<unknown> }
  /** Done, answered late. */
  | { readonly kind: 'hold-answer'; readonly until: Promise<unknown> }
  /** The connection breaks before anything was done, or after it was done (or begun). */
  | { readonly kind: 'drop'; readonly when: 'before' | 'after' }
  /** The operation that it begins ends so, and its effects are undone. */
  | { readonly kind: 'fail-operation'; readonly error: string }
  /** The operation that it begins ends well, and nothing comes of it. */
  | { readonly kind: 'no-effect' }
  | { readonly kind: 'slow-operation'; readonly ms: number }
  | { readonly kind: 'hold-operation'; readonly until: Promise<unknown> }
  /** Somebody else changes the object just before. */
  | { readonly kind: 'etag-race' }
  /** The NBD connection breaks when the client has sent so many bytes. */
  | { readonly kind: 'nbd-cut'; readonly afterBytes: number }
  /** Every write over NBD from this one on (0 = the first) fails; 28 = no space. */
  | { readonly kind: 'nbd-error'; readonly errno: number; readonly fromWrite?: number }
  /** Every write of data over NBD is kept with one bit flipped. */
  | { readonly kind: 'nbd-flip' };

type Query = Readonly<Record<string, string>>;

export interface Fault {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Of the path without the query. */
  readonly path: RegExp;
  /** Only where the query has all of this. */
  readonly query?: Query;
  /** Only where the body names this: what is created. */
  readonly name?: string;
  readonly effect: Effect;
  /** How many requests it hits; default 1. */
  readonly times?: number;
  /** How many matching requests pass before. */
  readonly skip?: number;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: Query;
  readonly body?: unknown;
}

/** Whether a query has all that is wanted of it. */
export function hasAll(query: Query, wanted: Query = {}): boolean {
  return Object.entries(wanted).every(([key, value]) => query[key] === value);
}

interface Armed {
  readonly fault: Fault;
  skip: number;
  times: number;
}

/** Faults by route. Of several that match, the first one that was added hits. */
export class Faults {
  #armed: Armed[] = [];

  add(fault: Fault): void {
    this.#armed.push({ fault, skip: fault.skip ?? 0, times: fault.times ?? 1 });
  }

  clear(): void {
    this.#armed = [];
  }

  /** Faults that haven't hit as often as they should: a test of nothing. */
  unused(): readonly Fault[] {
    return this.#armed.filter(({ times }) => times > 0 && times !== Infinity).map(({ fault }) => fault);
  }

  take({ method, path, query, body }: Asked): Effect | undefined {
    for (const armed of this.#armed) {
      const { fault } = armed;
      if (armed.times === 0 || (fault.method ?? method) !== method || !fault.path.test(path)) continue;
      if (!hasAll(query, fault.query)) continue;
      if (fault.name !== undefined && fault.name !== (body as { name?: string } | undefined)?.name) continue;
      if (armed.skip > 0) armed.skip--;
      else {
        armed.times--;
        return fault.effect;
      }
    }
    return undefined;
  }
}
