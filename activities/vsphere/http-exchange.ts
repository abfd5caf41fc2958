import http from 'node:http';
import https from 'node:https';

import type { FaultInfo } from '../../workflows/contracts/failures.ts';
import { deadline, reasonOf } from './deadline.ts';
import { VSphereError } from './faults.ts';
import { isCertificateError } from './tls.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly agent: http.Agent;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** What the call is called in errors, for example `FindChild`. */
  readonly what: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/**
 * One request and its whole answer. Rejects with the caller's own reason when aborted, else with `VSphereError`
 * (`TRANSPORT`, `TIMEOUT`, `TLS_CA`, `TLS_THUMBPRINT`); `outcomeUnknown` is false only if the connection never stood.
 */
export async function exchange(request: HttpRequest): Promise<HttpResponse> {
  request.signal?.throwIfAborted();
  const limit = deadline(request.timeoutMs, request.signal);
  const progress = { connected: false };
  try {
    return await send(request, limit.signal, progress);
  } catch (error) {
    if (request.signal?.aborted === true && !limit.expired()) throw reasonOf(request.signal);
    throw toTransportError(error, request, limit.expired(), progress.connected);
  } finally {
    limit.dispose();
  }
}

function send(request: HttpRequest, signal: AbortSignal, progress: { connected: boolean }): Promise<HttpResponse> {
  const { url, method, agent, body } = request;
  const headers = { ...request.headers, ...(body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }) };
  return new Promise((resolve, reject) => {
    const outgoing = (url.protocol === 'http:' ? http : https).request(url, { method, headers, agent, signal });
    outgoing.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', () => (progress.connected = true));
      else progress.connected = true;
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    outgoing.end(body);
  });
}

function toTransportError(error: unknown, request: HttpRequest, expired: boolean, connected: boolean): VSphereError {
  if (error instanceof VSphereError) return error;
  const { what, url } = request;
  const info = (message: string): FaultInfo => ({ kind: 'transport', method: what, message });
  const options = { cause: error, outcomeUnknown: connected };
  if (expired) {
    const message = `${what}: ${url.host} did not answer within ${request.timeoutMs} ms.`;
    return new VSphereError('TIMEOUT', message, info(message), options);
  }
  const reason = error instanceof Error ? error.message : String(error);
  if (isCertificateError(error)) {
    const message = `The certificate of ${url.host} could not be verified: ${reason}. Give its CA or its thumbprint in the configuration.`;
    return new VSphereError('TLS_CA', message, info(message), { cause: error });
  }
  const message = `${what}: the connection to ${url.host} failed: ${reason}.`;
  return new VSphereError('TRANSPORT', message, info(message), options);
}

const gatewayStatus = new Set([502, 503, 504]);

/** A gateway's answer in the server's stead: like a lost connection. */
export function isGatewayStatus(status: number): boolean {
  return gatewayStatus.has(status);
}

/** An HTTP status that is no answer of the API. */
export function httpError(what: string, host: string, status: number): VSphereError {
  const message = `${what}: ${host} answered with HTTP status ${status}.`;
  return new VSphereError(
    'HTTP',
    message,
    { kind: 'http', httpStatus: status, method: what, message },
    {
      outcomeUnknown: isGatewayStatus(status),
    },
  );
}
