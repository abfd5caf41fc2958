/** Those who wait for a change of some VM. */
export interface Waiting {
  /** Resolves with what the probe answers; fails after the time. `what` completes the sentence "waited 60000 ms for …". */
  until<T>(vm: string, probe: () => T | undefined, timeoutMs: number, what: () => string): Promise<T>;
  /** Something of this VM changed: those who wait for it look again. */
  look(vm: string): void;
  /** Whoever still waits fails with this. */
  fail(error: Error): void;
}

export function createWaiting(): Waiting {
  const waiters = new Set<{ readonly vm: string; look(): void; fail(error: Error): void }>();
  return {
    until(vm, probe, timeoutMs, what) {
      const first = probe();
      if (first !== undefined) return Promise.resolve(first);
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          clearTimeout(timer);
          waiters.delete(waiter);
        };
        const waiter = {
          vm,
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
    look(vm) {
      for (const waiter of [...waiters]) if (waiter.vm === vm) waiter.look();
    },
    fail: (error) => [...waiters].forEach((waiter) => waiter.fail(error)),
  };
}
