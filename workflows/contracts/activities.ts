import type { MoRef, Observation } from '../domain/template/observation.ts';
import type { SwapNames } from '../domain/template/names.ts';
import type {
  BatchActivities,
  CopyPassActivities,
  CopyTransferActivities,
  EntryActivities,
  OrphanActivities,
  SlotsActivities,
  SourceActivities,
} from './batch-activities.ts';
import type { LookupAnswer, LookupRequest } from './lookup.ts';
import type { HibernationLook } from '../domain/hibernate/hibernation.ts';
import type { DrainCandidate } from '../domain/hibernate/drain.ts';
import type { NodeFacts, Observation as SetObservation } from '../domain/hibernate/observation.ts';
import type { SetLook } from '../domain/hibernate/set-look.ts';
import type { MigrationSettings } from '../domain/hibernate/settings.ts';
import type { Context } from '../domain/hibernate/situation.ts';
import type { Gate, GateLimits, SlotRequest } from '../domain/hibernate/slots.ts';
import type { Outcome } from '../domain/hibernate/step.ts';
import type {
  DrainNodeInput,
  RequestMigrationInput,
  RequestMigrationResult,
  SetName,
  SlotAnswer,
  SlotCall,
} from './hibernate.ts';
import type {
  Desire,
  HibernationAnswer,
  HibernationRef,
  RequestHibernationInput,
  RequestHibernationResult,
} from './hibernation-request.ts';
import type { Incumbent } from '../domain/vmop/decide.ts';
import type { OperationKind } from '../domain/vmop/matrix.ts';
import type { OvaSource, SwapTarget, TemplateSwapFleetRequest, TemplateSwapRequest } from './template.ts';
import type { AcceptedOperation, FailedReason, OperationName, Pins, VmFacts, VmopRef, VmopSpec } from './vmop.ts';

/** A request whose defaults are filled in and whose names are derived. */
export interface ValidatedSwap {
  readonly request: TemplateSwapRequest & {
    readonly options: Required<Omit<NonNullable<TemplateSwapRequest['options']>, 'annotation'>> & {
      readonly annotation?: string;
    };
  };
  readonly names: SwapNames;
  /** Canonical folder path, wire form. */
  readonly folderPath: string;
}

/** The request's placement as references. */
export interface ResolvedPlacement {
  readonly datacenter: MoRef;
  readonly cluster: MoRef;
  readonly pool: MoRef;
  readonly datastore: MoRef;
  readonly folder: MoRef;
  readonly network: MoRef;
  readonly hostName: string;
  readonly tagIds: readonly string[];
  readonly warnings: readonly string[];
}

/** What every template activity needs to know; references and names, no secrets. */
export interface SwapScope {
  readonly vcenter: string;
  /** Reference of the folder of the template. All lookups stay in it. */
  readonly folder: MoRef;
  readonly names: SwapNames;
  readonly target: SwapTarget & { readonly sha256: string };
  /** Marks VMs as made by this operation: namespace, workflow id, first run id. */
  readonly opId: string;
}

export interface SourceFacts {
  readonly sha256: string;
  readonly size: number;
  readonly productVersion?: string;
  readonly networkName: string;
  readonly disks: number;
  /** Bytes of the datastore that the disks need at least: populated and full. */
  readonly populatedBytes: number;
  readonly capacityBytes: number;
  readonly secureBoot: boolean;
  readonly warnings: readonly string[];
}

export interface SourceInput {
  readonly source: OvaSource;
  readonly target: SwapTarget;
  readonly verifyManifest: 'require' | 'if-present' | 'off';
  readonly strictOva: boolean;
}

export interface ImportInput extends SourceInput {
  readonly scope: SwapScope;
  readonly placement: ResolvedPlacement;
  /** As people call it, for messages. */
  readonly datastoreName: string;
  readonly hostName?: string;
  readonly diskProvisioning: 'inherit' | 'default' | 'thin' | 'thick' | 'eagerZeroedThick';
  /** Whose disks `inherit` looks at. */
  readonly prod?: MoRef;
  readonly uploadStallMs: number;
}

export interface ImportResult {
  readonly entity: MoRef;
  readonly uploadedBytes: number;
  /** How many times an upload was begun. */
  readonly attempts: number;
  readonly warnings: readonly string[];
  readonly observation: Observation;
}

export interface FinalizeInput {
  readonly scope: SwapScope;
  readonly vm: MoRef;
  readonly network: MoRef;
  /** The template that is in use: it becomes the previous one. */
  readonly replaces?: MoRef;
  /** Absent when the import was done by an earlier run. */
  readonly disks?: number;
  readonly disableSecureBoot: boolean;
  readonly annotation?: string;
  readonly tagIds: readonly string[];
}

/** `old` leaves the production name for `aside`; `next` takes it, coming from `from`. All by reference. */
export interface SwapNamesInput {
  readonly scope: SwapScope;
  readonly old: MoRef;
  readonly next: MoRef;
  readonly aside: string;
  readonly from: string;
}

export interface SwapNamesResult {
  /** Milliseconds without a production name, where that can be told. */
  readonly gapMs?: number;
  readonly observation: Observation;
}

export interface RenameToProdInput {
  readonly scope: SwapScope;
  readonly vm: MoRef;
  /** The name it has now. */
  readonly from: string;
  /** Since when nobody has the production name, epoch milliseconds, where that is known. */
  readonly absentSince?: number;
}

export interface DestroyInput {
  readonly scope: SwapScope;
  readonly vm: MoRef;
  /** The name it must still have, else it is left alone. */
  readonly name: string;
  /** How long a lease of a crashed import may still hold it, seconds. */
  readonly leaseTimeoutS?: number;
  /** Needed to turn a template with snapshots back into a VM before it is destroyed. */
  readonly pool: MoRef;
}

export interface DestroyResult {
  readonly destroyed: boolean;
  readonly observation: Observation;
}

export interface VerifyInput {
  readonly scope: SwapScope;
  readonly expected: MoRef;
}

/** Short calls of the template swap, on the control queue. Every one is safe to run twice and safe when late. */
export interface TemplateActivities {
  /** Parses and completes the request. Fails with `InvalidRequest`. */
  validateTemplateSwap(request: TemplateSwapRequest): Promise<ValidatedSwap>;
  /** Parses a fleet request; refuses two entries for one template (`DUPLICATE_TARGET`). */
  validateTemplateSwapFleet(request: TemplateSwapFleetRequest): Promise<TemplateSwapFleetRequest>;
  /** Resolves names, tags, host, space and privileges before the first change. */
  preflight(input: ValidatedSwap): Promise<ResolvedPlacement>;
  observe(scope: SwapScope): Promise<Observation>;
  finalizeTemp(input: FinalizeInput): Promise<Observation>;
  /** Both renames, the waits between them and the compensation. */
  swapNames(input: SwapNamesInput): Promise<SwapNamesResult>;
  /** Gives the production name back to the old template. */
  restore(input: RenameToProdInput): Promise<SwapNamesResult>;
  /** Gives the production name to the new template when nobody has it. */
  promote(input: RenameToProdInput): Promise<SwapNamesResult>;
  verifyProd(input: VerifyInput): Promise<Observation>;
  destroyTemp(input: DestroyInput): Promise<DestroyResult>;
  destroyRollback(input: DestroyInput): Promise<DestroyResult>;
}

/** Transfers, on the transfer queue. */
export interface TemplateTransferActivities {
  /** Fetches, hashes and inspects the OVA before anything is changed. */
  ensureSource(input: SourceInput): Promise<SourceFacts>;
  /** Imports the OVA under the temp name. The retry unit is the whole import. */
  importToTemp(input: ImportInput): Promise<ImportResult>;
}

/** What the coordinator of a VM finds when it starts from nothing. */
export interface ActiveList {
  /** Active operations of the VM in the order in which they count as accepted. Those without `seq` are new. */
  readonly operations: readonly (VmopRef & { readonly seq?: number; readonly deleted: boolean })[];
  /** Highest sequence number or fencing token found. */
  readonly highestSeq: number;
}

export interface IntakeInput {
  readonly op: AcceptedOperation;
  /** Operations that the coordinator holds for active and older. */
  readonly incumbents: readonly AcceptedOperation[];
}

/** What a newcomer and the world look like when it is decided. */
export interface IntakeResult {
  /**
   * `closed`: gone or terminal, nothing to do. `claimed`: an earlier run has claimed the VM, so it was found applicable.
   * `signalled`: it sent the signal; `unsure`: perhaps not all of it.
   */
  readonly state: 'new' | 'claimed' | 'signalled' | 'unsure' | 'deleting' | 'closed';
  readonly vm?: VmFacts;
  /** With `signalled` and `unsure`. */
  readonly pins?: Pins;
  /** UIDs of the incumbents that are over. */
  readonly ended: readonly string[];
  /** Operations that it has taken over already in an earlier run. */
  readonly tookOver: readonly OperationKind[];
}

/** What a coordinator needs to answer a person. */
export interface VmLook {
  readonly vm?: VmFacts;
  /** UIDs of the operations that are over. */
  readonly ended: readonly string[];
}

export interface CreateVmopInput {
  readonly namespace: string;
  readonly name: string;
  readonly spec: VmopSpec;
  readonly by: string;
  readonly reason?: string;
  /** Only an object with this mark is the one that an earlier attempt created. */
  readonly requestId: string;
  readonly dryRun: boolean;
}

/** An operation and the VM that it was decided for. */
export interface OperationScope {
  readonly op: AcceptedOperation;
  readonly vmUid: string;
}

export interface TakeOverInput extends OperationScope {
  readonly incumbent: Incumbent;
}

export type TakeOverResult =
  /** `superseded`: marked. `finished`: it had ended by itself. `gone`: its object isn't there any more. */
  | { readonly outcome: 'superseded' | 'finished' | 'gone' }
  /** Marked, but its migration is still being aborted: the newcomer can't go on. */
  | { readonly outcome: 'still-aborting'; readonly message: string };

export interface PinInput extends OperationScope {
  readonly supersedes: readonly OperationName[];
}

/** An answer of the cluster that ends the operation without it having failed for technical reasons. */
export interface Refusal {
  readonly reason: FailedReason;
  readonly message: string;
}

export interface SignalInput extends OperationScope {
  readonly pins: Pins;
}

export interface OutcomeResult {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface FinishInput {
  readonly op: AcceptedOperation;
  readonly result: OutcomeResult;
  /** What to write about the signal; absent: leave it. */
  readonly signalSent?: false;
  /** Clean up what the operation left that could still act. */
  readonly revoke?: boolean;
  /** Only where no workflow of the operation is running: whoever took it for lost may have been overtaken. */
  readonly unlessRuns?: boolean;
}

export interface FinishResult {
  /** With `unlessRuns`: it has a workflow, and nothing was written. */
  readonly runs?: boolean;
}

export interface SweepResult {
  readonly active: number;
  readonly resubmitted: number;
  readonly migrationsDeleted: number;
}

/** Calls of VM operations to the cluster, on the control queue. Every one is safe to run twice and safe when late. */
export interface VmopActivities {
  listActiveVmops(vm: { readonly namespace: string; readonly vmName: string }): Promise<ActiveList>;
  /** First status, sequence number, label and event of a newcomer; reads the VM and looks which incumbents are over. */
  intake(input: IntakeInput): Promise<IntakeResult>;
  /** The VM now, and which of these operations are over; read only. */
  lookAtVm(input: {
    readonly namespace: string;
    readonly vmName: string;
    readonly operations: readonly AcceptedOperation[];
  }): Promise<VmLook>;
  /** Fails with `Refused` or `InvalidRequest` when the API server refuses the object. */
  createVmop(input: CreateVmopInput): Promise<VmopRef>;
  /** Deletes the object; true: it was there. */
  deleteVmop(op: Pick<VmopRef, 'namespace' | 'name' | 'uid'>): Promise<boolean>;
  /** Ends the incumbent's workflow, takes back what could still act, marks it. Heartbeats. */
  takeOver(input: TakeOverInput): Promise<TakeOverResult>;
  /** Claims the VM (fencing token), remembers what runs on it, protects the object. */
  pin(input: PinInput): Promise<Pins | Refusal>;
  /** The one write that makes the VM change. Sent at most once per operation. Answers what it acted on. */
  sendSignal(input: SignalInput): Promise<Pins>;
  /** Writes the final status unless there is one already, then releases the object. */
  finishVmop(input: FinishInput): Promise<FinishResult>;
  /** For an object that is being deleted: takes back what can be, then releases it. Heartbeats. */
  releaseVmop(op: AcceptedOperation): Promise<void>;
  /** Brings back active operations without a workflow and deletes migrations without an operation. */
  sweepVmops(): Promise<SweepResult>;
  /** Deletes finished operations that are old or many. */
  collectVmops(): Promise<{ readonly deleted: number }>;
}

/** Waits of VM operations, on the waiting queue. */
export interface VmopWaits {
  /** Waits until a VM can be migrated, or says why it can't. Heartbeats. */
  awaitMigratable(input: OperationScope): Promise<Refusal | undefined>;
  /** Says on the object that the signal was sent, then waits for its proof. Heartbeats. */
  awaitOutcome(input: SignalInput): Promise<OutcomeResult>;
}

/** Read-only questions of the CLI to what only a worker can reach. */
export interface LookupActivities {
  lookup(request: LookupRequest): Promise<LookupAnswer>;
}

/** Everything a control worker registers. */
export type ControlActivities = TemplateActivities &
  VmopActivities &
  MigrationActivities &
  CocoonSetActivities &
  HibernationActivities &
  DrainActivities &
  HibernationRequestActivities &
  BatchActivities &
  EntryActivities &
  CopyPassActivities &
  SourceActivities &
  OrphanActivities &
  SlotsActivities &
  LookupActivities;
/** Everything a control worker registers for the waiting queue. */
export type WaitActivities = VmopWaits & HibernateWaits & HibernationRequestWaits;
/** Everything a transfer worker registers. */
export type TransferActivities = TemplateTransferActivities &
  CopyTransferActivities &
  Pick<OvaLookupActivities, 'lookupOva'>;

export interface OvaLookupActivities {
  /** Digest, size and version of an OVA as a transfer worker sees it. */
  lookupOva(request: Extract<LookupRequest, { what: 'ova' }>): Promise<LookupAnswer>;
}

/** A set and the UID that a workflow began with; without one: whichever has the name. */
export interface SetScope extends SetName {
  readonly setUid?: string;
}

/** Times and limits of the workers' configuration. Workflows take them with what they observe, so that a history stays true. */
export interface HibernateSettings {
  readonly migration: MigrationSettings;
  readonly gate: GateLimits;
  readonly pollFloorMs: number;
  readonly reReadMs: number;
  readonly waitCeilingMs: number;
  readonly probeMs: number;
  readonly resyncMs: number;
  readonly eventRepeatMs: number;
}

/** What was seen, when, and by which settings it is to be judged. */
export interface Seen<Look> {
  /** ISO 8601. */
  readonly at: string;
  readonly look: Look;
  readonly settings: HibernateSettings;
}

/**
 * How a change went. `stale`: what it was decided for is no longer so, look again. `exists`: a Pod of that name is there.
 * `unavailable`: not done and not undone, the far side doesn't let us. `forbidden`: it never will until somebody allows it.
 */
export interface Applied {
  readonly outcome: 'done' | 'stale' | 'exists' | 'unavailable' | 'forbidden';
  readonly message?: string;
}

export type AppliedTo<Look> = Applied & { readonly seen: Seen<Look> };

/** What a migration knows besides what it sees. */
export type Known = Pick<Context, 'hasSlot' | 'order' | 'since'>;

/** One turn of a migration. The activity looks and decides anew: what it then does is what its name says, or nothing. */
export interface MigrationTurn {
  readonly scope: SetScope;
  readonly known: Known;
}

/** How a turn went; `ending` when what was done closes the migration. */
export type TurnResult = AppliedTo<SetObservation> & { readonly ending?: Outcome };

/**
 * Calls of the migration of a set's main VM, on the control queue. Each looks again right before it changes anything, does
 * nothing when it would no longer be decided so, and answers what it saw afterwards. What is written about a change comes before
 * it, events come after. Safe to run twice and safe when late. Refusals of the far sides are outcomes, not failures.
 */
export interface MigrationActivities {
  /** Consistent reads. `probe`: ask the registry also about a set that looks settled. */
  observeSet(input: SetScope & { readonly probe: boolean }): Promise<Seen<SetObservation>>;
  stampPod(turn: MigrationTurn): Promise<TurnResult>;
  /** Record and phase, as many of these writes as follow each other. */
  keepRecord(turn: MigrationTurn): Promise<TurnResult>;
  setHibernate(turn: MigrationTurn): Promise<TurnResult>;
  clearHibernate(turn: MigrationTurn): Promise<TurnResult>;
  /** Asks the agent to keep its copy first where that is wanted; decides anew on the Pod that this leaves. */
  deletePod(turn: MigrationTurn): Promise<TurnResult>;
  createMainPod(turn: MigrationTurn): Promise<TurnResult>;
  /** Re-reads the digest right before. */
  dropTag(turn: MigrationTurn): Promise<TurnResult>;
  /** Shows a wait that no waiting activity shows. */
  reportMigration(input: MigrationTurn & { readonly refusal?: Applied }): Promise<void>;
  /** Guarded change of what the set asks for; wakes its workflow. */
  setTarget(input: {
    readonly scope: SetScope;
    readonly nodeName: string;
    /** Nothing is changed where it asks for another node than this by now. Absent: whatever it asks for. */
    readonly expected?: string;
  }): Promise<AppliedTo<SetObservation>>;
  /** Hands a call to the gate, starting it where it isn't running. Answers whether the caller may begin. */
  callGate(call: SlotCall): Promise<SlotAnswer>;
  /** Sets that have begun to migrate, for the gate, and those of which nothing is open. */
  listMigrations(gate: Gate): Promise<{
    readonly begun: readonly SlotRequest[];
    readonly over: readonly string[];
    readonly limits: GateLimits;
  }>;
  /** Parses a request, looks at the set and chooses a target where none is given. Fails with `InvalidRequest` or `NotFound`. */
  planMigration(request: RequestMigrationInput): Promise<MigrationPlan>;
}

/** What a request comes down to. */
export interface MigrationPlan {
  readonly seen: Seen<SetObservation>;
  readonly target: string;
  /** Why it can't begin now; it begins when this has gone. */
  readonly obstacle?: string;
  /** The VM is there already and nothing is under way. */
  readonly isThere: boolean;
}

/** Waits, on the waiting queue. They heartbeat, show the wait first, and end by themselves after the ceiling of the settings. */
export interface HibernateWaits {
  /** Until something else is decided than this, or `until`, or the gate has no such set in its queue (any more). */
  waitForChange(
    input: MigrationTurn & { readonly decided: string; readonly until?: string; readonly queuedAs?: string },
  ): Promise<Seen<SetObservation>>;
  waitForSetChange(input: SetTurn & { readonly fingerprint: string; readonly until?: string }): Promise<Seen<SetLook>>;
  waitForHibernationChange(
    input: SetScope & { readonly fingerprint: string; readonly until?: string },
  ): Promise<Seen<HibernationLook>>;
  /** Until the VM of a set runs where it was asked to, or can't get there any more. */
  awaitMigrated(input: SetScope & { readonly target: string; readonly since: string }): Promise<RequestMigrationResult>;
}

/** One turn of a set: see `MigrationTurn`. */
export interface SetTurn {
  readonly scope: SetScope;
  readonly order?: 'acknowledge-loss';
  /** Ask the registry also about a set that looks settled. */
  readonly probe: boolean;
}

/** Calls about a whole set, on the control queue. */
export interface CocoonSetActivities {
  lookAtSet(turn: SetTurn): Promise<Seen<SetLook>>;
  /** Every action but `startMigration`, which is the workflow's. Writes the status too. */
  changeSet(turn: SetTurn): Promise<AppliedTo<SetLook>>;
  /** Phase and conditions of a set that has nothing to do. */
  reportSet(turn: SetTurn): Promise<void>;
}

/** Calls about a CocoonHibernation, on the control queue. */
export interface HibernationActivities {
  lookAtHibernation(scope: SetScope): Promise<Seen<HibernationLook>>;
  changeHibernation(scope: SetScope): Promise<AppliedTo<HibernationLook>>;
}

/** What a drain sees of its node and of the others. */
export interface DrainLook {
  readonly cordoned: boolean;
  readonly candidates: readonly DrainCandidate[];
  readonly nodes: readonly NodeFacts[];
}

/** Calls of a drain, on the control queue. */
export interface DrainActivities {
  /** Fails with `InvalidRequest` or `NotFound`. */
  beginDrain(input: DrainNodeInput): Promise<{ readonly wasCordoned: boolean; readonly maxParallel: number }>;
  lookAtDrain(node: string): Promise<Seen<DrainLook>>;
  cordon(input: { readonly node: string; readonly cordoned: boolean; readonly by: string }): Promise<Applied>;
}

/** What `requestHibernation` calls on the control queue. */
export interface HibernationRequestActivities {
  /**
   * Makes the CocoonHibernation of a Pod want what is asked, creating it where there is none. Safe to run twice. Fails with
   * `NotFound` or `Refused`.
   */
  askHibernation(input: RequestHibernationInput): Promise<HibernationAnswer>;
}

/** What `requestHibernation` calls on the waiting queue. */
export interface HibernationRequestWaits {
  /** Waits until the VM is what was asked for, or can't be. Heartbeats. */
  awaitHibernation(
    input: HibernationRef & { readonly namespace: string; readonly podName: string; readonly desire: Desire },
  ): Promise<RequestHibernationResult>;
}
