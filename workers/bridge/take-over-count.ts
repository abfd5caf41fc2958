import type { KubeObject, ResourceWatch } from '../../activities/kubernetes/port.ts';
import { annotation, vmopOf, type Vmop } from '../../activities/vmop/objects.ts';
import { vmopKeys } from '../../workflows/contracts/vmop.ts';
import type { OperationKind } from '../../workflows/domain/vmop/matrix.ts';
import { isSuperseded } from './metrics.ts';

/**
 * Tells of each operation that turns superseded while we watch, once. Those of the first list did so before: counting them
 * again after every restart would make a rate of nothing. Returns how to stop.
 */
export function onTakeOver(
  watch: ResourceWatch,
  tell: (incumbent: OperationKind, newcomer: OperationKind) => void,
): () => void {
  const counted = new Set<string>();
  let isFirstList = true;
  const see = (type: string, object: KubeObject): void => {
    const { uid } = object.metadata;
    const vmop = vmopOf(object);
    if (type === 'deleted') counted.delete(uid);
    else if (isSuperseded(vmop) && !counted.has(uid)) {
      counted.add(uid);
      const newcomer = newcomerOf(watch, vmop);
      if (!isFirstList && newcomer !== undefined) tell(vmop.ref, newcomer);
    }
  };
  for (const object of watch.items()) see('added', object);
  const unsubscribe = watch.subscribe(({ type, object }) => see(type, object));
  watch.ready.then(
    () => (isFirstList = false),
    () => undefined, // closed before its first list: nothing will come
  );
  return unsubscribe;
}

/** By the UID that the mark names; undefined where it is gone already. */
function newcomerOf(watch: ResourceWatch, { object }: Vmop): OperationKind | undefined {
  const [name = '', uid] = annotation(object, vmopKeys.supersededBy)?.split('/') ?? [];
  const newcomer = watch.get(object.metadata.namespace, name);
  return newcomer !== undefined && newcomer.metadata.uid === uid ? vmopOf(newcomer).ref : undefined;
}
