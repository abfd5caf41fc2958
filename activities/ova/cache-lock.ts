import { randomUUID } from 'node:crypto';
import { open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { z } from 'zod';

import { errnoOf } from './source-error.ts';

const times = {
  /** Touched this often, so that others see that the holder lives, even on another machine. */
  refreshMs: 5_000,
  /** Six missed touches. */
  staleMs: 30_000,
  pollMs: 250,
} as const;

const holderSchema = z.object({ host: z.string(), pid: z.int(), token: z.string() });
type Holder = z.infer<typeof holderSchema>;

/** How the lock was come by. */
export interface HeldLock {
  /** False when a holder that may still be running (on another machine) was declared dead by age alone. */
  readonly isSafe: boolean;
}

/**
 * Runs `work` while no other process does under this lock file. It keeps processes from doing the same work twice; it is no
 * proof of exclusion: two that see one stale lock at the same moment may both go on.
 */
export async function withLock<T>(
  path: string,
  options: { readonly signal: AbortSignal; readonly onWait?: () => void },
  work: (lock: HeldLock) => Promise<T>,
): Promise<T> {
  const token = randomUUID();
  const lock = await acquire(path, token, options);
  const refresh = setInterval(() => {
    const now = new Date();
    // Taken over or removed by hand: the work goes on, its result is as good.
    utimes(path, now, now).catch(() => undefined);
  }, times.refreshMs);
  try {
    return await work(lock);
  } finally {
    clearInterval(refresh);
    if ((await readHolder(path))?.token === token) await rm(path, { force: true });
  }
}

async function acquire(
  path: string,
  token: string,
  options: { readonly signal: AbortSignal; readonly onWait?: () => void },
): Promise<HeldLock> {
  let isSafe = true;
  for (;;) {
    options.signal.throwIfAborted();
    if (await create(path, { host: hostname(), pid: process.pid, token })) return { isSafe };
    const state = await stateOf(path);
    if (state === 'held') {
      options.onWait?.();
      await sleep(times.pollMs, undefined, { signal: options.signal });
      continue;
    }
    if (state === 'silent') isSafe = false;
    if (state !== 'free') await rm(path, { force: true });
  }
}

async function create(path: string, holder: Holder): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(JSON.stringify(holder));
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** `dead`: its process is gone for certain; `silent`: no sign of life for too long. */
async function stateOf(path: string): Promise<'free' | 'held' | 'dead' | 'silent'> {
  const file = await stat(path).catch(() => undefined);
  if (file === undefined) return 'free';
  const holder = await readHolder(path);
  if (holder?.host === hostname() && !isAlive(holder.pid)) return 'dead';
  return Date.now() - file.mtimeMs > times.staleMs ? 'silent' : 'held';
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return holderSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    // Not there, or its maker is still writing it.
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== 'ESRCH';
  }
}
