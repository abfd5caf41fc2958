import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { ensureLocal, type SourceDeps } from '../../../activities/ova/source-cache.ts';
import { bigDisk, buildOva } from '../../support/ova-builder.ts';
import { waitFor } from '../../support/wait-for.ts';
import { serve, startServer } from './file-server.ts';
import { scratchDir } from './scratch.ts';

const cacheModule = new URL('../../../activities/ova/source-cache.ts', import.meta.url).href;
const program = `
const { ensureLocal } = await import(${JSON.stringify(cacheModule)});
const [source, cacheDir] = process.argv.slice(1);
const deps = { cacheDir, headersFor: async () => ({}), log: { warn() {} } };
console.log((await ensureLocal(JSON.parse(source), deps)).path);
`;

/** A worker of its own that fetches the OVA into the shared cache. */
function startFetcher(t: TestContext, source: object, cacheDir: string): ChildProcess {
  const args = ['--input-type=module', '-e', program, JSON.stringify(source), cacheDir];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

async function prepare(t: TestContext) {
  const dir = await scratchDir(t);
  const ova = await buildOva({ path: join(dir, 'image.ova'), disks: [bigDisk(400_000, 'pattern')] });
  const cacheDir = join(dir, 'cache');
  const deps: SourceDeps = { cacheDir, headersFor: () => Promise.resolve({}), log: { warn: () => undefined } };
  return { bytes: await readFile(ova.path), sha256: ova.sha256, cacheDir, deps };
}

test('template/37 workers that share a cache fetch an OVA once', async (t) => {
  const { bytes, sha256, cacheDir } = await prepare(t);
  let release = (): void => undefined;
  const server = await startServer(t, (_request, response) => {
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, 100_000));
    release = () => response.end(bytes.subarray(100_000));
  });
  const source = { kind: 'http', url: `${server.origin}/image.ova`, sha256 };
  const first = startFetcher(t, source, cacheDir);
  await waitFor('the first request', () => server.requests.length === 1);
  const second = startFetcher(t, source, cacheDir);
  const ends = Promise.all([once(first, 'exit'), once(second, 'exit')]);
  release();
  assert.deepEqual(
    (await ends).map(([code]: unknown[]) => code),
    [0, 0],
  );
  assert.equal(server.requests.length, 1);
  assert.deepEqual(await readdir(cacheDir), [sha256]);
});

test('what a killed worker has fetched is gone on with', async (t) => {
  const { bytes, sha256, cacheDir, deps } = await prepare(t);
  const server = await startServer(t, (request, response, nth) => {
    if (nth > 1) {
      serve(request, response, bytes);
      return;
    }
    response.writeHead(200, { 'content-length': bytes.length, etag: '"v1"' });
    response.write(bytes.subarray(0, 100_000));
  });
  const source = { kind: 'http', url: `${server.origin}/image.ova`, sha256 } as const;
  const victim = startFetcher(t, source, cacheDir);
  await waitFor('the partial file', async () => {
    const part = (await readdir(cacheDir).catch(() => [])).find((name) => name.endsWith('.part'));
    return part !== undefined && (await readFile(join(cacheDir, part))).length === 100_000;
  });
  victim.kill('SIGKILL');
  await once(victim, 'exit');
  const local = await ensureLocal(source, deps);
  assert.deepEqual(await readFile(local.path), bytes);
  assert.equal(server.requests[1]?.headers.range, 'bytes=100000-');
  assert.deepEqual(await readdir(cacheDir), [sha256]);
});
