/** A signal that follows `signal` and fires by itself after `ms`. Dispose it when the work is done, or the timer lives on. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether the time ran out, as opposed to the caller's abort. */
  readonly expired: () => boolean;
  readonly dispose: () => void;
}

export function deadline(ms: number, signal?: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    controller.abort(new Error(`no answer within ${ms} ms`));
  }, ms);
  const follow = (): void => controller.abort(signal?.reason);
  if (signal?.aborted === true) follow();
  else signal?.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    expired: () => expired,
    dispose: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', follow);
    },
  };
}

/** Waits; rejects with the signal's reason when aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await withAbort(signal, (resolve) => {
    const timer = setTimeout(resolve, ms);
    return () => clearTimeout(timer);
  });
}

/** Lets the caller's signal end a wait for something that others wait for as well and that goes on. */
export async function untilAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  // Its failure is the others' affair once this caller has left.
  work.catch(() => undefined);
  let result: { readonly value: T } | undefined;
  await withAbort(signal, (resolve, reject) => {
    work.then((value) => {
      result = { value };
      resolve();
    }, reject);
    return () => undefined;
  });
  if (result === undefined) throw new Error('the work ended without a result');
  return result.value;
}

function withAbort(
  signal: AbortSignal | undefined,
  start: (resolve: () => void, reject: (reason: unknown) => void) => () => void,
): Promise<void> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      stop();
      reject(reasonOf(signal));
    };
    const finish = (done: () => void): void => {
      signal?.removeEventListener('abort', abort);
      done();
    };
    const stop = start(
      () => finish(resolve),
      (reason) => finish(() => reject(reason instanceof Error ? reason : new Error(String(reason)))),
    );
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** The reason of an abort as an error. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error(`aborted: ${String(reason)}`);
}
