import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { hashEntry, openEntry, readEntry } from '../../../activities/ova/entry-reader.ts';
import { scratchDir } from './scratch.ts';

test('a member is read exactly, in chunks that stay valid', async (t) => {
  const path = join(await scratchDir(t), 'file');
  const bytes = randomBytes(1_000_003);
  await writeFile(path, bytes);
  for (const [offset, size] of [
    [0, 1_000_003],
    [17, 999_000],
    [512, 0],
    [1_000_002, 1],
  ] as const) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of openEntry(path, { offset, size })) chunks.push(chunk);
    assert.ok(Buffer.concat(chunks).equals(bytes.subarray(offset, offset + size)));
    assert.ok(chunks.every((chunk) => chunk.length <= 1024 * 1024));
  }
});

test('a reader that is left early closes its file', async (t) => {
  const path = join(await scratchDir(t), 'file');
  await writeFile(path, Buffer.alloc(1_000_000));
  const reader = openEntry(path, { offset: 0, size: 1_000_000 });
  await reader.next();
  await reader.return();
  assert.equal((await reader.next()).done, true);
});

test('a file that became shorter than its inspection said is worth another attempt', async (t) => {
  const path = join(await scratchDir(t), 'file');
  await writeFile(path, Buffer.alloc(1000));
  await truncate(path, 600);
  const entry = { offset: 500, size: 400 };
  const failure = {
    code: 'SOURCE_UNREADABLE',
    permanent: false,
    message: /ends at byte 600, in the middle of a member/,
  };
  await assert.rejects(readEntry(path, entry), failure);
  await assert.rejects(hashEntry(path, entry, 'sha1'), failure);
});

test('a digest can be cancelled', async (t) => {
  const path = join(await scratchDir(t), 'file');
  await writeFile(path, Buffer.alloc(1000));
  const entry = { offset: 0, size: 1000 };
  assert.equal(await hashEntry(path, entry, 'md5'), 'ede3d3b685b4e137ba4cb2521329a75e');
  const reason = new Error('cancelled');
  await assert.rejects(
    hashEntry(path, entry, 'md5', { signal: AbortSignal.abort(reason) }),
    (error) => error === reason,
  );
});
