import { challengesOf, type Challenge } from './challenge.ts';
import { isRecord, jsonOf, toRegistryError } from './classify.ts';
import { RegistryError, type RegistryEndpoint } from './port.ts';
import type { RegistryAnswer, RegistryRequest, RegistryTransport } from './transport.ts';

/** What a request needs the right for: repository and action; absent: only to be known. */
export interface Scope {
  readonly repository: string;
  readonly action: 'pull' | 'delete';
}

export interface AuthorizedRequest extends RegistryRequest {
  readonly scope?: Scope;
  /** What is asked, to follow "to". */
  readonly attempt: string;
}

interface KeptToken {
  readonly token: string;
  readonly until: number;
}

const tokens = {
  /** What the protocol says where the service doesn't. */
  lifetimeS: 60,
  /** A token must outlive the request that carries it. */
  marginS: 10,
} as const;

/** Sends requests with what the registry wants to see of us; learns that from its refusals and keeps it. */
export function authorized(
  endpoint: RegistryEndpoint,
  transport: RegistryTransport,
): (request: AuthorizedRequest) => Promise<RegistryAnswer> {
  const { credentials } = endpoint;
  const kept = new Map<string, KeptToken>();
  let wantsBasic = false;

  function known(scope: string): string | undefined {
    if (credentials.kind === 'token') return `Bearer ${credentials.token}`;
    if (wantsBasic && credentials.kind === 'password') return basic(credentials.user, credentials.password);
    const token = kept.get(scope);
    return token !== undefined && token.until > performance.now() ? `Bearer ${token.token}` : undefined;
  }

  /** What to show after a refusal; undefined: there is nothing else to show. */
  async function renewed(challenges: readonly Challenge[], request: AuthorizedRequest): Promise<string | undefined> {
    if (credentials.kind === 'token') return undefined;
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
    if (bearer !== undefined) return `Bearer ${await freshToken(bearer, request)}`;
    if (credentials.kind !== 'password' || wantsBasic || !challenges.some(({ scheme }) => scheme === 'basic'))
      return undefined;
    wantsBasic = true;
    return basic(credentials.user, credentials.password);
  }

  async function freshToken({ parameters }: Challenge, request: AuthorizedRequest): Promise<string> {
    const realm = realmOf(parameters['realm'], endpoint, request.attempt);
    const key = scopeOf(request.scope);
    for (const [name, value] of [
      ['service', parameters['service']],
      ['scope', parameters['scope'] ?? key],
    ] as const)
      if (value !== undefined && value !== '') realm.searchParams.set(name, value);
    const headers =
      credentials.kind === 'password' ? { authorization: basic(credentials.user, credentials.password) } : {};
    const answer = await transport.send({ method: 'GET', url: realm, headers, signal: request.signal });
    const { token, lifetimeS } = parseToken(answer, realm, request.attempt);
    const now = performance.now();
    for (const [scope, { until }] of kept) if (until <= now) kept.delete(scope);
    kept.set(key, { token, until: now + (lifetimeS - Math.min(tokens.marginS, lifetimeS / 2)) * 1_000 });
    return token;
  }

  return async (request) => {
    const scope = scopeOf(request.scope);
    const shown = known(scope);
    const answer = await transport.send(withAuthorization(request, shown));
    if (answer.status !== 401) return answer;
    kept.delete(scope); // it ended early, or rights were given since
    const other = await renewed(challengesOf(answer.headers['www-authenticate']), request);
    return other === undefined ? answer : transport.send(withAuthorization(request, other));
  };
}

function withAuthorization(request: AuthorizedRequest, authorization: string | undefined): RegistryRequest {
  const { method, url, signal } = request;
  return {
    method,
    url,
    signal,
    headers: { ...request.headers, ...(authorization === undefined ? {} : { authorization }) },
  };
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

const scopeOf = (scope: Scope | undefined): string =>
  scope === undefined ? '' : `repository:${scope.repository}:${scope.action}`;

/** Where tokens come from. The password goes there, so it must be as safe as the registry itself. */
function realmOf(realm: string | undefined, { name, allowPlainHttp }: RegistryEndpoint, attempt: string): URL {
  const url = URL.parse(realm ?? '');
  if (url === null || url.username !== '' || !['https:', 'http:'].includes(url.protocol))
    throw new RegistryError(
      'Unexpected',
      `The registry ${name} wants a token to ${attempt} and names no address to get it from.`,
    );
  if (url.protocol === 'http:' && !allowPlainHttp)
    throw new RegistryError(
      'Untrusted',
      `The registry ${name} sends us to ${url.host} for a token over plain http, where others can read the password: use https there.`,
    );
  return url;
}

function parseToken(answer: RegistryAnswer, realm: URL, attempt: string): { token: string; lifetimeS: number } {
  const server = `The token service ${realm.host}`;
  const body = answer.status === 200 ? jsonOf(answer.body) : undefined;
  if (!isRecord(body)) throw toRegistryError(answer, server, `give a token to ${attempt}`);
  const token = body['token'] ?? body['access_token'];
  if (typeof token !== 'string' || token === '')
    throw new RegistryError('Unexpected', `${server} answered without a token when asked for one to ${attempt}.`, {
      status: answer.status,
    });
  const lifetime = body['expires_in'];
  return { token, lifetimeS: typeof lifetime === 'number' && lifetime > 0 ? lifetime : tokens.lifetimeS };
}
