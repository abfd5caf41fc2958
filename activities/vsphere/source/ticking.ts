import type { CallOptions } from '../port.ts';
import type { SourceCallOptions } from '../source-port.ts';

const everyMs = 1_000;

/** Runs work and tells the caller that it goes on, every second. */
export async function ticking<T>({ onProgress }: SourceCallOptions, work: () => Promise<T>): Promise<T> {
  if (onProgress === undefined) return await work();
  const timer = setInterval(onProgress, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** What a call of the session needs of the options. */
export const callOptions = ({ signal }: SourceCallOptions): CallOptions => (signal === undefined ? {} : { signal });
