import { withCondition, type ConditionChange } from '../../workflows/domain/conditions.ts';
import { vmopKeys, type VmopPhase } from '../../workflows/contracts/vmop.ts';
import type { Cluster, JsonPatchOperation } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { change, setFinalizer } from '../kubernetes/change.ts';
import { vmopOf, type Vmop } from './objects.ts';

export interface StatusChange {
  readonly phase: VmopPhase;
  readonly conditions: readonly ConditionChange[];
  /** Such as `33%`. */
  readonly progress?: string;
}

interface Identity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Writes the status of an operation by compare-and-set. A terminal one is never changed, nor is another object of the same
 * name. `work` says what to write to what it is given; undefined: nothing. Answers the object as it then is; undefined: gone.
 */
export async function writeStatus(
  cluster: Cluster,
  op: Identity,
  work: (vmop: Vmop) => StatusChange | undefined,
): Promise<Vmop | undefined> {
  const object = await change(cluster, { ...target(op), status: true }, (current) => {
    const vmop = vmopOf(current);
    if (vmop.isTerminal || vmop.ref.uid !== op.uid) return undefined;
    const wanted = work(vmop);
    return wanted === undefined ? undefined : statusPatch(vmop, wanted);
  });
  if (object === undefined || object.metadata.uid !== op.uid) return undefined;
  return vmopOf(object);
}

function statusPatch(vmop: Vmop, wanted: StatusChange): JsonPatchOperation[] {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = wanted.conditions.reduce((list, next) => withCondition(list, next, now), [...vmop.conditions]);
  const { progress } = wanted;
  const value = {
    ...vmop.object.status,
    phase: wanted.phase,
    conditions,
    observedGeneration: vmop.object.metadata.generation ?? 1,
    ...(progress === undefined ? {} : { progress }),
  };
  return [{ op: 'add', path: '/status', value }];
}

/** Changes annotations, labels, finalizers of an operation, unless it is gone or another object of the same name. */
export async function changeVmop(
  cluster: Cluster,
  op: Identity,
  work: (vmop: Vmop) => readonly JsonPatchOperation[],
): Promise<Vmop | undefined> {
  const object = await change(cluster, target(op), (current) =>
    current.metadata.uid === op.uid ? work(vmopOf(current)) : undefined,
  );
  if (object === undefined || object.metadata.uid !== op.uid) return undefined;
  return vmopOf(object);
}

/** Lets the object go: nothing of the operation needs it any more. */
export async function releaseFinalizer(cluster: Cluster, op: Identity): Promise<void> {
  await changeVmop(cluster, op, ({ object }) => setFinalizer(object, vmopKeys.finalizer, false));
}

/** The operation's object as a quorum of the cluster holds it; undefined: gone, or another one has its name. */
export async function readVmop(cluster: Cluster, op: Identity): Promise<Vmop | undefined> {
  const object = await cluster.get(resources.vmop, op.namespace, op.name);
  return object?.metadata.uid === op.uid ? vmopOf(object) : undefined;
}

function target({ namespace, name }: Identity): { resource: typeof resources.vmop; namespace: string; name: string } {
  return { resource: resources.vmop, namespace, name };
}
