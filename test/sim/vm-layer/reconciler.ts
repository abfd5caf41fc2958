import pLimit from 'p-limit';
import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import type { Behaviour } from './behaviour.ts';
import { createClocks, type Clocks } from './clocks.ts';
import type { Move, World } from './moves.ts';
import type { ObjectCache } from './object-cache.ts';
import { plan } from './plan.ts';
import type { SimNode } from './types.ts';
import type { Writer } from './writer.ts';

const budgets = {
  /** Requests under way at once. More only makes the API server queue them. */
  writes: 24,
  /** An API server that comes back is noticed within this time. */
  longestPauseMs: 1_000,
  /** The longest time that a timer can be set for. */
  longestTimerMs: 2 ** 31 - 1,
} as const;

export interface ReconcilerDeps {
  readonly cache: ObjectCache;
  readonly write: Writer;
  readonly nodes: readonly SimNode[];
  /** Fails when an annotation makes no sense. */
  behaviourOf(vm: KubeObject | undefined): Behaviour;
  onFailure(error: Error): void;
}

/** Asks the rules about a VM whenever something changed, and makes the writes they want, one after the other per VM. */
export interface Reconciler {
  look(namespace: string, name: string): void;
  /** Resolves when no write for it is under way; without a name: for all. */
  freeze(vm?: string): Promise<void>;
  thaw(vm?: string): void;
  stop(): Promise<void>;
}

interface Entry {
  readonly clocks: Clocks;
  /** The rounds under way. */
  busy?: Promise<void>;
  isDirty: boolean;
  timer?: NodeJS.Timeout | undefined;
  failures: number;
}

export function createReconciler(deps: ReconcilerDeps): Reconciler {
  const { cache } = deps;
  const limit = pLimit(budgets.writes);
  const entries = new Map<string, Entry>();
  const frozen = new Set<string>();
  let isFrozen = false;
  let isStopped = false;

  const holds = (key: string): boolean => isStopped || isFrozen || frozen.has(key);

  function look(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const entry = entries.get(key) ?? { clocks: createClocks(), isDirty: false, failures: 0 };
    entries.set(key, entry);
    entry.isDirty = true;
    if (entry.busy !== undefined || holds(key)) return;
    entry.busy = work(key, namespace, name, entry).finally(() => {
      delete entry.busy;
      if (entry.isDirty) look(namespace, name);
    });
  }

  async function work(key: string, namespace: string, name: string, entry: Entry): Promise<void> {
    await Promise.resolve(); // changes that come together are looked at together
    while (entry.isDirty && !holds(key)) {
      entry.isDirty = false;
      clearTimeout(entry.timer);
      const waitMs = await round(namespace, name, entry);
      if (waitMs === 0) entry.isDirty = true;
      else if (waitMs !== undefined)
        entry.timer = setTimeout(() => look(namespace, name), Math.min(waitMs, budgets.longestTimerMs));
    }
  }

  /** How long to wait for the next one; undefined: until something changes. */
  async function round(namespace: string, name: string, entry: Entry): Promise<number | undefined> {
    try {
      const move = decide(namespace, name, entry.clocks);
      if (move === undefined || 'afterMs' in move) return move === undefined ? undefined : Math.ceil(move.afterMs);
      await limit(() => deps.write(namespace, name, move));
      entry.failures = 0;
      return 0;
    } catch (error) {
      if (!isStopped) deps.onFailure(error instanceof Error ? error : new Error(String(error)));
      entry.failures += 1;
      return Math.min(budgets.longestPauseMs, 50 * 2 ** entry.failures);
    }
  }

  function decide(namespace: string, name: string, clocks: Clocks): Move {
    const vm = cache.get('vm', namespace, name);
    const behaviour = deps.behaviourOf(vm);
    if (behaviour.is('frozen')) return undefined;
    const world: World = {
      namespace,
      name,
      vm,
      machine: cache.get('machine', namespace, name),
      instance: cache.get('instance', namespace, name),
      migrations: cache.migrationsOf(namespace, name),
      behaviour,
      nodes: deps.nodes,
      now: new Date().toISOString(),
      elapsed: (clock) => clocks.elapsed(clock),
    };
    const move = plan(world);
    clocks.settle();
    return move;
  }

  async function idle(key?: string): Promise<void> {
    const some = key === undefined ? [...entries.values()] : [entries.get(key)];
    await Promise.all(some.flatMap((entry) => entry?.busy ?? []));
  }

  return {
    look,
    async freeze(vm) {
      if (vm === undefined) isFrozen = true;
      else frozen.add(vm);
      await idle(vm);
    },
    thaw(vm) {
      if (vm === undefined) isFrozen = false;
      else frozen.delete(vm);
      for (const [namespace, name] of cache.vms()) look(namespace, name);
    },
    async stop() {
      isStopped = true;
      for (const { timer } of entries.values()) clearTimeout(timer);
      await idle();
    },
  };
}
