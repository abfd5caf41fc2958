import { createHash } from 'node:crypto';

import type { Channel } from './channel.ts';
import { VSphereError } from './faults.ts';
import type { VSphereLog } from './log.ts';
import type { VCenterEndpoint, VSphere, VSphereSession } from './port.ts';
import { credentialKey, RejectedCredentials } from './rejected-credentials.ts';
import { createSession } from './session.ts';
import { messageOf, SessionCore } from './session-core.ts';
import type { Trust } from './tls.ts';
import { agentFor, trustOf } from './tls.ts';

const defaultIntervals: Intervals = { keepAliveMs: 5 * 60_000, idleMs: 60 * 60_000 };

const restSockets = 4;

export interface Intervals {
  /** How often a session that nobody uses is kept alive: vCenter ends idle ones after 30 minutes by default. */
  readonly keepAliveMs: number;
  /** A session that nobody used for this long is given back: vCenter has a limit of them. */
  readonly idleMs: number;
}

/** What the pool needs from outside. */
export interface PoolOptions {
  readonly allowInsecureTls: boolean;
  readonly log: VSphereLog;
  readonly readFile: (path: string) => Promise<string>;
  readonly openChannel: (url: URL, trust: Trust) => Promise<Channel>;
  readonly intervals?: Intervals;
}

interface Opened {
  readonly session: VSphereSession;
  readonly core: SessionCore;
}

interface Pooled {
  readonly opened: Promise<Opened>;
  users: number;
  lastUse: number;
}

function refuse(message: string): never {
  throw new VSphereError('TLS_INSECURE_FORBIDDEN', message, { kind: 'transport', message });
}

/** Refuses connections that would be readable or forgeable without somebody's explicit consent. */
function checkPolicy(endpoint: VCenterEndpoint, url: URL, allowInsecureTls: boolean): void {
  const { name, tls, allowPlainHttp } = endpoint;
  if (url.protocol === 'http:' && allowPlainHttp !== true)
    refuse(`vCenter ${name} has a plain-http address: use https.`);
  if (tls.mode === 'insecure' && !allowInsecureTls) {
    refuse(`vCenter ${name} asks for tls.mode insecure, which this worker does not allow. Use ca or thumbprint.`);
  }
}

/** Sessions by endpoint: single ones for work whose objects belong to a session, shared ones for everything else. */
export function createPool(options: PoolOptions): VSphere {
  const { log, intervals = defaultIntervals } = options;
  const rejected = new RejectedCredentials();
  const pooled = new Map<string, Pooled>();

  const open = async (endpoint: VCenterEndpoint): Promise<Opened> => {
    const url = new URL(endpoint.url);
    checkPolicy(endpoint, url, options.allowInsecureTls);
    const trust = await trustOf(endpoint.tls, options.readFile);
    const channel = await options.openChannel(url, trust);
    const core = new SessionCore(endpoint, channel, rejected, log);
    try {
      const content = await core.content();
      const server = { url, trust, allowPlainHttp: endpoint.allowPlainHttp === true };
      const agent = agentFor(url, trust, { maxSockets: restSockets, keepAlive: true });
      return { core, session: createSession({ core, content, server, agent, log }) };
    } catch (error) {
      channel.close();
      throw error;
    }
  };

  const shared = (endpoint: VCenterEndpoint): Pooled => {
    const key = poolKey(endpoint);
    const known = pooled.get(key);
    if (known !== undefined) return known;
    const entry: Pooled = { opened: open(endpoint), users: 0, lastUse: performance.now() };
    pooled.set(key, entry);
    entry.opened.catch(() => pooled.delete(key));
    return entry;
  };

  const tend = async ([key, entry]: readonly [string, Pooled]): Promise<void> => {
    const idleMs = performance.now() - entry.lastUse;
    if (entry.users > 0 || idleMs < intervals.keepAliveMs) return;
    const { session, core } = await entry.opened;
    if (idleMs > intervals.idleMs) {
      pooled.delete(key);
      await session.close();
    } else if (core.isLoggedIn) await session.currentTime();
  };

  const keepAlive = setInterval(() => {
    for (const entry of pooled) {
      tend(entry).catch((error: unknown) => log.debug({ error: messageOf(error) }, 'keep-alive failed'));
    }
  }, intervals.keepAliveMs);
  keepAlive.unref();

  return {
    open: async (endpoint) => (await open(endpoint)).session,
    withSession: async (endpoint, work) => {
      const entry = shared(endpoint);
      entry.users += 1;
      try {
        return await work((await entry.opened).session);
      } finally {
        entry.users -= 1;
        entry.lastUse = performance.now();
      }
    },
    close: async () => {
      clearInterval(keepAlive);
      const entries = [...pooled.values()];
      pooled.clear();
      await Promise.allSettled(entries.map(async ({ opened }) => (await opened).session.close()));
    },
  };
}

/** Endpoints that differ in anything that matters must not share a session. */
function poolKey(endpoint: VCenterEndpoint): string {
  const rest = JSON.stringify([endpoint.name, endpoint.tls, endpoint.allowPlainHttp, endpoint.apiTimeoutMs]);
  return createHash('sha256')
    .update(credentialKey(endpoint) + rest)
    .digest('hex');
}
