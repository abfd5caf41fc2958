import type { Duplex } from 'node:stream';
import type { Call } from './call.ts';

export interface IncusRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly call: Call;
  /** Budget of this request alone, milliseconds. */
  readonly timeoutMs: number;
}

/** Whatever came back. Names of headers are in lower case. */
export interface IncusAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/**
 * The way to one target: TLS, deadlines, connections. Knows nothing of instances. Fails with `TargetError` (`UNREACHABLE`,
 * `TIMEOUT`, `CERTIFICATE`, `PROTOCOL` for a body that never ends) or with what `Call.check` throws.
 */
export interface IncusTransport {
  send(request: IncusRequest): Promise<IncusAnswer>;
  /** Turns a connection into one of another protocol; the answer where the server doesn't. */
  upgrade(request: Omit<IncusRequest, 'method' | 'body'>, protocol: string): Promise<Duplex | IncusAnswer>;
  close(): Promise<void>;
}
