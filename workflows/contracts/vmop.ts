import type { RunPolicy, VmPhase } from '../domain/vmop/applicability.ts';
import type { OperationKind, VmopType } from '../domain/vmop/matrix.ts';
import type { Decision } from '../domain/vmop/decide.ts';
import type { OperationStatus } from './status.ts';

/** Group, version and plural of the resources this operation works with. */
export const virtualizationGroup = 'virtualization.deckhouse.io';
export const internalGroup = 'internal.virtualization.deckhouse.io';

/** Keys on objects. Ours begin with `vmflow.dev/`. */
export const vmopKeys = {
  vmUidLabel: `${virtualizationGroup}/virtual-machine-uid`,
  finalizer: `${virtualizationGroup}/vmop-cleanup`,
  startRequested: `${virtualizationGroup}/vm-start-requested`,
  restartRequested: `${virtualizationGroup}/vm-restart-requested`,
  seq: 'vmflow.dev/seq',
  supersededBy: 'vmflow.dev/superseded-by',
  supersedes: 'vmflow.dev/supersedes',
  fence: 'vmflow.dev/fence',
  receipt: 'vmflow.dev/signal-receipt',
} as const;

export type VmopPhase = 'Pending' | 'InProgress' | 'Completed' | 'Failed' | 'Terminating' | 'Superseded';

/** One VirtualMachineOperation object, as much of it as decisions need. */
export interface VmopRef extends OperationKind {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly vmName: string;
  /** ISO 8601, one-second resolution. */
  readonly createdAt: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** Set when an earlier coordinator has accepted it. */
  readonly seq?: number;
  /** The user who created it, where known. */
  readonly by?: string;
}

/** Input of `vmCoordinator`, carried across continue-as-new. */
export interface CoordinatorInput {
  readonly namespace: string;
  readonly vmName: string;
  readonly resume?: CoordinatorState;
}

export interface ActiveOperation extends VmopRef {
  readonly seq: number;
  readonly step: string;
}

export interface CoordinatorState {
  readonly nextSeq: number;
  readonly active: readonly ActiveOperation[];
  /** UIDs accepted lately, newest last. */
  readonly recent: readonly string[];
}

/** Answer of the update `submit`. */
export interface SubmitAnswer {
  readonly accepted: boolean;
  readonly seq: number;
}

/** Body of the update `request`: what a person asks of a VM. */
export interface VmRequest extends OperationKind {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly dryRun?: boolean;
  readonly reason?: string;
  readonly by: string;
}

export type RequestAnswer =
  | { readonly outcome: 'created'; readonly name: string; readonly uid: string; readonly supersedes: readonly string[] }
  | { readonly outcome: 'in-progress'; readonly name: string; readonly uid: string }
  | { readonly outcome: 'already-so'; readonly phase: VmPhase }
  /** Only with `dryRun`. */
  | { readonly outcome: 'would-create'; readonly supersedes: readonly string[] };

export interface CoordinatorStatus extends OperationStatus {
  readonly active: readonly ActiveOperation[];
}

/** Input of `vmOperation`. */
export interface OperationInput {
  readonly op: VmopRef & { readonly seq: number };
  readonly vm?: { readonly uid: string; readonly runPolicy: RunPolicy; readonly phase: VmPhase };
  readonly decision: Decision;
  /** The signal was sent by an earlier run: wait for the outcome only. */
  readonly resume?: boolean;
  readonly supersededPhase: 'Completed' | 'Superseded';
}

export interface OperationResult {
  readonly phase: VmopPhase;
  readonly reason: string;
  readonly message: string;
  readonly supersededBy?: string;
}

export type { VmopType };
