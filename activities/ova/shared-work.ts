import type { RunOptions, SourceProgress } from './options.ts';

interface Running<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  readonly listeners: Set<(progress: SourceProgress) => void>;
  callers: number;
}

/**
 * Does a piece of work once for all who ask for it at the same time. Everybody sees its progress; who cancels leaves alone, and
 * the last one to leave cancels the work.
 */
export class SharedWork<T> {
  readonly #running = new Map<string, Running<T>>();

  async run(key: string, work: (run: Required<RunOptions>) => Promise<T>, options: RunOptions): Promise<T> {
    options.signal?.throwIfAborted();
    const running = this.#running.get(key) ?? this.#start(key, work);
    const { onProgress, signal } = options;
    if (onProgress !== undefined) running.listeners.add(onProgress);
    running.callers += 1;
    let onAbort: (() => void) | undefined;
    const left = new Promise<never>((_, reject) => {
      // The reason is the caller's; Temporal's cancellation must come out as it went in.
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- passed through unchanged
      onAbort = () => reject(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([running.result, left]);
    } finally {
      if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
      if (onProgress !== undefined) running.listeners.delete(onProgress);
      running.callers -= 1;
      if (running.callers === 0) this.#stop(key, running);
    }
  }

  #start(key: string, work: (run: Required<RunOptions>) => Promise<T>): Running<T> {
    const controller = new AbortController();
    const listeners = new Set<(progress: SourceProgress) => void>();
    const onProgress = (progress: SourceProgress): void => {
      for (const listener of listeners) listener(progress);
    };
    const result = work({ signal: controller.signal, onProgress });
    // Who waits for it sees the failure; once nobody does, it is of no interest.
    result.catch(() => undefined);
    const running: Running<T> = { result, controller, listeners, callers: 0 };
    this.#running.set(key, running);
    return running;
  }

  #stop(key: string, running: Running<T>): void {
    if (this.#running.get(key) === running) this.#running.delete(key);
    running.controller.abort();
  }
}
