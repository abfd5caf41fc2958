import { vmopKeys } from '../../workflows/contracts/vmop.ts';
import { OperationError } from '../failures.ts';
import type { Cluster, JsonPatchOperation, KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { change, setKeys } from '../kubernetes/change.ts';
import { changeRequests, fenceOf, type ChangeRequest } from './objects.ts';

interface Owner {
  readonly namespace: string;
  readonly vmName: string;
  readonly name: string;
  readonly seq: number;
}

/**
 * Claims a VM's machine for an operation: raises its fencing token, which never goes down. From then on the API server refuses
 * what older operations still have under way. Undefined: there is no machine. Fails with `Refused` when a newer operation has it.
 */
export async function claimMachine(cluster: Cluster, op: Owner): Promise<KubeObject | undefined> {
  return await change(cluster, target(op), (machine) => {
    refuseFenced(machine, op);
    return setKeys(machine, 'annotations', { [vmopKeys.fence]: String(op.seq) });
  });
}

/** Changes the machine only while it belongs to the operation. */
export async function changeMachine(
  cluster: Cluster,
  op: Owner,
  work: (machine: KubeObject) => readonly JsonPatchOperation[],
  options: { readonly status?: boolean } = {},
): Promise<KubeObject | undefined> {
  return await change(cluster, { ...target(op), ...options }, (machine) => {
    refuseFenced(machine, op);
    if (fenceOf(machine) < op.seq) throw notClaimed(op);
    return work(machine);
  });
}

/** Requests that wait for the layer below, as annotations and as entries, are taken back. */
export async function revokeRequests(
  cluster: Cluster,
  op: Owner,
  actions: readonly ChangeRequest['action'][] = ['Start', 'Stop'],
): Promise<void> {
  const keys = { [vmopKeys.startRequested]: undefined, [vmopKeys.restartRequested]: undefined };
  await changeMachine(cluster, op, (machine) => setKeys(machine, 'annotations', keys));
  await changeMachine(
    cluster,
    op,
    (machine) => {
      const before = changeRequests(machine);
      const after = before.filter(({ action }) => !actions.includes(action));
      return after.length === before.length ? [] : [setRequests(machine, after)];
    },
    { status: true },
  );
}

export function setRequests(machine: KubeObject, requests: readonly ChangeRequest[]): JsonPatchOperation {
  return { op: 'add', path: '/status', value: { ...machine.status, stateChangeRequests: requests } };
}

function refuseFenced(machine: KubeObject, { name, seq, vmName }: Owner): void {
  const fence = fenceOf(machine);
  if (fence <= seq) return;
  const text = `operation "${name}" (number ${seq}) may not act on VirtualMachine "${vmName}" any more: a newer one (number ${fence}) has it`;
  throw new OperationError('Refused', text, { code: 'FENCED' });
}

function notClaimed({ name, vmName }: Owner): OperationError {
  const text = `VirtualMachine "${vmName}" was replaced: operation "${name}" has no claim on the new one`;
  return new OperationError('Refused', text, { code: 'NOT_CLAIMED' });
}

function target({ namespace, vmName }: Owner): { resource: typeof resources.machine; namespace: string; name: string } {
  return { resource: resources.machine, namespace, name: vmName };
}
