import type { RunPolicy, VmPhase } from '../../workflows/domain/vmop/applicability.ts';
import type { Condition } from '../../workflows/domain/conditions.ts';
import type { MigrationFacts } from '../../workflows/domain/vmop/migration.ts';
import { isTerminal, vmopKeys, type VmopPhase, type VmopRef, type VmopSpec } from '../../workflows/contracts/vmop.ts';
import type { KubeObject } from '../kubernetes/port.ts';

/** Reads what we need from objects whose shape their definitions guarantee. Missing parts get the definitions' defaults. */

export interface Vmop {
  readonly object: KubeObject;
  readonly ref: VmopRef;
  /** Absent until somebody has seen it. */
  readonly phase?: VmopPhase;
  readonly conditions: readonly Condition[];
  readonly seq?: number;
  readonly isTerminal: boolean;
  readonly isDeleting: boolean;
}

export function vmopOf(object: KubeObject): Vmop {
  const { metadata } = object;
  const spec = (object.spec ?? {}) as unknown as VmopSpec;
  const status = (object.status ?? {}) as { phase?: VmopPhase; conditions?: Condition[] };
  const seq = Number(annotation(object, vmopKeys.seq));
  const by = annotation(object, vmopKeys.requestedBy);
  const nodeSelector = spec.migrate?.nodeSelector;
  return {
    object,
    ref: {
      namespace: metadata.namespace,
      name: metadata.name,
      uid: metadata.uid,
      vmName: spec.virtualMachineName,
      type: spec.type,
      ...(spec.force === undefined ? {} : { force: spec.force }),
      createdAt: new Date(metadata.creationTimestamp).toISOString(),
      ...(by === undefined ? {} : { by }),
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
    },
    ...(status.phase === undefined ? {} : { phase: status.phase }),
    conditions: status.conditions ?? [],
    ...(Number.isSafeInteger(seq) && seq > 0 ? { seq } : {}),
    isTerminal: isTerminal(status.phase),
    isDeleting: metadata.deletionTimestamp !== undefined,
  };
}

export function conditionOf(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}

export interface Vm {
  readonly object: KubeObject;
  readonly uid: string;
  readonly runPolicy: RunPolicy;
  readonly phase: VmPhase;
  readonly liveMigrationPolicy: string;
  readonly conditions: readonly Condition[];
  readonly deleting: boolean;
}

export function vmOf(object: KubeObject): Vm {
  const spec = (object.spec ?? {}) as { runPolicy?: RunPolicy; liveMigrationPolicy?: string };
  const status = (object.status ?? {}) as { phase?: VmPhase; conditions?: Condition[] };
  const deleting = object.metadata.deletionTimestamp !== undefined;
  return {
    object,
    uid: object.metadata.uid,
    runPolicy: spec.runPolicy ?? 'AlwaysOnUnlessStoppedManually',
    phase: deleting ? 'Terminating' : (status.phase ?? 'Pending'),
    liveMigrationPolicy: spec.liveMigrationPolicy ?? 'PreferSafe',
    conditions: status.conditions ?? [],
    deleting,
  };
}

export function instanceOf(object: KubeObject): { uid: string; phase: string; deleting: boolean } {
  const { phase = '' } = (object.status ?? {}) as { phase?: string };
  return { uid: object.metadata.uid, phase, deleting: object.metadata.deletionTimestamp !== undefined };
}

export interface ChangeRequest {
  readonly action: 'Start' | 'Stop';
  readonly uid?: string;
}

export function changeRequests(machine: KubeObject): readonly ChangeRequest[] {
  return ((machine.status ?? {}) as { stateChangeRequests?: ChangeRequest[] }).stateChangeRequests ?? [];
}

/** The fencing token on a machine: the operation that may write to it. */
export function fenceOf(machine: KubeObject): number {
  return Number(annotation(machine, vmopKeys.fence) ?? 0);
}

export function annotation(object: KubeObject, key: string): string | undefined {
  return object.metadata.annotations?.[key];
}

/** Name of the migration object of an operation. */
export function migrationName(op: { readonly name: string }): string {
  return `vmop-${op.name}`;
}

export function isOwnedBy(object: KubeObject, uid: string): boolean {
  return (object.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid);
}

export function migrationOf(object: KubeObject): MigrationFacts {
  const status = (object.status ?? {}) as {
    phase?: string;
    migrationState?: { abortRequested?: boolean; failureReason?: string; progress?: number };
    conditions?: Condition[];
  };
  const { abortRequested, failureReason, progress } = status.migrationState ?? {};
  return {
    uid: object.metadata.uid,
    phase: status.phase ?? 'Pending',
    deleting: object.metadata.deletionTimestamp !== undefined,
    abortRequested: abortRequested ?? false,
    ...(progress === undefined ? {} : { copied: progress }),
    troubles: (status.conditions ?? []).filter(({ status: value }) => value === 'False'),
    ...(failureReason === undefined ? {} : { failure: failureReason }),
  };
}

export function hasEnded(migration: KubeObject): boolean {
  const { phase } = migrationOf(migration);
  return phase === 'Succeeded' || phase === 'Failed';
}
