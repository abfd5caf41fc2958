import type { Agent } from 'node:http';

import pLimit from 'p-limit';

import { httpCall, inClientSpan } from '../tracing/client-span-adapter.ts';
import { VSphereError } from './faults.ts';
import type { HttpResponse } from './http-exchange.ts';
import { exchange } from './http-exchange.ts';
import type { CallOptions, MoRef, Tag, VCenterEndpoint } from './port.ts';

const limits = {
  callMs: 60_000,
  logoutMs: 5_000,
  /** Every tag and category is one request. */
  parallel: 8,
  /** Objects in one question for tags; servers refuse more than 2000. */
  objects: 1000,
} as const;

/** The two shapes of the REST API: servers since 7.0 speak the plain one, older ones wrap answers into `value`. */
interface Dialect {
  readonly session: string;
  readonly tagging: string;
  readonly item: (urn: string) => string;
  readonly action: (name: string) => string;
  readonly unwrap: (body: unknown) => unknown;
}

const plain: Dialect = {
  session: '/api/session',
  tagging: '/api/cis/tagging',
  item: (urn) => `/${encodeURIComponent(urn)}`,
  action: (name) => `?action=${name}`,
  unwrap: (body) => body,
};

const wrapped: Dialect = {
  session: '/rest/com/vmware/cis/session',
  tagging: '/rest/com/vmware/cis/tagging',
  item: (urn) => `/id:${urn}`,
  action: (name) => `?~action=${name}`,
  unwrap: (body) => (typeof body === 'object' && body !== null && 'value' in body ? body.value : undefined),
};

interface RestSession {
  readonly dialect: Dialect;
  readonly token: string;
}

interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: (dialect: Dialect) => string;
  readonly body?: unknown;
}

/** vSphere tags over REST. Logs in with the first call, again after a 401. */
export class RestTags {
  readonly #endpoint: VCenterEndpoint;
  readonly #agent: Agent;
  #session: Promise<RestSession> | undefined;

  constructor(endpoint: VCenterEndpoint, agent: Agent) {
    this.#endpoint = endpoint;
    this.#agent = agent;
  }

  async list(options?: CallOptions): Promise<readonly Tag[]> {
    const limit = pLimit(limits.parallel);
    const all = async (kind: 'tag' | 'category'): Promise<readonly Record<string, unknown>[]> => {
      const ids = await this.#call({ method: 'GET', path: ({ tagging }) => `${tagging}/${kind}` }, options);
      const read = (id: unknown): Promise<unknown> =>
        this.#call({ method: 'GET', path: ({ tagging, item }) => `${tagging}/${kind}${item(String(id))}` }, options);
      const found = await Promise.all(asList(ids).map((id) => limit(read, id)));
      return found.filter((entry): entry is Record<string, unknown> => typeof entry === 'object' && entry !== null);
    };
    const categories = new Map((await all('category')).map(({ id, name }) => [id, String(name)]));
    return (await all('tag')).map(({ id, name, category_id }) => ({
      id: String(id),
      name: String(name),
      category: categories.get(category_id) ?? '',
    }));
  }

  async attached(ref: MoRef, options?: CallOptions): Promise<readonly string[]> {
    const path = ({ tagging, action }: Dialect): string => `${tagging}/tag-association${action('list-attached-tags')}`;
    const ids = await this.#call({ method: 'POST', path, body: objectId(ref) }, options);
    return asList(ids).map(String);
  }

  /** Ids of the tags of many objects, by the value of their references; those without tags may be absent. */
  async attachedToAll(refs: readonly MoRef[], options?: CallOptions): Promise<ReadonlyMap<string, readonly string[]>> {
    const path = ({ tagging, action }: Dialect): string =>
      `${tagging}/tag-association${action('list-attached-tags-on-objects')}`;
    const found = new Map<string, readonly string[]>();
    for (let at = 0; at < refs.length; at += limits.objects) {
      const object_ids = refs.slice(at, at + limits.objects).map(({ type, value }) => ({ type, id: value }));
      for (const entry of asList(await this.#call({ method: 'POST', path, body: { object_ids } }, options))) {
        const { object_id, tag_ids } = entry as { object_id: { id: string }; tag_ids: unknown };
        found.set(object_id.id, asList(tag_ids).map(String));
      }
    }
    return found;
  }

  async attach(tagId: string, ref: MoRef, options?: CallOptions): Promise<void> {
    const path = ({ tagging, item, action }: Dialect): string =>
      `${tagging}/tag-association${item(tagId)}${action('attach')}`;
    await this.#call({ method: 'POST', path, body: objectId(ref) }, options);
  }

  /** Never throws. */
  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined);
    this.#session = undefined;
    if (session === undefined) return;
    const { dialect, token } = session;
    const logout = { method: 'DELETE', path: () => dialect.session } as const;
    await this.#send(logout, dialect, { 'vmware-api-session-id': token }, { timeoutMs: limits.logoutMs }).catch(
      () => undefined,
    );
  }

  async #call(request: Request, options: CallOptions = {}): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      this.#session ??= this.#logIn(options).catch((error: unknown) => {
        this.#session = undefined;
        throw error;
      });
      const session = this.#session;
      const { dialect, token } = await session;
      const response = await this.#send(request, dialect, { 'vmware-api-session-id': token }, options);
      if (response.status === 401 && attempt === 1) {
        // Idle REST sessions end sooner than SOAP ones; somebody else may have renewed it already.
        if (this.#session === session) this.#session = undefined;
        continue;
      }
      return dialect.unwrap(this.#accept(request, dialect, response));
    }
  }

  async #logIn(options: CallOptions): Promise<RestSession> {
    const { user, password, name } = this.#endpoint;
    const Authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const logIn = { method: 'POST', path: ({ session }: Dialect) => session } as const;
    for (const dialect of [plain, wrapped]) {
      const response = await this.#send(logIn, dialect, { Authorization }, options);
      if (response.status === 404) continue;
      if (response.status === 401) {
        const message = `vCenter ${name} refuses the REST login of ${user}. Check user and password in the configuration.`;
        throw new VSphereError('AUTH', message, { kind: 'rest', httpStatus: 401, method: 'POST session', message });
      }
      const token = dialect.unwrap(this.#accept(logIn, dialect, response));
      if (typeof token === 'string') return { dialect, token };
    }
    throw this.#error('POST session', 404, 'offers no REST session');
  }

  #send(
    request: Request,
    dialect: Dialect,
    headers: Readonly<Record<string, string>>,
    { signal, timeoutMs = this.#endpoint.apiTimeoutMs ?? limits.callMs }: CallOptions,
  ): Promise<HttpResponse> {
    const url = new URL(request.path(dialect), this.#endpoint.url);
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const json: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const send = {
      method: request.method,
      url,
      headers: { Accept: 'application/json', 'User-Agent': 'vmflow', ...json, ...headers },
      body,
      agent: this.#agent,
      signal,
      timeoutMs,
      what: `${request.method} ${url.pathname}`,
    };
    return inClientSpan(
      httpCall(request.method, url, url.pathname),
      () => exchange(send),
      ({ status }) => status,
    );
  }

  #accept(request: Request, dialect: Dialect, { status, body }: HttpResponse): unknown {
    const what = `${request.method} ${request.path(dialect).replace(/\?.*/, '')}`;
    if (status < 200 || status > 299) throw this.#error(what, status, `answered ${what} with HTTP status ${status}`);
    if (body === '') return undefined;
    try {
      return JSON.parse(body) as unknown;
    } catch {
      throw this.#error(what, status, `answered ${what} with something that is no JSON`);
    }
  }

  #error(method: string, httpStatus: number, what: string): VSphereError {
    const message = `vCenter ${this.#endpoint.name} ${what}.`;
    return new VSphereError('REST', message, { kind: 'rest', httpStatus, method, message });
  }
}

const objectId = ({ type, value }: MoRef): unknown => ({ object_id: { type, id: value } });

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
