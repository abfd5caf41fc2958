import http from 'node:http';
import https from 'node:https';

import { reasonOf } from './deadline.ts';
import { VSphereError } from './faults.ts';
import { isCertificateError } from './tls.ts';

export interface StreamRequest {
  readonly method: 'GET' | 'HEAD';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: http.Agent;
  readonly signal?: AbortSignal | undefined;
  /** Nothing heard for this long: `TIMEOUT`. */
  readonly stallMs: number;
  /** What is asked for, in errors; never the URL, which may be a capability. */
  readonly what: string;
}

export interface StreamAnswer {
  readonly status: number;
  /** Announced length of the body; undefined: not announced. */
  readonly length: number | undefined;
  /** The body as it comes. Ends early only with an error; leaving it early closes the connection. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives the connection up without reading the body. */
  dispose(): void;
}

/**
 * One request whose answer is read as it comes. Rejects, also while the body is read, with the caller's own reason when aborted,
 * else with `VSphereError`: `TRANSPORT`, `TIMEOUT`, `TLS_CA`, `TLS_THUMBPRINT`.
 */
export async function openStream(request: StreamRequest): Promise<StreamAnswer> {
  request.signal?.throwIfAborted();
  const state = { connected: false };
  try {
    const response = await answerOf(request, state);
    const length = response.headers['content-length'];
    return {
      status: response.statusCode ?? 0,
      length: length === undefined ? undefined : Number(length),
      body: bodyOf(response, request),
      dispose: () => response.destroy(),
    };
  } catch (error) {
    throw toStreamError(error, request, state.connected);
  }
}

/** Whether a failed request never reached the server. */
export const neverConnected = (error: unknown): boolean =>
  error instanceof VSphereError && error.code === 'TRANSPORT' && !error.outcomeUnknown;

function answerOf(request: StreamRequest, state: { connected: boolean }): Promise<http.IncomingMessage> {
  const { url, method, headers, agent, signal, stallMs } = request;
  return new Promise((resolve, reject) => {
    const outgoing = (url.protocol === 'http:' ? http : https).request(url, {
      method,
      headers: { 'User-Agent': 'vmflow', ...headers },
      agent,
      signal,
    });
    const timer = setTimeout(() => outgoing.destroy(stalled(request)), stallMs);
    outgoing.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', () => (state.connected = true));
      else state.connected = true;
    });
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing.on('response', (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    outgoing.end();
  });
}

async function* bodyOf(response: http.IncomingMessage, request: StreamRequest): AsyncGenerator<Uint8Array, void> {
  const source = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const timer = setTimeout(() => response.destroy(stalled(request)), request.stallMs);
      const next = await source.next().finally(() => clearTimeout(timer));
      if (next.done === true) return;
      yield next.value;
    }
  } catch (error) {
    throw toStreamError(error, request, true);
  } finally {
    response.destroy();
  }
}

function stalled({ what, url, stallMs }: StreamRequest): VSphereError {
  const message = `${what}: ${url.host} sent nothing for ${stallMs} ms.`;
  return new VSphereError('TIMEOUT', message, { kind: 'http', method: what, message });
}

function toStreamError(error: unknown, { what, url, signal }: StreamRequest, connected: boolean): Error {
  if (signal?.aborted === true) return reasonOf(signal);
  if (error instanceof VSphereError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (isCertificateError(error)) {
    const message = `${what}: the certificate of ${url.host} could not be verified: ${reason}.`;
    return new VSphereError('TLS_CA', message, { kind: 'transport', method: what, message }, { cause: error });
  }
  const message = `${what}: the connection to ${url.host} broke: ${reason}.`;
  const info = { kind: 'transport', method: what, message } as const;
  return new VSphereError('TRANSPORT', message, info, { cause: error, outcomeUnknown: connected });
}
