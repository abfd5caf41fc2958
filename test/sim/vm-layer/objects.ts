import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { vmopKeys, type RunPolicy, type VmPhase } from '../../../workflows/contracts/vmop.ts';

/** The layer's kinds; see `resources`. */
export const kinds = ['vm', 'machine', 'instance', 'migration'] as const;
export type Kind = (typeof kinds)[number];

/** Hold a deleted object until the layer is done with it. */
export const finalizers = {
  vm: 'virtualization.deckhouse.io/vm-cleanup',
  instance: 'foregroundDeleteVirtualMachine',
  migration: 'kubevirt.io/migrationJobFinalize',
} as const;

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

export interface ChangeRequest {
  readonly action: 'Start' | 'Stop';
  readonly uid?: string;
}

export interface VmStatus {
  readonly phase?: VmPhase;
  readonly nodeName?: string;
  readonly ipAddress?: string;
  readonly observedGeneration?: number;
  readonly migrationState?: Readonly<Record<string, unknown>>;
  readonly conditions?: readonly Condition[];
}

export interface MachineStatus {
  readonly printableStatus?: string;
  readonly stateChangeRequests?: readonly ChangeRequest[];
}

export interface InstanceStatus {
  readonly phase?: string;
  readonly nodeName?: string;
  readonly ipAddress?: string;
  /** Why it ended by itself. */
  readonly shutdownReason?: 'guest-shutdown' | 'guest-reset';
  readonly conditions?: readonly Omit<Condition, 'lastTransitionTime' | 'message'>[];
  readonly migrationState?: InstanceMigration;
}

/** From the moment on that memory is copied. */
export interface InstanceMigration {
  readonly migrationUid: string;
  readonly startTimestamp: string;
  readonly endTimestamp?: string;
  readonly sourceNode: string;
  readonly targetNode: string;
  readonly targetPod: string;
  readonly completed?: boolean;
  readonly failed?: boolean;
}

export interface MigrationStatus {
  readonly phase?: string;
  readonly migrationState?: {
    readonly sourceNode?: string;
    readonly targetNode?: string;
    readonly targetPod?: string;
    readonly startTimestamp?: string;
    readonly endTimestamp?: string;
    /** Percent of the memory that was copied. */
    readonly progress?: number;
    readonly abortRequested?: boolean;
    readonly failureReason?: string;
  };
  readonly conditions?: readonly Condition[];
}

export const vmStatus = (vm: KubeObject): VmStatus => vm.status ?? {};
export const machineStatus = (machine: KubeObject): MachineStatus => machine.status ?? {};
export const instanceStatus = (instance: KubeObject): InstanceStatus => instance.status ?? {};
export const migrationStatus = (migration: KubeObject): MigrationStatus => migration.status ?? {};

export function runPolicyOf(vm: KubeObject): RunPolicy {
  return (vm.spec?.['runPolicy'] as RunPolicy | undefined) ?? 'AlwaysOnUnlessStoppedManually';
}

/** As currently written. */
export function gracePeriodMs({ spec }: KubeObject): number {
  return ((spec?.['terminationGracePeriodSeconds'] as number | undefined) ?? 60) * 1_000;
}

export const isDeleting = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;

export const isRunning = (instance: KubeObject): boolean => instanceStatus(instance).phase === 'Running';

export const annotationsOf = ({ metadata }: KubeObject): Readonly<Record<string, string>> => metadata.annotations ?? {};

export const hasFinalizer = ({ metadata }: KubeObject, name: string): boolean =>
  (metadata.finalizers ?? []).includes(name);

/** UID of the VM that the layer made an object for; undefined: somebody else made it. */
export const vmUidOf = ({ metadata }: KubeObject): string | undefined => metadata.labels?.[vmopKeys.vmUidLabel];

/** Name of the VM that an object of a kind is underneath of. */
export function vmNameOf(kind: Kind, { metadata, spec }: KubeObject): string {
  return kind === 'migration' ? ((spec?.['vmiName'] as string | undefined) ?? '') : metadata.name;
}

/** Labels and owner of what is made for a VM, directly or indirectly. */
export function belonging(vmUid: string, owner: KubeObject, kind: Kind): object {
  const { kind: ownerKind } = resources[kind];
  const apiVersion = `${resources[kind].group}/${resources[kind].version}`;
  const { name, uid } = owner.metadata;
  return {
    labels: { [vmopKeys.vmUidLabel]: vmUid },
    ownerReferences: [{ apiVersion, kind: ownerKind, name, uid, controller: true, blockOwnerDeletion: true }],
  };
}
