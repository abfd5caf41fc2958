import { OperationError } from '../failures.ts';
import type { Applied } from '../../workflows/contracts/activities.ts';
import {
  ClusterError,
  type Cluster,
  type JsonPatchOperation,
  type KubeObject,
  type Resource,
} from '../kubernetes/port.ts';
import { RegistryError } from '../registry/port.ts';
import { setKeys } from '../kubernetes/change.ts';
import type { PodVersion } from '../../workflows/domain/hibernate/step.ts';
import { resources } from '../kubernetes/resources.ts';

/** Somebody else was faster: what was decided may no longer be right. */
export class Stale extends Error {
  override readonly name = 'Stale';
}

/** A write that holds only for the object as it was seen. Throws `Stale` when it is another by now, or gone. */
async function guarded<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (err) {
    if (err instanceof ClusterError && (err.reason === 'Conflict' || err.reason === 'NotFound'))
      throw new Stale(err.message, { cause: err });
    throw err;
  }
}

/** Sets or (with undefined) removes annotations of an object as it was seen; nothing when they are so already. */
export async function annotate(
  cluster: Cluster,
  resource: Resource,
  object: KubeObject,
  wanted: Readonly<Record<string, string | undefined>>,
): Promise<KubeObject> {
  const operations = setKeys(object, 'annotations', wanted);
  if (operations.length === 0) return object;
  return await patchAsSeen(cluster, resource, object, operations);
}

export async function patchAsSeen(
  cluster: Cluster,
  resource: Resource,
  object: KubeObject,
  operations: readonly JsonPatchOperation[],
  options: { readonly status?: boolean } = {},
): Promise<KubeObject> {
  const { namespace, name, resourceVersion, uid } = object.metadata;
  const tests: JsonPatchOperation[] = [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
  ];
  return await guarded(() => cluster.patch(resource, namespace, name, [...tests, ...operations], options));
}

/** Deletes exactly this Pod as it was seen. One that is gone is gone. */
export async function removePod(
  cluster: Cluster,
  where: { readonly namespace: string; readonly name: string },
  { uid, resourceVersion }: PodVersion,
  force = false,
): Promise<void> {
  await guarded(() =>
    cluster.remove(resources.pod, where.namespace, where.name, { uid, resourceVersion }, force ? 0 : undefined),
  );
}

const forGood: readonly string[] = ['Invalid', 'Forbidden', 'Denied', 'Unauthorized', 'Other'];
const registryForGood: readonly string[] = ['Forbidden', 'Unauthorized', 'DeletionDisabled', 'Invalid', 'Untrusted'];

/**
 * What became of a change. What the far side refuses until somebody allows it is an answer, for people to see; an API server that
 * is away is not: it is tried again.
 */
export async function outcomeOf(work: () => Promise<Applied['outcome'] | undefined>): Promise<Applied> {
  try {
    return { outcome: (await work()) ?? 'done' };
  } catch (err) {
    if (err instanceof Stale) return { outcome: 'stale', message: err.message };
    if (err instanceof ClusterError) {
      if (err.reason === 'AlreadyExists') return { outcome: 'exists', message: err.message };
      if (forGood.includes(err.reason)) return { outcome: 'forbidden', message: err.message };
    }
    // Such as a secret that can't be read: somebody has to mend the configuration.
    if (err instanceof OperationError && err.type === 'InvalidRequest')
      return { outcome: 'forbidden', message: err.message };
    if (err instanceof RegistryError)
      return { outcome: registryForGood.includes(err.reason) ? 'forbidden' : 'unavailable', message: err.message };
    throw err;
  }
}
