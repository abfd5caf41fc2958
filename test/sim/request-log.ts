import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isMutating, type WireName } from './wire-names.ts';

/** One request as it came in from the client. */
export interface RecordedRequest extends WireName {
  readonly verb: string;
  /** Without the query. */
  readonly path: string;
  /** Without cookies and credentials. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** Short hash of the session cookie (SOAP) or session header (REST) that was sent; undefined without one. */
  readonly session?: string;
  /** Text of a SOAP or REST request; empty for logins and uploads. */
  readonly body: string;
  /** Wall clock in milliseconds. */
  readonly at: number;
  /** Monotonic clock (`performance.now()`) in milliseconds. */
  readonly startedMs: number;
  /** What is known when it is over; undefined while it runs. */
  readonly end?: RequestEnd;
  /** Bytes of the body that came in so far. */
  readonly bytes: number;
}

export interface RequestEnd {
  readonly endedMs: number;
  /** HTTP status that the client was sent; undefined if it got none. */
  readonly status?: number;
}

export interface OpenRequest extends RecordedRequest {
  bytes: number;
  end?: RequestEnd;
}

/** Everything that passed the proxy, in order of arrival. */
export class RequestLog {
  #requests: OpenRequest[] = [];

  open(name: WireName, verb: string, url: string, headers: IncomingHttpHeaders, body: string): OpenRequest {
    const session = sessionOf(headers);
    const request: OpenRequest = {
      ...name,
      verb,
      path: url.split('?')[0] ?? url,
      headers: withoutSecrets(headers),
      ...(session === undefined ? {} : { session }),
      body: /^(Login\w*|REST session .*)$/.test(name.method) ? '' : body,
      at: Date.now(),
      startedMs: performance.now(),
      bytes: Buffer.byteLength(body),
    };
    this.#requests.push(request);
    return request;
  }

  close(request: OpenRequest, status?: number): void {
    request.end ??= { endedMs: performance.now(), ...(status === undefined ? {} : { status }) };
  }

  all(): readonly RecordedRequest[] {
    return [...this.#requests];
  }

  mutating(): readonly RecordedRequest[] {
    return this.#requests.filter(isMutating);
  }

  clear(): void {
    this.#requests = [];
  }
}

function sessionOf(headers: IncomingHttpHeaders): string | undefined {
  const cookie = /(?:^|;\s*)vmware_soap_session="?([^;"]*)/.exec(headers.cookie ?? '')?.[1];
  const value = cookie ?? headers['vmware-api-session-id'];
  return typeof value === 'string' && value !== ''
    ? createHash('sha256').update(value).digest('hex').slice(0, 12)
    : undefined;
}

function withoutSecrets(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const kept = Object.entries(headers).filter(
    ([name]) => !['cookie', 'authorization', 'vmware-api-session-id'].includes(name),
  );
  return Object.fromEntries(kept);
}
