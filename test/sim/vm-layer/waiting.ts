/** Those who wait for something in the cache. */
export interface Waiting {
  /** Resolves with what the probe answers; fails after the time. `what` completes the sentence "waited 10000 ms for …". */
  until<T>(probe: () => T | undefined, timeoutMs: number, what: () => string): Promise<T>;
  /** Something changed: everybody looks again. */
  look(): void;
  /** Whoever still waits fails with this. */
  fail(error: Error): void;
}

export function createWaiting(): Waiting {
  const waiters = new Set<{ look(): void; fail(error: Error): void }>();
  return {
    until(probe, timeoutMs, what) {
      const first = probe();
      if (first !== undefined) return Promise.resolve(first);
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          clearTimeout(timer);
          waiters.delete(waiter);
        };
        const waiter = {
          look(): void {
            try {
              const answer = probe();
              if (answer === undefined) return;
              resolve(answer);
              leave();
            } catch (error) {
              waiter.fail(error instanceof Error ? error : new Error(String(error)));
            }
          },
          fail(error: Error): void {
            reject(error);
            leave();
          },
        };
        const timer = setTimeout(() => waiter.fail(new Error(`waited ${timeoutMs} ms for ${what()}`)), timeoutMs);
        waiters.add(waiter);
      });
    },
    look: () => [...waiters].forEach((waiter) => waiter.look()),
    fail: (error) => [...waiters].forEach((waiter) => waiter.fail(error)),
  };
}
