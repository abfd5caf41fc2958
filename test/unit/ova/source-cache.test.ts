import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFile, mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import type { SourceProgress } from '../../../activities/ova/options.ts';
import { ensureLocal, fetchUnknown, inspectSource, type SourceDeps } from '../../../activities/ova/source-cache.ts';
import type { OvaSource } from '../../../workflows/contracts/template.ts';
import { bigDisk, buildOva } from '../../support/ova-builder.ts';
import { scratchDir } from './scratch.ts';
import { serve, startServer, type Answer } from './file-server.ts';

type HttpOva = Extract<OvaSource, { kind: 'http' }>;

interface Setting {
  readonly bytes: Buffer;
  readonly sha256: string;
  readonly deps: SourceDeps;
  readonly warnings: string[];
  readonly cached: string;
}

async function setting(t: TestContext): Promise<Setting> {
  const dir = await scratchDir(t);
  const ova = await buildOva({ path: join(dir, 'image.ova'), disks: [bigDisk(400_000, 'pattern')] });
  const cacheDir = join(dir, 'cache');
  const warnings: string[] = [];
  const deps: SourceDeps = {
    cacheDir,
    headersFor: (ref) => Promise.resolve({ authorization: `Bearer of ${ref}`, 'x-token': 's3cret' }),
    log: { warn: (message) => warnings.push(message) },
  };
  return { bytes: await readFile(ova.path), sha256: ova.sha256, deps, warnings, cached: join(cacheDir, ova.sha256) };
}

const http = (origin: string, sha256: string, more: Partial<HttpOva> = {}): HttpOva => ({
  kind: 'http',
  url: `${origin}/images/image.ova?token=s3cret`,
  sha256,
  ...more,
});

test('a download lands in the cache under its digest and is not fetched again', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes));
  const source = http(server.origin, sha256.toUpperCase(), { headersRef: 'mirror', size: bytes.length });
  const seen: SourceProgress[] = [];
  const local = await ensureLocal(source, deps, { onProgress: (progress) => seen.push(progress) });
  assert.deepEqual(local, { path: cached, sha256, size: bytes.length });
  assert.deepEqual(await readFile(cached), bytes);
  assert.deepEqual(seen.at(-1), { phase: 'downloading', bytes: bytes.length, totalBytes: bytes.length });
  assert.equal(server.requests[0]?.headers.authorization, 'Bearer of mirror');
  assert.deepEqual(await ensureLocal(source, deps), local);
  const { inspection } = await inspectSource(source, deps);
  assert.equal(inspection.sha256, sha256);
  assert.equal(server.requests.length, 1);
  assert.deepEqual(await readdir(deps.cacheDir), [sha256]);
});

test('an interrupted download goes on where it stopped', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response, nth) =>
    serve(request, response, bytes, nth < 3 ? { cutAfter: 150_000 } : {}),
  );
  await ensureLocal(http(server.origin, sha256), deps);
  assert.deepEqual(await readFile(cached), bytes);
  const [first, ...others] = server.requests.map(({ headers }) => Number(/\d+/.exec(headers.range ?? '0')![0]));
  assert.equal(first, 0);
  assert.equal(others.length, 2);
  assert.ok(others[0]! > 0 && others[1]! > others[0]!, String(others));
  assert.equal(server.requests[1]?.headers['if-range'], '"v1"');
});

test('a server that answers a range with everything is believed', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response, nth) =>
    serve(request, response, bytes, nth === 1 ? { cutAfter: 150_000 } : { ignoreRange: true }),
  );
  await ensureLocal(http(server.origin, sha256), deps);
  assert.deepEqual(await readFile(cached), bytes);
  assert.equal(server.requests.length, 2);
});

test('an OVA replaced during the download is fetched from its start', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response, nth) =>
    nth === 1
      ? serve(request, response, Buffer.alloc(bytes.length, 7), { cutAfter: 150_000, etag: '"old"' })
      : serve(request, response, bytes, { etag: '"new"' }),
  );
  await ensureLocal(http(server.origin, sha256), deps);
  assert.deepEqual(await readFile(cached), bytes);
});

test('a refused range starts the download again', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response, nth) => {
    if (nth === 2) response.writeHead(416).end();
    else serve(request, response, bytes, nth === 1 ? { cutAfter: 150_000 } : {});
  });
  await ensureLocal(http(server.origin, sha256), deps);
  assert.deepEqual(await readFile(cached), bytes);
  assert.equal(server.requests[2]?.headers.range, undefined);
});

test('what an attempt has fetched before the server went away is kept for the next attempt', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response, nth) => {
    if (nth === 1) serve(request, response, bytes, { cutAfter: 150_000 });
    else if (nth === 2) response.writeHead(503).end();
    else serve(request, response, bytes);
  });
  const source = http(server.origin, sha256);
  await assert.rejects(ensureLocal(source, deps), { code: 'SOURCE_HTTP', permanent: false, httpStatus: 503 });
  await ensureLocal(source, deps);
  assert.deepEqual(await readFile(cached), bytes);
  assert.equal(server.requests[2]?.headers.range, server.requests[1]?.headers.range);
  assert.deepEqual(await readdir(deps.cacheDir), [sha256]);
});

test('template/38 an OVA that is truncated on the server is fetched three times, then refused for good', async (t) => {
  const { bytes, sha256, deps } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes.subarray(0, 300_000)));
  await assert.rejects(ensureLocal(http(server.origin, sha256), deps), {
    code: 'OVA_TRUNCATED',
    permanent: true,
    message: new RegExp(`^OVA ${server.origin}/images/image\\.ova\\?…: the file ends after 300000 bytes within member`),
  });
  assert.equal(server.requests.length, 3);
  assert.deepEqual(await readdir(deps.cacheDir), []);
});

test('template/38 a server that announces fewer bytes than requested isn’t waited for', async (t) => {
  const { bytes, sha256, deps } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes.subarray(0, 300_000)));
  await assert.rejects(ensureLocal(http(server.origin, sha256, { size: bytes.length }), deps), {
    code: 'OVA_TRUNCATED',
    message: /has 300000 bytes, the request says \d+/,
  });
  assert.equal(server.requests.length, 3);
});

test('template/38 another OVA than requested is fetched twice, then refused for good', async (t) => {
  const { bytes, deps } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes));
  await assert.rejects(ensureLocal(http(server.origin, '0'.repeat(64)), deps), {
    code: 'OVA_SHA256_MISMATCH',
    permanent: true,
    message: /the server's file has the sha256 [0-9a-f]{64} \(\d+ bytes\), the request says 0{64}/,
  });
  assert.equal(server.requests.length, 2);
  assert.deepEqual(await readdir(deps.cacheDir), []);
});

test('a wrong download is forgiven once', async (t) => {
  const { bytes, sha256, deps } = await setting(t);
  const wrong = Buffer.from(bytes).fill(0, 100_000, 100_100);
  const server = await startServer(t, (request, response, nth) => serve(request, response, nth === 1 ? wrong : bytes));
  assert.equal((await ensureLocal(http(server.origin, sha256), deps)).sha256, sha256);
});

test('a redirect is followed, and headers stay with the server they are for', async (t) => {
  const { bytes, sha256, deps } = await setting(t);
  const mirror = await startServer(t, (request, response) => serve(request, response, bytes));
  const server = await startServer(t, (request, response, nth) => {
    if (nth === 1) response.writeHead(302, { location: '/moved?token=s3cret' }).end();
    else response.writeHead(307, { location: `${mirror.origin}/copy?signature=s3cret` }).end('see there');
  });
  await ensureLocal(http(server.origin, sha256, { headersRef: 'mirror' }), deps);
  const [, moved] = server.requests;
  const [copied] = mirror.requests;
  assert.ok(moved !== undefined && copied !== undefined);
  assert.equal(moved.url, '/moved?token=s3cret');
  assert.equal(moved.headers['x-token'], 's3cret');
  assert.equal(copied.url, '/copy?signature=s3cret');
  assert.equal(copied.headers.authorization, undefined);
  assert.equal(copied.headers['x-token'], undefined);
});

const redirects: readonly (readonly [string, string, RegExp])[] = [
  ['to itself for ever', '/again?token=s3cret', /redirects more than 10 times/],
  ['to a file', 'file:///etc/passwd', /not by file:/],
  ['to user information', 'http://me:s3cret@127.0.0.1/x', /user information/],
];
for (const [what, location, says] of redirects) {
  test(`a redirect ${what} is refused`, async (t) => {
    const { sha256, deps } = await setting(t);
    const server = await startServer(t, (_request, response) => response.writeHead(302, { location }).end());
    await assert.rejects(ensureLocal(http(server.origin, sha256), deps), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'SOURCE_URL');
      assert.match(error.message, says);
      assert.doesNotMatch(error.message, /s3cret/);
      return true;
    });
  });
}

test('a URL with user information is refused without any request', async (t) => {
  const { sha256, deps } = await setting(t);
  const url = 'http://me:s3cret@127.0.0.1:1/image.ova';
  await assert.rejects(ensureLocal({ kind: 'http', url, sha256 }, deps), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'SOURCE_URL');
    assert.doesNotMatch(error.message, /s3cret|me:/);
    return true;
  });
});

const statuses: readonly (readonly [number, boolean])[] = [
  [401, true],
  [403, true],
  [404, true],
  [429, false],
  [500, false],
  [503, false],
];
for (const [status, permanent] of statuses) {
  test(`HTTP ${String(status)} is ${permanent ? 'final' : 'worth another attempt'} and doesn’t tell the query`, async (t) => {
    const { sha256, deps } = await setting(t);
    const server = await startServer(t, (_request, response) => response.writeHead(status).end('no'));
    await assert.rejects(ensureLocal(http(server.origin, sha256, { headersRef: 'mirror' }), deps), {
      code: 'SOURCE_HTTP',
      permanent,
      httpStatus: status,
      message: `${server.origin}/images/image.ova?… answered with HTTP ${String(status)}`,
    });
  });
}

test('a server that doesn’t listen is worth another attempt', async (t) => {
  const { sha256, deps } = await setting(t);
  await assert.rejects(ensureLocal(http('http://127.0.0.1:1', sha256), deps), {
    code: 'SOURCE_UNREACHABLE',
    permanent: false,
    message: "can't fetch http://127.0.0.1:1/images/image.ova?…: ECONNREFUSED",
  });
});

test('a server that always breaks off and can’t resume is given up after three tries', async (t) => {
  const { bytes, sha256, deps } = await setting(t);
  const server = await startServer(t, (_request, response) => {
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, 100_000), () => response.destroy());
  });
  await assert.rejects(ensureLocal(http(server.origin, sha256), deps), {
    code: 'SOURCE_UNREACHABLE',
    permanent: false,
    message: /keeps breaking off, last after \d+ bytes/,
  });
  assert.equal(server.requests.length, 3);
});

test('template/37 several who want the same OVA at once share one download', async (t) => {
  const { bytes, sha256, deps } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes));
  const source = http(server.origin, sha256);
  const counts = [0, 0, 0];
  const all = await Promise.all(
    counts.map((_, index) => ensureLocal(source, deps, { onProgress: () => (counts[index]! += 1) })),
  );
  assert.equal(new Set(all.map((local) => local.path)).size, 1);
  assert.equal(server.requests.length, 1);
  assert.ok(
    counts.every((count) => count > 0),
    String(counts),
  );
});

test('who cancels leaves a shared download alone; the last one ends it', async (t) => {
  const { bytes, sha256, deps } = await setting(t);
  let release = (): void => undefined;
  const held: Answer = (_request, response, nth) => {
    response.writeHead(200, { 'content-length': bytes.length, etag: '"v1"' });
    response.write(bytes.subarray(0, 100_000));
    if (nth === 1) release = () => response.end(bytes.subarray(100_000));
  };
  const server = await startServer(t, held);
  const source = http(server.origin, sha256);
  const leaver = new AbortController();
  const stayer = new Promise<SourceProgress>((resolve) => {
    void ensureLocal(source, deps, { onProgress: resolve }).then((local) => {
      resolve({ phase: 'reading', bytes: local.size });
    });
  });
  const leaving = ensureLocal(source, deps, { signal: leaver.signal });
  await stayer;
  const reason = new Error('cancelled by the workflow');
  leaver.abort(reason);
  await assert.rejects(leaving, (error) => error === reason);
  release();
  assert.equal((await ensureLocal(source, deps)).sha256, sha256);
  assert.equal(server.requests.length, 1);
});

test('a cancelled download ends at once and is resumed later', async (t) => {
  const { bytes, sha256, deps } = await setting(t);
  const server = await startServer(t, (request, response, nth) => {
    if (nth > 1) {
      serve(request, response, bytes);
      return;
    }
    response.writeHead(200, { 'content-length': bytes.length, etag: '"v1"' });
    response.write(bytes.subarray(0, 100_000));
  });
  const source = http(server.origin, sha256);
  const controller = new AbortController();
  await assert.rejects(ensureLocal(source, deps, { signal: controller.signal, onProgress: () => controller.abort() }), {
    name: 'AbortError',
  });
  assert.equal((await ensureLocal(source, deps)).sha256, sha256);
  assert.match(server.requests[1]?.headers.range ?? '', /^bytes=\d+-$/);
});

test('a corrupt cached OVA is noticed, removed and fetched again', async (t) => {
  const { bytes, sha256, deps, cached, warnings } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes));
  const source = http(server.origin, sha256);
  await ensureLocal(source, deps);
  await appendFile(cached, 'x');
  await ensureLocal(source, deps);
  assert.deepEqual(await readFile(cached), bytes);
  assert.equal(server.requests.length, 2);
  assert.match(warnings.join(), /corrupt/);
});

test('a cached OVA with a new time is verified, not fetched', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes));
  await ensureLocal(http(server.origin, sha256), deps);
  await utimes(cached, 1, 1);
  const phases = new Set<string>();
  await ensureLocal(http(server.origin, sha256), deps, { onProgress: ({ phase }) => phases.add(phase) });
  assert.deepEqual([...phases], ['reading']);
  assert.equal(server.requests.length, 1);
});

async function lockFile(deps: SourceDeps, cached: string, holder: object): Promise<string> {
  await mkdir(deps.cacheDir, { recursive: true });
  const path = `${cached}.lock`;
  await writeFile(path, JSON.stringify(holder));
  return path;
}

test('another process that holds the lock is waited for; its download is used', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes));
  await lockFile(deps, cached, { host: hostname(), pid: process.pid, token: 'somebody else' });
  const phases: string[] = [];
  const onProgress = ({ phase }: SourceProgress): void => {
    phases.push(phase);
    // The other process finishes: its file appears, its lock ages.
    if (phases.length === 1) void writeFile(cached, bytes).then(() => utimes(`${cached}.lock`, 1, 1));
  };
  const local = await ensureLocal(http(server.origin, sha256), deps, { onProgress });
  assert.equal(local.sha256, sha256);
  assert.equal(phases[0], 'waiting');
  assert.equal(server.requests.length, 0);
});

test('the lock of a process that is gone is taken over', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes));
  await lockFile(deps, cached, { host: hostname(), pid: 2 ** 22 + 1, token: 'gone' });
  await ensureLocal(http(server.origin, sha256), deps);
  assert.deepEqual(await readdir(deps.cacheDir), [sha256]);
});

test('a cache that can’t be written is named as the reason', async (t) => {
  const { sha256, deps } = await setting(t);
  await writeFile(deps.cacheDir, 'a file where the directory should be');
  await assert.rejects(ensureLocal(http('http://127.0.0.1:1', sha256), deps), {
    code: 'SOURCE_CACHE',
    message: /cache can't be used: E/,
  });
});

test('an OVA of unknown digest is fetched and kept under the one it has', async (t) => {
  const { bytes, sha256, deps, cached } = await setting(t);
  const server = await startServer(t, (request, response) => serve(request, response, bytes));
  const { url } = http(server.origin, sha256);
  assert.deepEqual(await fetchUnknown({ url }, deps), { path: cached, sha256, size: bytes.length });
  assert.deepEqual(await readdir(deps.cacheDir), [sha256]);
  assert.equal((await ensureLocal(http(server.origin, sha256), deps)).path, cached);
  assert.equal(server.requests.length, 1);
});

test('a file stays where it is and is hashed once', async (t) => {
  const { bytes, sha256, deps } = await setting(t);
  const path = join(deps.cacheDir, '..', 'image.ova');
  const source: OvaSource = { kind: 'file', path, sha256 };
  assert.deepEqual(await ensureLocal(source, deps), { path, sha256, size: bytes.length });
  let reads = 0;
  const first = await inspectSource(source, deps, { onProgress: () => (reads += 1) });
  assert.ok(reads > 0);
  const again = await inspectSource(source, deps, { onProgress: () => assert.fail('read twice') });
  assert.equal(again.inspection, first.inspection);
  await ensureLocal(source, deps, { onProgress: () => assert.fail('hashed twice') });
});

test('a changed file is looked at anew', async (t) => {
  const { sha256, deps } = await setting(t);
  const path = join(deps.cacheDir, '..', 'image.ova');
  const source: OvaSource = { kind: 'file', path, sha256 };
  await inspectSource(source, deps);
  await appendFile(path, Buffer.alloc(512));
  const bytes = await readFile(path);
  const changed = createHash('sha256').update(bytes).digest('hex');
  for (const attempt of [ensureLocal(source, deps), inspectSource(source, deps)]) {
    await assert.rejects(attempt, { code: 'OVA_SHA256_MISMATCH', message: new RegExp(`sha256 is ${changed}`) });
  }
  await assert.rejects(ensureLocal({ ...source, size: bytes.length + 1 }, deps), { code: 'OVA_TRUNCATED' });
  assert.equal((await inspectSource({ ...source, sha256: changed, size: bytes.length }, deps)).local.sha256, changed);
});

test('the options are part of what is remembered', async (t) => {
  const { deps } = await setting(t);
  const path = join(deps.cacheDir, '..', 'plain.ova');
  const { sha256 } = await buildOva({ path, manifest: false });
  const source: OvaSource = { kind: 'file', path, sha256 };
  await inspectSource(source, deps);
  await assert.rejects(inspectSource(source, deps, { verifyManifest: 'require' }), { code: 'MANIFEST_MISSING' });
  const { inspection } = await inspectSource(source, deps, { targetVersion: '2' });
  assert.match(inspection.warnings.join(), /OVF_VERSION_MISMATCH/);
});
