import { ClusterError, type Cluster, type KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { Step } from './moves.ts';
import type { ObjectCache } from './object-cache.ts';
import { isDeleting, type Kind } from './objects.ts';
import type { LayerWrite } from './types.ts';

/** False: the object isn't as the rule saw it, ask the rules again. */
export type Writer = (namespace: string, vmName: string, step: Step) => Promise<boolean>;

/** Makes one write and tells log and cache. When nothing is known about its effect it fails, and what is there is read again. */
export function createWriter(cluster: Cluster, cache: ObjectCache, onWrite: (write: LayerWrite) => void): Writer {
  async function refresh(kind: Kind, namespace: string, name: string): Promise<void> {
    const known = cache.get(kind, namespace, name);
    const object = await cluster.get(resources[kind], namespace, name);
    if (object !== undefined) cache.put(kind, object);
    else if (known !== undefined) cache.gone(kind, known);
  }

  async function write(namespace: string, step: Step): Promise<KubeObject> {
    const resource = resources[step.on];
    if (step.verb === 'create') return await cluster.create(resource, namespace, step.body);
    const { metadata } = step.object;
    if (step.verb === 'patch') {
      const asSeen = { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion } as const;
      const options = { status: step.status === true };
      return await cluster.patch(resource, namespace, metadata.name, [asSeen, ...step.operations], options);
    }
    await cluster.remove(resource, namespace, metadata.name, { uid: metadata.uid });
    await refresh(step.on, namespace, metadata.name);
    return step.object;
  }

  return async (namespace, vmName, step) => {
    const name = step.verb === 'create' ? step.body.metadata.name : step.object.metadata.name;
    try {
      const object = await write(namespace, step);
      const { verb, on, why } = step;
      onWrite({ at: Date.now(), verb, on, namespace, vmName, name, uid: object.metadata.uid, why });
      // A deleted object goes with its last finalizer.
      const isGone = step.verb === 'patch' && isDeleting(object) && (object.metadata.finalizers ?? []).length === 0;
      if (isGone) cache.gone(step.on, object);
      else if (step.verb !== 'delete') cache.put(step.on, object);
      return true;
    } catch (error) {
      await refresh(step.on, namespace, name);
      if (error instanceof ClusterError && lostRaces.includes(error.reason)) return false;
      throw error;
    }
  };
}

const lostRaces: readonly string[] = ['Conflict', 'NotFound', 'AlreadyExists'];
