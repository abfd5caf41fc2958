import type { Duplex } from 'node:stream';
import { z } from 'zod';
import type { Call } from './call.ts';
import { isAbsent, jsonOf, toTargetError } from './classify.ts';
import { TargetError } from './target-error.ts';
import type { IncusAnswer, IncusRequest, IncusTransport } from './transport.ts';

/** One request that isn't a wait: a server that is silent for longer is asked again. */
const requestMs = 30_000;

/** How often a GET whose connection was lost is sent again. */
const readAgain = 2;

export interface Read<T> {
  readonly value: T;
  readonly etag: string | undefined;
}

export interface Change {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** The change is refused (`ETAG`) when the object isn't this one any more. */
  readonly etag?: string | undefined;
}

const sync = z.object({ type: z.literal('sync'), metadata: z.unknown() });
const async = z.object({ type: z.literal('async'), metadata: z.object({ id: z.string().min(1) }) });

/** Path below `/1.0` of an API of Incus. */
export function pathOf(parts: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const path = ['', '1.0', ...parts.map(encodeURIComponent)].join('/');
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

/** Requests and answers of the API in its own terms: objects with ETags, changes that may go on as operations. */
export class IncusClient {
  readonly #transport: IncusTransport;

  constructor(transport: IncusTransport) {
    this.#transport = transport;
  }

  /** Undefined: the server says that there is no such object. */
  async read<T>(schema: z.ZodType<T>, path: string, call: Call, timeoutMs = requestMs): Promise<Read<T> | undefined> {
    const answer = await this.#get(path, call, timeoutMs);
    if (isAbsent(answer)) return undefined;
    if (answer.status !== 200) throw await this.#refusal(answer, call, false);
    const envelope = sync.safeParse(jsonOf(answer));
    const parsed = schema.safeParse(envelope.data?.metadata);
    if (parsed.success) return { value: parsed.data, etag: answer.headers['etag'] };
    throw call.failure('PROTOCOL', `GET ${bare(path)} was answered in a form that is not known.`, {
      status: answer.status,
      cause: envelope.error ?? parsed.error,
    });
  }

  /** Like `read`, where the object must be there. */
  async readExisting<T>(schema: z.ZodType<T>, path: string, call: Call): Promise<Read<T>> {
    const found = await this.read(schema, path, call);
    if (found === undefined)
      throw call.failure('NOT_FOUND', `the target has no ${bare(path)} (HTTP 404).`, { status: 404 });
    return found;
  }

  /** Answers the id of the operation in which the change goes on; undefined: it is made. */
  async change({ method, path, body, etag }: Change, call: Call): Promise<string | undefined> {
    const answer = await this.#transport.send({
      method,
      path,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(etag === undefined ? {} : { 'if-match': etag }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      call,
      timeoutMs: requestMs,
    });
    const json = jsonOf(answer);
    const begun = async.safeParse(json);
    if (answer.status === 202 && begun.success) return begun.data.metadata.id;
    if ([200, 201].includes(answer.status) && sync.safeParse(json).success) return undefined;
    throw await this.#refusal(answer, call, true);
  }

  async upgrade(path: string, protocol: string, call: Call): Promise<Duplex> {
    const opened = await this.#transport.upgrade({ path, headers: {}, call, timeoutMs: requestMs }, protocol);
    if ('status' in opened) throw await this.#refusal(opened, call, false);
    return opened;
  }

  /** Whether we are trusted, with what the server can do. */
  async server(call: Call): Promise<ServerInfo> {
    const { value } = await this.readExisting(serverInfo, pathOf([]), call);
    if (value.auth === 'trusted') return value;
    throw untrusted(call);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Reading twice does no harm: a connection that broke is no reason to fail. */
  async #get(path: string, call: Call, timeoutMs: number): Promise<IncusAnswer> {
    const request: IncusRequest = { method: 'GET', path, headers: {}, call, timeoutMs };
    for (let again = readAgain; ; again--) {
      try {
        return await this.#transport.send(request);
      } catch (error) {
        if (!(error instanceof TargetError) || error.code !== 'UNREACHABLE' || again === 0) throw error;
      }
    }
  }

  /** An untrusted client gets the same 403 as one without the right. */
  async #refusal(answer: IncusAnswer, call: Call, isChange: boolean): Promise<TargetError> {
    const error = toTargetError(answer, call, isChange);
    if (error.code !== 'FORBIDDEN') return error;
    const info = await this.#get(pathOf([]), call, requestMs).catch(() => undefined);
    const auth = info === undefined ? undefined : serverInfo.safeParse(sync.safeParse(jsonOf(info)).data?.metadata);
    return auth?.data?.auth === 'untrusted' ? untrusted(call) : error;
  }
}

const serverInfo = z.object({
  auth: z.string(),
  api_extensions: z.array(z.string()).default([]),
  environment: z.object({ server_version: z.string().default('') }).default({ server_version: '' }),
});

export type ServerInfo = z.infer<typeof serverInfo>;

function untrusted(call: Call): TargetError {
  return call.failure('UNTRUSTED', 'the server does not trust our client certificate, so nothing was changed.');
}

const bare = (path: string): string => path.split('?')[0] ?? path;
