import type { CacheChange } from './object-cache.ts';
import { isDeleting } from './objects.ts';
import type { InstanceLife, LayerWrite } from './types.ts';

/** What has happened, for assertions. */
export interface History {
  seen(change: CacheChange): void;
  readonly wrote: (write: LayerWrite) => void;
  instancesOf(namespace: string, name: string): readonly InstanceLife[];
  writes(namespace?: string, vmName?: string): readonly LayerWrite[];
}

export function createHistory(): History {
  /** By namespace and name, then by UID. */
  const lives = new Map<string, Map<string, InstanceLife>>();
  const log: LayerWrite[] = [];
  return {
    seen({ kind, object, isGone }) {
      if (kind !== 'instance') return;
      const { namespace, name, uid } = object.metadata;
      const ofVm = lives.get(`${namespace}/${name}`) ?? new Map<string, InstanceLife>();
      lives.set(`${namespace}/${name}`, ofVm);
      const now = Date.now();
      const life: InstanceLife = ofVm.get(uid) ?? { uid, createdAt: now };
      const isEnding = (isGone || isDeleting(object)) && life.deletingAt === undefined;
      ofVm.set(uid, { ...life, ...(isEnding ? { deletingAt: now } : {}), ...(isGone ? { goneAt: now } : {}) });
    },
    wrote: (write) => void log.push(write),
    instancesOf: (namespace, name) => [...(lives.get(`${namespace}/${name}`)?.values() ?? [])],
    writes: (namespace, vmName) =>
      log.filter(
        (write) =>
          (namespace === undefined || write.namespace === namespace) &&
          (vmName === undefined || write.vmName === vmName),
      ),
  };
}
