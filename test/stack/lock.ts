import { randomUUID } from 'node:crypto';
import { link, readFile, unlink, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs `work` while holding the lock file. A lock whose owner is gone is taken over. Two processes that find such a lock in the
 * same instant may both get it: callers must stay correct then, the lock only saves them double work.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, onWait?: () => void): Promise<T> {
  let waited = false;
  while (!(await acquire(path))) {
    if (!waited) onWait?.();
    waited = true;
    await sleep(200);
  }
  try {
    return await work();
  } finally {
    await unlink(path).catch(ignoreMissing);
  }
}

/** Linked into place, so that a lock never lacks its owner's pid. */
async function acquire(path: string): Promise<boolean> {
  const own = `${path}.${randomUUID()}`;
  await writeFile(own, `${process.pid}`);
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
    if (await isAbandoned(path)) await unlink(path).catch(ignoreMissing);
    return false;
  } finally {
    await unlink(own);
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  const owner = await readFile(path, 'utf8').catch(() => undefined); // given back just now
  return owner !== undefined && !isAlive(Number(owner));
}

function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, 'EPERM');
  }
}

function ignoreMissing(error: unknown): void {
  if (!isCode(error, 'ENOENT')) throw error;
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
