import { readFile } from 'node:fs/promises';
import type { TLSSocket } from 'node:tls';
import { Agent, buildConnector, request as undiciRequest, type Dispatcher } from 'undici';
import { causeOf } from '../kubernetes/classify.ts';
import { isCertificateError, trustOf, type Trust } from '../vsphere/tls.ts';
import { httpCall, inClientSpan } from '../tracing/client-span-adapter.ts';
import { RegistryError, type Registry, type RegistryEndpoint } from './port.ts';
import { registryOver } from './registry.ts';
import type { RegistryAnswer, RegistryRequest, RegistryTransport } from './transport.ts';

export interface RegistryOptions {
  /** Consent of the worker to endpoints with tls mode `insecure`. */
  readonly allowInsecureTls: boolean;
}

const limits = {
  /** A firewall that drops packets must not eat the time of the whole request. */
  connectMs: 5_000,
  /** Shorter than the idle time-outs in front of registries. */
  idleSocketMs: 20_000,
  /** Requests are short: a few connections carry many. */
  connections: 8,
  /** No registry takes a larger manifest. */
  bodyBytes: 4 * 1024 * 1024,
} as const;

/** Connects to a registry; nothing is sent before the first call. Fails with `RegistryError` where the connection would be unsafe. */
export function createRegistry(endpoint: RegistryEndpoint, options: RegistryOptions): Registry {
  checkPolicy(endpoint, options.allowInsecureTls);
  return registryOver(endpoint, undiciTransport(endpoint));
}

/** Refuses connections that would be readable or forgeable without somebody's explicit consent. */
function checkPolicy({ name, url, tls, allowPlainHttp }: RegistryEndpoint, allowInsecureTls: boolean): void {
  if (url.startsWith('http:') && !allowPlainHttp)
    throw new RegistryError('Untrusted', `The registry ${name} has a plain-http address: use https.`);
  if (tls.mode === 'insecure' && !allowInsecureTls)
    throw new RegistryError(
      'Untrusted',
      `The registry ${name} asks for tls.mode insecure, which this worker does not allow. Use ca or thumbprint.`,
    );
}

function undiciTransport(endpoint: RegistryEndpoint): RegistryTransport {
  const { origin } = new URL(endpoint.url);
  const agents = new Map<string, Promise<Agent>>();

  /** A pin is that of the registry: the certificate of a token service elsewhere is proven by its authority. */
  async function open(isOwn: boolean): Promise<Agent> {
    const policy = endpoint.tls.mode === 'thumbprint' && !isOwn ? ({ mode: 'ca' } as const) : endpoint.tls;
    const trust = await trustOf(policy, (path) => readCa(path, endpoint.name));
    return new Agent({
      connect: connectorFor(trust, endpoint.name),
      connections: limits.connections,
      keepAliveTimeout: limits.idleSocketMs,
      allowH2: false,
    });
  }

  function agentFor(target: string): Promise<Agent> {
    const known = agents.get(target);
    if (known !== undefined) return known;
    const agent = open(target === origin);
    agents.set(target, agent);
    agent.catch(() => agents.delete(target)); // the file may be readable the next time
    return agent;
  }

  return {
    async send(request) {
      const deadline = AbortSignal.timeout(endpoint.requestTimeoutMs);
      const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
      request.signal?.throwIfAborted();
      const dispatcher = await agentFor(request.url.origin);
      try {
        return await inClientSpan(
          httpCall(request.method, request.url, request.url.pathname),
          () => exchange(request, dispatcher, signal),
          ({ status }) => status,
        );
      } catch (error) {
        request.signal?.throwIfAborted();
        throw toTransportError(error, request.url, endpoint, deadline.aborted);
      }
    },
    async close() {
      const opened = [...agents.values()];
      agents.clear();
      await Promise.allSettled(opened.map(async (agent) => (await agent).close()));
    },
  };
}

async function exchange(
  request: RegistryRequest,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<RegistryAnswer> {
  const { statusCode, headers, body } = await undiciRequest(request.url, {
    method: request.method,
    headers: { 'user-agent': 'vmflow', 'accept-encoding': 'identity', ...request.headers },
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
      throw new RegistryError(
        'Unexpected',
        `${request.url.host} answered with more than ${limits.bodyBytes} bytes, which is no manifest.`,
        { status: statusCode },
      );
  }
  const joined = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return {
    status: statusCode,
    headers: Object.fromEntries(joined) as RegistryAnswer['headers'],
    body: Buffer.concat(chunks),
  };
}

function toTransportError(error: unknown, url: URL, endpoint: RegistryEndpoint, expired: boolean): RegistryError {
  if (error instanceof RegistryError) return error;
  const who = `${url.host} (registry ${endpoint.name})`;
  if (expired || isConnectTimeout(error)) {
    const ms = expired ? endpoint.requestTimeoutMs : limits.connectMs;
    return new RegistryError('Timeout', `${who} did not answer within ${ms} ms.`, { cause: error });
  }
  if (isCertificateError(error))
    return new RegistryError(
      'Untrusted',
      `The certificate of ${who} could not be verified: ${causeOf(error)}. Give its CA or its thumbprint in the configuration.`,
      { cause: error },
    );
  return new RegistryError('Unavailable', `The connection to ${who} failed: ${causeOf(error)}.`, { cause: error });
}

function isConnectTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT';
}

async function readCa(path: string, name: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new RegistryError('Untrusted', `The CA file ${path} of the registry ${name} can't be read on this worker.`, {
      cause,
    });
  });
}

/** Hands a connection over only when the certificate is proven, so that not one byte of a request reaches a wrong server. */
function connectorFor(trust: Trust, name: string): buildConnector.connector {
  const connect = buildConnector({
    timeout: limits.connectMs,
    maxCachedSessions: 0, // on a resumed session the certificate may be missing
    allowH2: false,
    rejectUnauthorized: trust.kind === 'ca',
    ...(trust.kind === 'ca' && trust.ca !== undefined ? { ca: trust.ca } : {}),
  });
  if (trust.kind !== 'pin') return connect;
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      const isPlain = options.protocol === 'http:';
      const problem = error ?? (isPlain ? undefined : pinProblem(socket as TLSSocket, trust, name));
      if (problem === undefined && socket !== null) callback(null, socket);
      else {
        socket?.destroy();
        callback(problem ?? new Error('no connection'), null);
      }
    });
}

const plain = (fingerprint: string): string => fingerprint.replaceAll(':', '').trim().toUpperCase();

function pinProblem(socket: TLSSocket, pin: Trust & { kind: 'pin' }, name: string): RegistryError | undefined {
  const certificate = socket.getPeerCertificate();
  const found = pin.algorithm === 'sha256' ? certificate.fingerprint256 : certificate.fingerprint;
  if (typeof found === 'string' && plain(found) === plain(pin.fingerprint)) return undefined;
  return new RegistryError(
    'Untrusted',
    `The certificate of the registry ${name} has the ${pin.algorithm} thumbprint ${found}, expected was ${pin.fingerprint}. ` +
      'If the certificate was renewed, put the new thumbprint into the configuration.',
  );
}
