import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { withLock } from '../../stack/lock.ts';

let dir = '';
before(async () => void (dir = await mkdtemp(join(tmpdir(), 'vmflow-lock-'))));
after(() => rm(dir, { recursive: true, force: true }));

test('two holders of one lock never work at the same time, and the second is told that it waits', async () => {
  const path = join(dir, 'two.lock');
  let working = 0;
  let waits = 0;
  const work = async (): Promise<void> => {
    working += 1;
    assert.equal(working, 1);
    for (let turns = 0; turns < 20; turns += 1) await turn();
    working -= 1;
  };
  await Promise.all([withLock(path, work, () => (waits += 1)), withLock(path, work, () => (waits += 1))]);
  assert.equal(waits, 1);
});

test('a lock is given back when the work fails', async () => {
  const path = join(dir, 'fails.lock');
  await assert.rejects(
    withLock(path, () => Promise.reject(new Error('no'))),
    /no/,
  );
  await assert.rejects(access(path));
});

test('the lock of a process that is gone is taken over', async () => {
  const path = join(dir, 'gone.lock');
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  await writeFile(path, `${pid}`);
  assert.equal(await withLock(path, () => Promise.resolve('mine')), 'mine');
});
