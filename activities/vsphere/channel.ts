import type { Method } from './vim25/table.ts';

/** One SOAP call, without any notion of a session. */
export interface ChannelCall {
  readonly method: Method;
  /** Plain arguments, see `encodeArgs`. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The whole body element, sent as it is instead of `args`. */
  readonly rawXml?: string;
  readonly cookie: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
}

export interface ChannelAnswer {
  /** The `returnval`, typed by the table; undefined for nil. */
  readonly value: unknown;
  /** The answer as received. */
  readonly body: string;
  /** The session cookie that came with this answer, as `name=value`. */
  readonly cookie: string | undefined;
}

/** Sends SOAP calls to one server. Rejects with `VimFault` or `VSphereError`; never tries twice. */
export interface Channel {
  call(call: ChannelCall): Promise<ChannelAnswer>;
  /** The API version spoken from now on (`SOAPAction`). */
  speak(apiVersion: string): void;
  /** Closes idle connections. */
  close(): void;
}
