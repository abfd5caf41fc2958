import type { KubeObject, ResourceWatch } from './port.ts';

type Listener = Parameters<ResourceWatch['subscribe']>[0];
type Change = Parameters<Listener>[0];

/** The last known state of all objects of one kind, and who wants to hear what changes in it. */
export interface ObjectStore extends Pick<ResourceWatch, 'get' | 'items' | 'subscribe'> {
  /** A whole list: what isn't in it is gone. */
  replace(items: readonly KubeObject[]): void;
  put(object: KubeObject): void;
  remove(object: KubeObject): void;
}

export function createObjectStore(onListenerFailure: (error: unknown) => void): ObjectStore {
  const objects = new Map<string, KubeObject>();
  const listeners = new Set<Listener>();

  /** One listener's mistake must not keep a change from the others, nor end the watch. */
  function tell(type: Change['type'], object: KubeObject): void {
    for (const listener of [...listeners]) {
      try {
        listener({ type, object });
      } catch (error) {
        onListenerFailure(error);
      }
    }
  }

  function drop(known: KubeObject, lastSeen: KubeObject): void {
    objects.delete(keyOf(known));
    tell('deleted', lastSeen);
  }

  const store: ObjectStore = {
    get: (namespace, name) => objects.get(`${namespace}/${name}`),
    items: () => [...objects.values()],
    subscribe(listener) {
      const own: Listener = (change) => listener(change); // the same function may be given twice
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    replace(items) {
      const listed = new Set(items.map(keyOf));
      for (const known of [...objects.values()]) if (!listed.has(keyOf(known))) drop(known, known);
      for (const item of items) store.put(item);
    },
    put(object) {
      const known = objects.get(keyOf(object));
      const isSame = known?.metadata.uid === object.metadata.uid;
      if (isSame && known.metadata.resourceVersion === object.metadata.resourceVersion) return;
      // Another object under the same name: the end of the first one went unseen.
      if (known !== undefined && !isSame) drop(known, known);
      objects.set(keyOf(object), object);
      tell(isSame ? 'modified' : 'added', object);
    },
    remove(object) {
      const known = objects.get(keyOf(object));
      if (known?.metadata.uid === object.metadata.uid) drop(known, object);
    },
  };
  return store;
}

function keyOf({ metadata }: KubeObject): string {
  return `${namespaceOf(metadata)}/${metadata.name}`;
}

/** Objects of kinds without namespaces leave it out, whatever the type says. */
export function namespaceOf({ namespace }: { readonly namespace?: string }): string {
  return namespace ?? '';
}
