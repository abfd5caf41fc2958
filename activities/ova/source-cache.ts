import { rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

import type { OvaSource } from '../../workflows/contracts/template.ts';
import { withLock } from './cache-lock.ts';
import { hashEntry } from './entry-reader.ts';
import { cacheError, fetchOva, prepareCache } from './fetch-ova.ts';
import { createAgent, type HttpSource } from './http-source.ts';
import { inspectOva, type OvaInspection } from './inspect.ts';
import { LruMap } from './lru-map.ts';
import type { InspectionOptions, RunOptions } from './options.ts';
import { adoptPartial, newPartial, publishPartial, removeAbandoned } from './partials.ts';
import { SharedWork } from './shared-work.ts';
import { SourceError, unreadable } from './source-error.ts';
import { checkedUrl, redactedUrl } from './source-url.ts';

/** An OVA as a file of this worker whose digest is known. */
export interface LocalOva {
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
}

export interface SourceDeps {
  /** For downloads; made when missing. */
  readonly cacheDir: string;
  /** Headers of a named source, secrets included. */
  readonly headersFor: (ref: string) => Promise<Readonly<Record<string, string>>>;
  /** Query of a named source (a signature, say), added to its URL. */
  readonly queryFor?: (ref: string) => Promise<string | undefined>;
  /** PEM of the authority that a named source's certificate is signed by, if it has one of its own. */
  readonly caFor?: (ref: string) => Promise<string | undefined>;
  readonly log: { warn(message: string, facts?: Readonly<Record<string, unknown>>): void };
}

type HttpOva = Extract<OvaSource, { kind: 'http' }>;

/** Digests by path, size and time: verified once per process, and again when the file has changed. */
const knownDigests = new LruMap<string>(256);
const hashing = new SharedWork<LocalOva>();
const fetching = new SharedWork<LocalOva>();
const inspections = new LruMap<OvaInspection>(16);
const inspecting = new SharedWork<OvaInspection>();

/**
 * The OVA as a local file with the wanted digest: a `file` where it is, an `http` one in the cache, fetched at most once per
 * worker at a time. Fails with `SourceError`.
 */
export async function ensureLocal(source: OvaSource, deps: SourceDeps, run: RunOptions = {}): Promise<LocalOva> {
  if (source.kind === 'http') return ensureCached(source, deps, run);
  const local = await digestOf(source.path, run);
  refuseOther(source, local);
  return local;
}

/** The OVA, local, and what is in it. Results are kept in memory as long as the file doesn't change. */
export async function inspectSource(
  source: OvaSource,
  deps: SourceDeps,
  options: InspectionOptions & RunOptions = {},
): Promise<{ readonly local: LocalOva; readonly inspection: OvaInspection }> {
  const { signal, onProgress, verifyManifest = 'if-present', strictOva = false, targetVersion } = options;
  const run: RunOptions = { ...(signal && { signal }), ...(onProgress && { onProgress }) };
  const path = source.kind === 'http' ? (await ensureCached(source, deps, run)).path : source.path;
  const seen = await identityOf(path);
  if (source.kind === 'file') refuseOtherSize(source, seen.size);
  const expectedSha256 = source.sha256.toLowerCase();
  const key = JSON.stringify([seen.key, expectedSha256, verifyManifest, strictOva, targetVersion]);
  const wanted = { verifyManifest, strictOva, expectedSha256, label: labelOf(source) };
  const work = (shared: Required<RunOptions>): Promise<OvaInspection> =>
    inspectOva(path, { ...shared, ...wanted, ...(targetVersion === undefined ? {} : { targetVersion }) });
  const inspection = inspections.get(key) ?? (await inspecting.run(key, work, run));
  inspections.set(key, inspection);
  knownDigests.set(seen.key, inspection.sha256);
  return { local: { path, sha256: inspection.sha256, size: inspection.size }, inspection };
}

/** Fetches what a URL has, whatever its digest, and keeps it under that. For questions about an OVA nobody knows yet. */
export async function fetchUnknown(
  source: Pick<HttpOva, 'url' | 'headersRef'>,
  deps: SourceDeps,
  run: RunOptions = {},
): Promise<LocalOva> {
  return fetching.run(
    `url ${source.url}`,
    (shared) =>
      inCache(deps, async () => {
        const partial = () => newPartial(deps.cacheDir, 'unknown');
        const got = await withHttp(source, deps, (http) => fetchOva(http, {}, partial(), partial, shared));
        const path = join(deps.cacheDir, got.sha256);
        await publishPartial(got.partial, path);
        return remember(path, got.sha256);
      }),
    run,
  );
}

async function ensureCached(source: HttpOva, deps: SourceDeps, run: RunOptions): Promise<LocalOva> {
  checkedUrl(source.url);
  const sha256 = source.sha256.toLowerCase();
  const path = join(deps.cacheDir, sha256);
  return fetching.run(
    path,
    (shared) =>
      inCache(deps, async () => {
        const present = await verified(path, sha256, deps, shared);
        if (present !== undefined) return present;
        const onWait = (): void => shared.onProgress({ phase: 'waiting', bytes: 0 });
        return withLock(`${path}.lock`, { ...shared, onWait }, async ({ isSafe }) => {
          const meanwhile = await verified(path, sha256, deps, shared);
          if (meanwhile !== undefined) return meanwhile;
          const next = () => newPartial(deps.cacheDir, sha256);
          const first = isSafe ? await adoptPartial(deps.cacheDir, sha256) : next();
          const wanted = { sha256, ...(source.size === undefined ? {} : { size: source.size }) };
          const got = await withHttp(source, deps, (http) => fetchOva(http, wanted, first, next, shared));
          await publishPartial(got.partial, path);
          return remember(path, sha256);
        });
      }),
    run,
  );
}

async function inCache<T>(deps: SourceDeps, work: () => Promise<T>): Promise<T> {
  try {
    await prepareCache(deps.cacheDir);
    await removeAbandoned(deps.cacheDir);
    return await work();
  } catch (error) {
    throw cacheError(error);
  }
}

async function withHttp<T>(
  source: Pick<HttpOva, 'url' | 'headersRef'>,
  deps: SourceDeps,
  work: (http: HttpSource) => Promise<T>,
): Promise<T> {
  const url = checkedUrl(source.url);
  const ref = source.headersRef;
  const query = ref === undefined ? undefined : await deps.queryFor?.(ref);
  if (query !== undefined) url.search = query;
  const headers = ref === undefined ? {} : await deps.headersFor(ref);
  const agent = createAgent(ref === undefined ? undefined : await deps.caFor?.(ref));
  try {
    return await work({ url, headers, agent });
  } finally {
    await agent.destroy();
  }
}

/** The cached file, if it is there and whole. A corrupt one is removed. */
async function verified(
  path: string,
  sha256: string,
  deps: SourceDeps,
  run: RunOptions,
): Promise<LocalOva | undefined> {
  if ((await stat(path).catch(() => undefined)) === undefined) return undefined;
  const local = await digestOf(path, run);
  if (local.sha256 === sha256) return local;
  deps.log.warn('a cached OVA was corrupt and is fetched again', { expected: sha256, found: local.sha256 });
  await rm(path, { force: true });
  return undefined;
}

async function digestOf(path: string, run: RunOptions): Promise<LocalOva> {
  const { key, size } = await identityOf(path);
  const known = knownDigests.get(key);
  if (known !== undefined) return { path, sha256: known, size };
  return hashing.run(
    key,
    async ({ signal, onProgress }) => {
      let bytes = 0;
      const onBytes = (count: number): void =>
        onProgress({ phase: 'reading', bytes: (bytes += count), totalBytes: size });
      const sha256 = await hashEntry(path, { offset: 0, size }, 'sha256', { signal, onBytes });
      knownDigests.set(key, sha256);
      return { path, sha256, size };
    },
    run,
  );
}

async function remember(path: string, sha256: string): Promise<LocalOva> {
  const { key, size } = await identityOf(path);
  knownDigests.set(key, sha256);
  return { path, sha256, size };
}

async function identityOf(path: string): Promise<{ readonly key: string; readonly size: number }> {
  const info = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (!info.isFile()) throw new SourceError('SOURCE_UNREADABLE', `OVA file ${path} is not a regular file`);
  return { key: JSON.stringify([path, info.size, info.mtimeMs, info.ino]), size: info.size };
}

const labelOf = (source: OvaSource): string =>
  source.kind === 'http' ? redactedUrl(source.url) : basename(source.path);

function refuseOther(source: OvaSource, local: LocalOva): void {
  refuseOtherSize(source, local.size);
  if (local.sha256 === source.sha256.toLowerCase()) return;
  throw new SourceError(
    'OVA_SHA256_MISMATCH',
    `OVA ${labelOf(source)}: its sha256 is ${local.sha256}, the request says ${source.sha256.toLowerCase()}; check which ` +
      'of the two is outdated',
  );
}

function refuseOtherSize(source: OvaSource, size: number): void {
  if (source.size === undefined || source.size === size) return;
  throw new SourceError(
    size < source.size ? 'OVA_TRUNCATED' : 'OVA_SHA256_MISMATCH',
    `OVA ${labelOf(source)}: the file has ${String(size)} bytes, the request says ${String(source.size)}`,
  );
}
