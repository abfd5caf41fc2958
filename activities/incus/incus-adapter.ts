import type { Duplex } from 'node:stream';
import { Agent, request as undiciRequest, type Dispatcher } from 'undici';
import { causeOf } from '../kubernetes/classify.ts';
import { httpCall, inClientSpan } from '../tracing/client-span-adapter.ts';
import { isCertificateError } from '../vsphere/tls.ts';
import type { Target, TargetEndpoint } from './port.ts';
import { targetOver } from './target.ts';
import { TargetError } from './target-error.ts';
import type { IncusAnswer, IncusRequest, IncusTransport } from './transport.ts';
import { checkPolicy, connectMs, connectorFor } from './undici-connector-adapter.ts';

export interface TargetOptions {
  /** Consent of the worker to endpoints with tls mode `insecure`. */
  readonly allowInsecureTls: boolean;
}

const limits = {
  /** Shorter than the idle time-outs in front of servers. */
  idleSocketMs: 20_000,
  /** Waits for operations hold one connection each. */
  connections: 32,
  /** Lists of thousands of instances with their configuration. */
  bodyBytes: 64 * 1024 * 1024,
} as const;

/** Connects to a target; nothing is sent before the first call. Fails with `TargetError` where the connection would be unsafe. */
export function createTarget(endpoint: TargetEndpoint, options: TargetOptions): Target {
  checkPolicy(endpoint, options.allowInsecureTls);
  return targetOver(endpoint, undiciTransport(endpoint));
}

/** The way to a target; nothing is sent before the first request. */
export function undiciTransport(endpoint: TargetEndpoint): IncusTransport {
  const origin = new URL(endpoint.url).origin;
  let agent: Promise<Agent> | undefined;

  async function open(): Promise<Agent> {
    return new Agent({
      connect: await connectorFor(endpoint),
      connections: limits.connections,
      keepAliveTimeout: limits.idleSocketMs,
      allowH2: false,
    });
  }

  /** The agent, once for all; again when a CA file could not be read. */
  function dispatcher(): Promise<Agent> {
    agent ??= open().catch((error: unknown) => {
      agent = undefined;
      throw error;
    });
    return agent;
  }

  async function attempt<T>(
    request: Pick<IncusRequest, 'call' | 'timeoutMs'>,
    work: (agent: Agent, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    request.call.check();
    const deadline = AbortSignal.timeout(request.timeoutMs);
    const opened = await dispatcher();
    try {
      return await work(opened, AbortSignal.any([request.call.signal, deadline]));
    } catch (error) {
      request.call.check();
      throw toTransportError(error, request, endpoint, deadline.aborted);
    }
  }

  return {
    send: (request) =>
      inClientSpan(
        httpCall(request.method, origin, request.path),
        () => attempt(request, (opened, signal) => exchange(origin, request, opened, signal)),
        ({ status }) => status,
      ),
    upgrade: (request, protocol) =>
      attempt(request, (opened, signal) => upgrade(origin, request, protocol, opened, signal)),
    async close() {
      const opened = agent;
      agent = undefined;
      await (await opened?.catch(() => undefined))?.close();
    },
  };
}

async function exchange(
  origin: string,
  request: IncusRequest,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<IncusAnswer> {
  const { statusCode, headers, body } = await undiciRequest(origin + request.path, {
    method: request.method,
    headers: { 'user-agent': 'vmflow', ...request.headers },
    ...(request.body === undefined ? {} : { body: request.body }),
    dispatcher,
    signal,
    headersTimeout: 0, // the signal is the deadline
    bodyTimeout: 0,
  });
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limits.bodyBytes)
      throw request.call.failure('PROTOCOL', `the answer has more than ${limits.bodyBytes} bytes.`);
  }
  return { status: statusCode, headers: joined(headers), body: Buffer.concat(chunks) };
}

/** undici's own `upgrade` hides the answer of a server that refuses, and with it the reason. */
async function upgrade(
  origin: string,
  { path, headers }: Pick<IncusRequest, 'path' | 'headers'>,
  protocol: string,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<Duplex | IncusAnswer> {
  const handler = new UpgradeHandler(signal);
  dispatcher.dispatch(
    { origin, path, method: 'GET', headers: { 'user-agent': 'vmflow', ...headers }, upgrade: protocol },
    handler,
  );
  return await handler.outcome;
}

/** Takes either the socket of a switched protocol or the whole answer of a server that doesn't switch. */
class UpgradeHandler implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<Duplex | IncusAnswer>;
  readonly #signal: AbortSignal;
  readonly #stop = (): void => {
    const reason = this.#signal.reason as Error;
    this.#controller?.abort(reason);
    this.onResponseError(undefined, reason);
  };
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #refusal: Omit<IncusAnswer, 'body'> | undefined;
  #end: { resolve: (outcome: Duplex | IncusAnswer) => void; reject: (error: Error) => void } | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.outcome = new Promise((resolve, reject) => {
      this.#end = { resolve, reject };
    });
    signal.addEventListener('abort', this.#stop, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It may have waited for a connection for longer than the caller did.
    if (this.#signal.aborted) controller.abort(this.#signal.reason as Error);
  }

  onRequestUpgrade(_controller: unknown, _status: number, _headers: unknown, socket: Duplex): void {
    this.#finish();
    this.#end?.resolve(socket);
  }

  onResponseStart(_controller: unknown, status: number, headers: Parameters<typeof joined>[0]): void {
    this.#refusal = { status, headers: joined(headers) };
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#finish();
    if (this.#refusal !== undefined) this.#end?.resolve({ ...this.#refusal, body: Buffer.concat(this.#chunks) });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#finish();
    this.#end?.reject(error);
  }

  #finish(): void {
    this.#signal.removeEventListener('abort', this.#stop);
  }
}

function joined(headers: Readonly<Record<string, string | string[] | undefined>>): IncusAnswer['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

function toTransportError(
  error: unknown,
  { call, timeoutMs }: Pick<IncusRequest, 'call' | 'timeoutMs'>,
  { url }: TargetEndpoint,
  expired: boolean,
): TargetError {
  if (error instanceof TargetError) return error;
  const { host } = new URL(url);
  if (expired || isConnectTimeout(error))
    return call.failure('TIMEOUT', `${host} did not answer within ${expired ? timeoutMs : connectMs} ms.`, {
      cause: error,
    });
  if (isCertificateError(error))
    return call.failure(
      'CERTIFICATE',
      `the certificate of ${host} could not be verified: ${causeOf(error)}. Nothing was sent.`,
      { next: 'give the CA of the target or its thumbprint in vmflow.yaml', cause: error },
    );
  return call.failure('UNREACHABLE', `the connection to ${host} failed: ${causeOf(error)}.`, { cause: error });
}

function isConnectTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT';
}
