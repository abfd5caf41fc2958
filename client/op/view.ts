import type { VmopInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { vmOperationId } from '../../workflows/contracts/ids.ts';
import type { Step, WaitingFor } from '../../workflows/contracts/status.ts';
import type { VmOperationStatus } from '../../workflows/contracts/vmop.ts';
import { superseders, type OperationKind } from '../../workflows/domain/vmop/matrix.ts';
import type { Session } from '../session.ts';
import { askStatus } from '../status-query.ts';

/** What `op get` prints: the object as the cluster has it, and where its workflow stands. */
export interface OperationView extends Omit<VmopInfo, 'phase' | 'vmName'> {
  /** Of its workflow. */
  readonly id: string;
  readonly vm: string;
  readonly phase: string;
  /** What the workflow does, while the operation is active. */
  readonly now?: string;
  readonly since?: string;
  readonly deadline?: string;
  readonly waitingFor?: WaitingFor;
  readonly steps: readonly Step[];
  /** Commands that would take it over. */
  readonly supersedableBy: readonly string[];
  readonly next: readonly string[];
  readonly link: string;
}

export async function loadOperation(session: Session, info: VmopInfo): Promise<OperationView> {
  const id = vmOperationId(info.namespace, info.uid);
  const status = await askStatus<VmOperationStatus>(session, { workflowId: id });
  return mergeOperation(info, status, await session.link(id));
}

/** Pure: what happened is said by the object, what happens by the workflow. */
export function mergeOperation(info: VmopInfo, status: VmOperationStatus | undefined, link: string): OperationView {
  const { vmName, phase, ...rest } = info;
  const isActive = info.endedAt === undefined;
  return {
    ...rest,
    id: vmOperationId(info.namespace, info.uid),
    vm: vmName,
    phase: phase ?? 'New',
    ...(status === undefined ? {} : { since: status.since }),
    ...(status === undefined || !isActive ? {} : doing(status)),
    steps: status?.steps ?? [],
    supersedableBy: isActive ? superseding(info, info) : [],
    next: nextCommands(info),
    link,
  };
}

function doing({ message, deadline, waitingFor }: VmOperationStatus): Partial<OperationView> {
  return {
    now: message,
    ...(deadline === undefined ? {} : { deadline }),
    ...(waitingFor === undefined ? {} : { waitingFor }),
  };
}

/** Short forms of what may take an operation over. */
export function superseding(
  kind: OperationKind,
  { vmName, namespace }: { readonly vmName: string; readonly namespace: string },
): string[] {
  return superseders(kind).map(
    ({ type, force }) => `vmflow ${type.toLowerCase()} ${vmName} -n ${namespace}${force === true ? ' --force' : ''}`,
  );
}

function nextCommands({ name, namespace, vmName, endedAt, supersededBy }: VmopInfo): string[] {
  if (supersededBy !== undefined) return [`vmflow op get ${supersededBy.name} -n ${namespace}`];
  if (endedAt !== undefined) return [`vmflow vm get ${vmName} -n ${namespace}`];
  return [`vmflow op watch ${name} -n ${namespace}`, `vmflow op cancel ${name} -n ${namespace}`];
}
