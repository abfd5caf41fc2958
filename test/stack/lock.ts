import { open, readFile, unlink } from 'node:fs/promises';
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

async function acquire(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx');
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
    if (await isAbandoned(path)) await unlink(path).catch(ignoreMissing);
    return false;
  }
}

/** An empty file is one that its owner is about to write its pid to. */
async function isAbandoned(path: string): Promise<boolean> {
  const pid = Number(await readFile(path, 'utf8').catch(() => ''));
  return pid > 0 && pid !== process.pid && !isAlive(pid);
}

function isAlive(pid: number): boolean {
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
