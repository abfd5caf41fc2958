import { generateKeyPairSync, randomUUID, sign, type JsonWebKey, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Action = 'pull' | 'push' | 'delete';

export interface TokenUser {
  readonly password: string;
  /** Actions that it gets when it asks for them. Default: all. */
  readonly actions?: readonly Action[];
}

/** A grant as it stands in a token. */
export interface Access {
  readonly type: 'repository';
  readonly name: string;
  readonly actions: readonly string[];
}

/** Gives out the tokens that a registry believes. Whoever brings no name gets tokens for pulling. */
export interface TokenService {
  /** What the registry has to know, besides the keys. */
  readonly trust: { readonly realm: string; readonly service: string; readonly issuer: string };
  readonly keys: { readonly keys: readonly JsonWebKey[] };
  /** Adds or replaces. */
  setUser(name: string, user: TokenUser): void;
  /** From now on tokens are said to live this long; the registry itself forgives a minute. Default 60. */
  setLifetime(seconds: number): void;
  /** Answers this status instead, until set to undefined. */
  setFailure(status: number | undefined): void;
  /** A token made out of turn, such as a static one for a configuration. */
  issue(access: readonly Access[], lifetimeS?: number): string;
  /** What was asked so far: scopes, and who asked (empty: nobody in particular). */
  readonly requests: () => readonly { readonly scope: string; readonly user: string }[];
  stop(): Promise<void>;
}

const service = 'registry.test';
const issuer = 'tokens.test';
const keyId = 'key-1';

export async function startTokenService(users: Readonly<Record<string, TokenUser>>): Promise<TokenService> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const known = new Map(Object.entries(users));
  const requests: { scope: string; user: string }[] = [];
  let lifetimeS = 60;
  let failure: number | undefined;

  const server = createServer((request, response) => {
    const answer = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const { name, password } = basicOf(request);
    requests.push({ scope: searchParams.get('scope') ?? '', user: name });
    const user = known.get(name);
    const refusal = failure ?? (name !== '' && user?.password !== password ? 401 : undefined);
    if (refusal !== undefined) {
      answer(refusal, {});
      return;
    }
    const allowed = name === '' ? ['pull'] : (user?.actions ?? ['pull', 'push', 'delete']);
    const access = searchParams.getAll('scope').flatMap((scope) => granted(scope, allowed));
    answer(200, {
      token: tokenOf(privateKey, access, lifetimeS),
      expires_in: lifetimeS,
      issued_at: new Date().toISOString(),
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    trust: { realm: `http://127.0.0.1:${port}/token`, service, issuer },
    keys: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: keyId, alg: 'ES256', use: 'sig' }] },
    setUser: (name, user) => void known.set(name, user),
    setLifetime: (seconds) => void (lifetimeS = seconds),
    setFailure: (status) => void (failure = status),
    issue: (access, seconds = 3_600) => tokenOf(privateKey, access, seconds),
    requests: () => requests,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** `repository:a/b:pull,delete` as far as it is allowed. */
function granted(scope: string, allowed: readonly string[]): Access[] {
  const [, name, asked] = /^repository:(.+):([a-z,*]+)$/.exec(scope) ?? [];
  if (name === undefined || asked === undefined) return [];
  return [{ type: 'repository', name, actions: asked.split(',').filter((action) => allowed.includes(action)) }];
}

function basicOf({ headers }: IncomingMessage): { name: string; password: string } {
  const [, encoded = ''] = /^Basic (.*)$/.exec(headers.authorization ?? '') ?? [];
  const [name = '', ...rest] = Buffer.from(encoded, 'base64').toString().split(':');
  return { name, password: rest.join(':') };
}

function tokenOf(key: KeyObject, access: readonly Access[], lifetimeS: number): string {
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: issuer,
    aud: service,
    sub: 'test',
    iat: now,
    nbf: now,
    exp: now + lifetimeS,
    jti: randomUUID(),
  };
  const text = [
    { typ: 'JWT', alg: 'ES256', kid: keyId },
    { ...claims, access },
  ]
    .map(base64url)
    .join('.');
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
