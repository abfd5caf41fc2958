import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { beginCall } from '../../../../activities/incus/call.ts';
import type { Target, TargetEndpoint } from '../../../../activities/incus/port.ts';
import { targetOver } from '../../../../activities/incus/target.ts';
import type { IncusAnswer, IncusRequest, IncusTransport } from '../../../../activities/incus/transport.ts';

/** A server that is to behave as every Incus server does, with the pools `default` and `fast` and the bridge `incusbr0`. */
export interface ContractServer {
  endpoint(more?: Partial<TargetEndpoint>): TargetEndpoint;
  /** The way to it on which it makes virtual machines, or what stands for them there. */
  transport(endpoint: TargetEndpoint): IncusTransport;
  /** A project with volumes of its own and the networks of `default`. */
  addProject(name: string): Promise<void>;
  /** Away with all instances, volumes and further projects. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

export interface RawRequest {
  readonly body?: unknown;
  readonly etag?: string;
}

/** What is told of an object; each test knows which of these its object has. */
export interface Told {
  readonly id: string;
  readonly status: string;
  readonly status_code: number;
  readonly err: string;
  readonly resources: Readonly<Record<string, readonly string[]>>;
  readonly config: Readonly<Record<string, string>>;
  readonly type: string;
  readonly content_type: string;
  readonly description: string;
  readonly profiles: readonly string[];
  readonly used_by: readonly string[] | null;
}

export interface RawAnswer {
  readonly status: number;
  readonly etag: string | undefined;
  readonly type: string;
  readonly statusCode: number;
  readonly error: string;
  readonly errorCode: number;
  readonly told: Told;
  /** Where it is a list. */
  readonly list: readonly unknown[];
}

type Method = IncusRequest['method'];
type Wrap = (transport: IncusTransport) => IncusTransport;

export interface ContractRig {
  readonly server: ContractServer;
  readonly target: Target;
  /** Another client, whose way to the server may be a bad one. */
  connect(more?: Partial<TargetEndpoint>, wrap?: Wrap): Target;
  /** A request below the adapter. */
  raw(method: Method, path: string, request?: RawRequest): Promise<RawAnswer>;
  /** Such a request that goes on as an operation; answers how that ended. */
  operation(
    method: Method,
    path: string,
    request?: RawRequest,
  ): Promise<{ readonly code: number; readonly err: string; readonly id: string }>;
}

/** One server for all tests of a file, emptied before each. */
export function useServer(start: () => Promise<ContractServer>): ContractRig {
  let server: ContractServer | undefined;
  let target: Target | undefined;
  let open: { close(): Promise<void> }[] = [];
  before(async () => void (server = await start()));
  const closeAll = async (): Promise<void> => {
    await Promise.all(open.map((one) => one.close()));
    open = [];
    target = undefined;
  };
  beforeEach(async () => {
    await closeAll();
    await server?.reset();
  });
  after(async () => {
    await closeAll();
    await server?.stop();
  });
  const rig: ContractRig = {
    get server() {
      assert.ok(server);
      return server;
    },
    get target() {
      return (target ??= rig.connect());
    },
    connect(more = {}, wrap = (transport) => transport) {
      const endpoint = rig.server.endpoint(more);
      const opened = targetOver(endpoint, wrap(rig.server.transport(endpoint)));
      open.push(opened);
      return opened;
    },
    async raw(method, path, { body, etag } = {}) {
      const endpoint = rig.server.endpoint();
      const transport = rig.server.transport(endpoint);
      open.push(transport);
      const answer = await transport.send({
        method,
        path,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(etag === undefined ? {} : { 'if-match': etag }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        call: beginCall(endpoint, `${method} ${path}`),
        timeoutMs: 30_000,
      });
      return toRawAnswer(answer);
    },
    async operation(method, path, request) {
      const begun = await rig.raw(method, path, request);
      assert.equal(begun.status, 202, begun.error);
      const { id } = begun.told;
      const { told } = await rig.raw('GET', `/1.0/operations/${id}/wait?timeout=20`);
      return { code: told.status_code, err: told.err, id };
    },
  };
  return rig;
}

interface Envelope {
  readonly type: string;
  readonly status_code: number;
  readonly error: string;
  readonly error_code: number;
  readonly metadata: unknown;
}

function toRawAnswer({ status, headers, body }: IncusAnswer): RawAnswer {
  const { type, status_code, error, error_code, metadata } = JSON.parse(body.toString('utf8')) as Envelope;
  return {
    status,
    etag: headers['etag'],
    type,
    statusCode: status_code,
    error,
    errorCode: error_code,
    told: metadata as Told,
    list: Array.isArray(metadata) ? metadata : [],
  };
}

/** Sends every request, and loses the answer to this one of those that change something (from 0). */
export const losingAnswer =
  (index: number): Wrap =>
  (transport) => {
    let changes = 0;
    return {
      ...transport,
      async send(request): Promise<IncusAnswer> {
        const answer = await transport.send(request);
        if (request.method === 'GET' || changes++ !== index) return answer;
        throw request.call.failure('UNREACHABLE', 'the connection was lost by the test.');
      },
    };
  };

/** Does something just before the first request that matches. */
export const firstDoing =
  (method: Method, path: RegExp, what: () => Promise<unknown>): Wrap =>
  (transport) => {
    let isDone = false;
    return {
      ...transport,
      async send(request): Promise<IncusAnswer> {
        if (!isDone && request.method === method && path.test(request.path)) {
          isDone = true;
          await what();
        }
        return transport.send(request);
      },
    };
  };
