import { setTimeout as sleep } from 'node:timers/promises';
import { causeOf } from './classify.ts';
import type { ClusterLog } from './log.ts';
import { createObjectStore } from './object-store.ts';
import type { KubeObject, ResourceWatch } from './port.ts';
import { WatchRefused, type WatchEvent } from './transport.ts';

/** Where a watch gets its objects from. */
export interface WatchSource {
  /** For the log. */
  readonly name: string;
  list(): Promise<{ readonly items: readonly KubeObject[]; readonly resourceVersion: string }>;
  /** See `Transport.watch`. */
  follow(resourceVersion: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>;
}

export interface StoppableWatch extends ResourceWatch {
  stop(): void;
}

const pauses = {
  /** Two requests at most per pause (list, watch): never more than five a second, whatever the API server does. */
  shortestMs: 400,
  /** An API server that comes back is noticed within this time. */
  longestMs: 2_000,
} as const;

const gone = 410;

/**
 * Lists, then follows the changes, for ever: a watch that the server ends goes on where it was, one that is lost, refused or too
 * old begins with a new list. What happened in between is told as the difference of the two lists.
 */
export function resourceWatch(source: WatchSource, log: ClusterLog): StoppableWatch {
  const stopping = new AbortController();
  const isStopped = (): boolean => stopping.signal.aborted;
  const store = createObjectStore((error) =>
    log.warn({ resource: source.name, error: causeOf(error) }, 'A listener of a watch failed'),
  );
  const first = outcome();
  /** In a row, since the last sign of life of a watch: what the pauses grow with. */
  let failures = 0;
  /** A loss is told once, until a list came in again. */
  let isLossTold = false;

  async function listAndFollow(): Promise<void> {
    const { items, resourceVersion } = await source.list();
    isLossTold = false;
    store.replace(items);
    first.resolve();
    let version: string | undefined = resourceVersion;
    while (version !== undefined) version = await follow(version);
  }

  /** The version to go on from; undefined when the server no longer knows the old one. */
  async function follow(from: string): Promise<string | undefined> {
    let version: string | undefined = from;
    const onEvent = (event: WatchEvent): void => {
      version = apply(event);
    };
    const begun = performance.now();
    try {
      await source.follow(from, onEvent, stopping.signal);
    } catch (error) {
      if (error instanceof WatchRefused && error.status === gone) return undefined;
      throw error;
    }
    failures = 0;
    if (performance.now() - begun < pauses.shortestMs) await pause();
    return version;
  }

  /** The version that the event leads to; undefined when it says that only a new list helps. */
  function apply({ type, object }: WatchEvent): string | undefined {
    if (type === 'ERROR') return undefined;
    failures = 0;
    const changed = object as KubeObject;
    if (type === 'DELETED') store.remove(changed);
    else if (type !== 'BOOKMARK') store.put(changed);
    return changed.metadata.resourceVersion;
  }

  function pause(): Promise<unknown> {
    const ms = Math.min(pauses.longestMs, pauses.shortestMs * 2 ** failures);
    return sleep(ms, undefined, { signal: stopping.signal });
  }

  async function run(): Promise<void> {
    while (!isStopped()) {
      try {
        await listAndFollow();
        await pause();
      } catch (error) {
        if (isStopped()) return;
        const fields = { resource: source.name, error: causeOf(error) };
        if (!isLossTold) log.warn(fields, 'A watch was lost; listing again until the API server answers');
        else log.debug(fields, 'The API server still does not answer a watch');
        isLossTold = true;
        await pause().catch(() => undefined);
        failures += 1;
      }
    }
  }

  void run();
  return {
    ready: first.promise,
    get: (namespace, name) => store.get(namespace, name),
    items: () => store.items(),
    subscribe: (listener) => store.subscribe(listener),
    stop() {
      stopping.abort();
      first.reject(new Error(`The watch of ${source.name} objects was closed before its first list came in.`));
    },
  };
}

interface Outcome {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

function outcome(): Outcome {
  let settle: Pick<Outcome, 'resolve' | 'reject'> | undefined;
  const promise = new Promise<void>((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => undefined); // whoever waits for it learns it
  return { promise, resolve: () => settle?.resolve(), reject: (error) => settle?.reject(error) };
}
