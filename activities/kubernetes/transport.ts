/** One request to the API server. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query, e.g. `/api/v1/namespaces/shop/events?dryRun=All`. */
  readonly path: string;
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
}

/** Whatever the API server answered. */
export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  /** Seconds, from the header of that name. */
  readonly retryAfterS?: number;
}

export interface WatchEvent {
  readonly type: string;
  /** The object, or the Status of an `ERROR`. */
  readonly object: unknown;
}

/** The way to one API server: its address, who we are, TLS, deadlines. Knows nothing of resources. */
export interface Transport {
  /** Fails when there was no answer within the deadline. */
  send(request: ApiRequest): Promise<ApiAnswer>;
  /**
   * Reads a watch until the server ends it. Fails when the server refuses it (`status` of the error), when the connection is lost,
   * when nothing at all has come for longer than a living server stays silent, or when the signal says so.
   */
  watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The API server's refusal of a watch. */
export class WatchRefused extends Error {
  override readonly name = 'WatchRefused';
  readonly status: number;

  constructor(status: number) {
    super(`The API server refused the watch (${status}).`);
    this.status = status;
  }
}
