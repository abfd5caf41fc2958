import { setTimeout as sleep } from 'node:timers/promises';

/** How long to wait for what must happen. No measure of speed: what never happens costs this once, what happens costs nothing. */
export const patienceMs = 60_000;

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

type Truthy<T> = Exclude<T, undefined | null | false | 0 | ''>;

/**
 * Waits until the probe answers something truthy and returns that. A probe that throws is asked again; its last error is the
 * cause of the failure. `what` completes the sentence "waited 60000 ms for …".
 */
export async function waitFor<T>(
  what: string,
  probe: () => T | Promise<T>,
  { timeoutMs = patienceMs, intervalMs = 20 }: WaitOptions = {},
): Promise<Truthy<T>> {
  const until = performance.now() + timeoutMs;
  let cause: unknown;
  do {
    try {
      const answer = await probe();
      if (answer) return answer as Truthy<T>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await sleep(intervalMs);
  } while (performance.now() < until);
  throw new Error(`waited ${timeoutMs} ms for ${what}`, { cause });
}

/** Fails as soon as the probe is false within the time: what must not happen hasn't. */
export async function stays(what: string, probe: () => boolean | Promise<boolean>, forMs: number): Promise<void> {
  const until = performance.now() + forMs;
  do {
    if (!(await probe())) throw new Error(`not ${what} any more`);
    await sleep(50);
  } while (performance.now() < until);
}
