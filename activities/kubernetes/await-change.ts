import { pause } from '../heartbeat.ts';
import { namespaceOf } from './object-store.ts';
import type { Cluster, Resource } from './port.ts';

/** A watch that missed something is caught up with after this time, milliseconds. */
const lookAtLeastEvery = 60_000;

export interface WatchedObject {
  readonly resource: Resource;
  readonly namespace: string;
  /** Absent: any of the namespace. */
  readonly name?: string;
}

/**
 * Calls `look` at once, whenever one of the objects changes, and now and then, until it answers something. Waiting costs no
 * requests: the watches are shared by the whole process. Throws what `look` throws, or the signal's reason.
 */
export async function untilAnswered<T>(
  cluster: Cluster,
  objects: readonly WatchedObject[],
  signal: AbortSignal,
  look: () => Promise<{ readonly answer: T } | { readonly againInMs?: number }>,
): Promise<T> {
  let bell = new AbortController();
  const stops = objects.map(({ resource, namespace, name }) =>
    cluster.watch(resource).subscribe(({ object: { metadata } }) => {
      if (namespaceOf(metadata) !== namespace || (name !== undefined && metadata.name !== name)) return;
      bell.abort();
    }),
  );
  try {
    await Promise.all(objects.map(({ resource }) => orAborted(cluster.watch(resource).ready, signal)));
    for (;;) {
      signal.throwIfAborted();
      // What changes while we look rings too.
      bell = new AbortController();
      const looked = await look();
      if ('answer' in looked) return looked.answer;
      await pause(looked.againInMs ?? lookAtLeastEvery, AbortSignal.any([signal, bell.signal])).catch(() => undefined);
    }
  } finally {
    for (const stop of stops) stop();
  }
}

async function orAborted(ready: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    ready.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
