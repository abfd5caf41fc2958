import type { Cluster, KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { kinds, vmNameOf, type Kind } from './objects.ts';

export interface CacheChange {
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly isGone: boolean;
}

/**
 * The last known state of all objects of the layer: from watches, and from the answers to the layer's own writes, which it has
 * to know before a watch tells them.
 */
export interface ObjectCache {
  get(kind: Kind, namespace: string, name: string): KubeObject | undefined;
  /** Oldest first. */
  migrationsOf(namespace: string, vmName: string): readonly KubeObject[];
  /** Older states of the same object, and objects that are gone, are left out. */
  put(kind: Kind, object: KubeObject): void;
  gone(kind: Kind, object: KubeObject): void;
  /** Namespace and VM of everything that is known. */
  vms(): readonly (readonly [namespace: string, name: string])[];
}

export function createObjectCache(onChange: (change: CacheChange) => void): ObjectCache {
  const known = { vm: new Map(), machine: new Map(), instance: new Map(), migration: new Map() } as Readonly<
    Record<Kind, Map<string, KubeObject>>
  >;
  /** What a watch may still tell of, late. */
  const goneUids = new Set<string>();
  /** Names of migrations by namespace and VM. */
  const migrations = new Map<string, Set<string>>();

  function keep(kind: Kind, object: KubeObject): void {
    known[kind].set(keyOf(object), object);
    if (kind !== 'migration') return;
    const vm = `${object.metadata.namespace}/${vmNameOf(kind, object)}`;
    migrations.set(vm, (migrations.get(vm) ?? new Set()).add(object.metadata.name));
  }

  return {
    get: (kind, namespace, name) => known[kind].get(`${namespace}/${name}`),
    migrationsOf: (namespace, vmName) =>
      [...(migrations.get(`${namespace}/${vmName}`) ?? [])]
        .map((name) => known.migration.get(`${namespace}/${name}`))
        .filter((object) => object !== undefined)
        .sort((one, other) => age(one).localeCompare(age(other))),
    put(kind, object) {
      if (goneUids.has(object.metadata.uid)) return;
      const before = known[kind].get(keyOf(object));
      if (before !== undefined && version(before) >= version(object)) return;
      if (before !== undefined && before.metadata.uid !== object.metadata.uid) this.gone(kind, before);
      keep(kind, object);
      onChange({ kind, object, isGone: false });
    },
    gone(kind, object) {
      goneUids.add(object.metadata.uid);
      const before = known[kind].get(keyOf(object));
      if (before?.metadata.uid !== object.metadata.uid) return;
      known[kind].delete(keyOf(object));
      if (kind === 'migration')
        migrations.get(`${object.metadata.namespace}/${vmNameOf(kind, object)}`)?.delete(object.metadata.name);
      onChange({ kind, object, isGone: true });
    },
    vms: () =>
      kinds.flatMap((kind) =>
        [...known[kind].values()].map((object) => [object.metadata.namespace, vmNameOf(kind, object)] as const),
      ),
  };
}

/** Fills the cache from the watches of a cluster; resolves when it holds what is there. */
export async function follow(
  cluster: Cluster,
  cache: ObjectCache,
  isOurs: (namespace: string) => boolean,
): Promise<void> {
  const watches = kinds.map((kind) => ({ kind, watch: cluster.watch(resources[kind]) }));
  for (const { kind, watch } of watches)
    watch.subscribe(({ type, object }) => {
      if (!isOurs(object.metadata.namespace)) return;
      if (type === 'deleted') cache.gone(kind, object);
      else cache.put(kind, object);
    });
  await Promise.all(watches.map(({ watch }) => watch.ready));
}

const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;
const version = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion);
const age = ({ metadata }: KubeObject): string => `${metadata.creationTimestamp} ${metadata.name}`;
