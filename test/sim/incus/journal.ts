import { hasAll } from './faults.ts';

/** What happened, in its order. `at` is wall clock, `ms` the monotonic clock (`performance.now()`), both milliseconds. */
interface Happening {
  readonly seq: number;
  readonly at: number;
  readonly ms: number;
}

export interface RequestEntry extends Happening {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: it got no answer (yet). */
  readonly status?: number;
}

export type EventKind =
  | 'instance-created'
  | 'instance-updated'
  | 'instance-started'
  | 'instance-stopped'
  | 'instance-deleted'
  | 'volume-created'
  | 'volume-deleted'
  | 'nbd-opened'
  | 'nbd-closed';

export interface EventEntry extends Happening {
  readonly event: EventKind;
  readonly project: string;
  /** Of the instance or the volume. */
  readonly name: string;
}

/** Records requests and changes of state with one common count. */
export class Journal {
  #seq = 0;
  #requests: (RequestEntry & { status?: number })[] = [];
  #events: EventEntry[] = [];

  openRequest(entry: Omit<RequestEntry, keyof Happening | 'status'>): { status?: number } {
    const request: RequestEntry & { status?: number } = { ...this.#now(), ...entry };
    this.#requests.push(request);
    return request;
  }

  note(event: EventKind, { project, name }: { readonly project: string; readonly name: string }): void {
    this.#events.push({ ...this.#now(), event, project, name });
  }

  /** Requests of this method whose path and query match. */
  requests(method = '', path = /^/, query: RequestEntry['query'] = {}): readonly RequestEntry[] {
    return this.#requests.filter(
      (entry) => (method === '' || entry.method === method) && path.test(entry.path) && hasAll(entry.query, query),
    );
  }

  /** All that wanted to change something. */
  changes(): readonly RequestEntry[] {
    return this.#requests.filter(({ method }) => method !== 'GET');
  }

  events(event?: EventKind, name?: string): readonly EventEntry[] {
    return this.#events.filter(
      (entry) => (event === undefined || entry.event === event) && (name === undefined || entry.name === name),
    );
  }

  clear(): void {
    this.#requests = [];
    this.#events = [];
  }

  #now(): Happening {
    return { seq: ++this.#seq, at: Date.now(), ms: performance.now() };
  }
}
