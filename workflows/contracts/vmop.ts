import type { NotApplicable, RunPolicy, VmFacts, VmPhase } from '../domain/vmop/applicability.ts';
import type { Decision } from '../domain/vmop/decide.ts';
import type { OperationKind, VmopType } from '../domain/vmop/matrix.ts';
import type { OperationStatus } from './status.ts';

/** Group of the resources that people see, and of the layer below them. */
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
  /** UID of the instance that ran when the signal was about to be sent; empty: none. */
  pinnedInstance: 'vmflow.dev/pinned-instance',
  requestedBy: 'vmflow.dev/requested-by',
  reason: 'vmflow.dev/reason',
} as const;

export const vmopPhases = ['Pending', 'InProgress', 'Completed', 'Failed', 'Terminating', 'Superseded'] as const;
export type VmopPhase = (typeof vmopPhases)[number];

/** Phases that no later write may change. */
export function isTerminal(phase: string | undefined): boolean {
  return phase === 'Completed' || phase === 'Failed' || phase === 'Superseded';
}

/** `spec` of a VirtualMachineOperation, immutable after its creation. */
export interface VmopSpec extends OperationKind {
  readonly virtualMachineName: string;
  readonly migrate?: { readonly nodeSelector?: Readonly<Record<string, string>> };
  readonly restore?: Readonly<Record<string, unknown>>;
  readonly clone?: Readonly<Record<string, unknown>>;
}

/** One VirtualMachineOperation object, as much of it as decisions need. */
export interface VmopRef extends OperationKind {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly vmName: string;
  /** ISO 8601, one-second resolution. */
  readonly createdAt: string;
  /** Who asked for it, where that is known. */
  readonly by?: string;
  /** Of a migration: where it may go. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

export interface AcceptedOperation extends VmopRef {
  /** Order of acceptance by the VM's coordinator; higher is newer. Also the fencing token of the operation's writes. */
  readonly seq: number;
}

/** Input of `vmCoordinator`, the one who decides for a VM. */
export interface CoordinatorInput {
  readonly namespace: string;
  readonly vmName: string;
  /** Set by the run before this one. */
  readonly resume?: CoordinatorState;
}

/**
 * Where an accepted operation stands for its coordinator: `queued` until it is decided, then `running` until its workflow
 * says that it ended.
 */
export type ActiveStage = 'queued' | 'running';

export interface ActiveOperation extends AcceptedOperation {
  readonly stage: ActiveStage;
  /** It has no running workflow, somebody has looked: decide and start it again. */
  readonly again?: boolean;
  /** Its object is being deleted or gone. */
  readonly deleted?: boolean;
  /** UIDs of what it was told to take over. */
  readonly supersedes?: readonly string[];
}

export interface CoordinatorState {
  readonly nextSeq: number;
  readonly active: readonly ActiveOperation[];
  /** UIDs accepted lately with their seq, oldest first. */
  readonly recent: readonly (readonly [uid: string, seq: number])[];
}

/** Body of the update `submit`. */
export interface Submission {
  readonly op: VmopRef;
  /** From the sweep: the operation has no running workflow. */
  readonly again?: boolean;
}

/** Answer of the update `submit`. The same for every repeat. */
export interface SubmitAnswer {
  readonly accepted: true;
  readonly seq: number;
}

/** Body of the update `request`: what a person asks of a VM. */
export interface VmRequest {
  readonly spec: Omit<VmopSpec, 'virtualMachineName'>;
  /** Name of the object; without it one is derived from the update's id. */
  readonly name?: string;
  readonly dryRun?: boolean;
  readonly reason?: string;
  readonly by: string;
}

export interface OperationName {
  readonly name: string;
  readonly uid: string;
}

export type RequestAnswer =
  | ({ readonly outcome: 'created'; readonly supersedes: readonly OperationName[] } & OperationName)
  /** An equal operation is active already. */
  | ({ readonly outcome: 'in-progress' } & OperationName)
  | { readonly outcome: 'already-so'; readonly phase: VmPhase }
  /** Only with `dryRun`. */
  | { readonly outcome: 'would-create'; readonly supersedes: readonly OperationName[] };

/** Body of the updates `abandon` and `cancelOperation`. */
export interface OperationOrder {
  readonly uid: string;
  readonly reason?: string;
  readonly by: string;
}

/** Body of the signals `opDeleted` and `opEnded` to a coordinator. */
export interface OperationNote {
  readonly uid: string;
  /** With `opEnded`: a newer operation took over and still has to write the result. */
  readonly fenced?: boolean;
  /** With `opEnded`: UIDs of older operations that it was to take over and has not: they are as active as they were. */
  readonly leftOver?: readonly string[];
}

/** Body of the signal `takeDown` to a `vmOperation`: end now, and who cleans up. */
export type TakeDown =
  /** The newcomer cleans up and writes the result. */
  | { readonly kind: 'fence'; readonly by: OperationName }
  | { readonly kind: 'abandon'; readonly by: string; readonly reason: string }
  | { readonly kind: 'deleted' };

export interface CoordinatorStatus extends OperationStatus {
  readonly active: readonly ActiveOperation[];
}

/** Input of `vmOperation`. */
export interface OperationInput {
  readonly op: AcceptedOperation;
  readonly decision: Verdict;
  /** UID of the VM that it was decided for; absent: there is none. */
  readonly vmUid?: string;
}

/** What the coordinator found out about a newcomer. */
export type Verdict =
  | Decision
  /** An earlier run sent the signal, or (`unsure`) may have: then it is sent again, which has no effect twice. */
  | { readonly kind: 'resume'; readonly pins: Pins; readonly unsure?: true }
  /** The object is being deleted: clean up, release it. */
  | { readonly kind: 'deleted' };

/** What was there when the signal was about to be sent. */
export interface Pins {
  readonly vmUid: string;
  /** Absent: nothing was running. */
  readonly instanceUid?: string;
}

export interface OperationResult {
  /** `fenced`: a newer operation took over and writes the result. `released`: the object was deleted. */
  readonly outcome: 'Completed' | 'Failed' | 'fenced' | 'released';
  readonly reason: string;
  readonly message: string;
  readonly supersededBy?: OperationName;
  /** Whether the signal was sent and for what, as far as this run knows. */
  readonly signalled: boolean;
}

export interface VmOperationStatus extends OperationStatus {
  readonly op: AcceptedOperation;
  readonly pins?: Pins;
  readonly supersedes: readonly OperationName[];
  readonly supersededBy?: OperationName;
  /** What could take it over now, as people would type it. */
  readonly supersedableBy: readonly string[];
}

/** Memo of a `vmOperation`: what lists show besides the search attributes. */
export interface VmOperationMemo {
  readonly type: VmopType;
  readonly force: boolean;
  readonly name: string;
  readonly seq: number;
  readonly supersedes: readonly string[];
  readonly supersededBy?: string;
}

/** Reasons of the condition `Completed` with status False on a failed operation. */
export type FailedReason =
  | NotApplicable
  | 'VirtualMachineNotFound'
  | 'NotApplicableForLiveMigrationPolicy'
  | 'NotReadyToBeExecuted'
  | 'OtherMigrationInProgress'
  | 'Aborted'
  | 'TargetUnschedulable'
  | 'TargetDiskError'
  | 'NotConverging'
  | 'Failed'
  | 'OperationFailed';

export type { RunPolicy, VmFacts, VmPhase, VmopType };
