import type { DrainObstacle } from '../domain/hibernate/drain.ts';
import type { HibernationPhase } from '../domain/hibernate/hibernation.ts';
import type { SetPhase } from '../domain/hibernate/observation.ts';
import type { Gate, SlotRequest } from '../domain/hibernate/slots.ts';
import type { Outcome } from '../domain/hibernate/step.ts';
import type { OperationStatus } from './status.ts';

/** API group of CocoonSets and CocoonHibernations, version `v1`. */
export const cocoonGroup = 'cocoonset.cocoonstack.io';
const vmPrefix = 'vm.cocoonstack.io';

/** Keys on sets, hibernations, Pods and nodes. Ours begin with `vmflow.dev/`. Booleans are true only when `true`. */
export const cocoonKeys = {
  setFinalizer: `${cocoonGroup}/finalizer`,
  hibernationFinalizer: `cocoonhibernation.${cocoonGroup}/finalizer`,
  /** Labels of Pods. They find candidates; the owner reference decides. */
  setName: `${cocoonGroup}/name`,
  role: `${cocoonGroup}/role`,
  slot: `${cocoonGroup}/slot`,
  appName: 'app.kubernetes.io/name',
  /** Annotations of Pods, written by us. */
  generation: `${cocoonGroup}/generation`,
  mode: `${cocoonGroup}/mode`,
  image: `${cocoonGroup}/image`,
  os: `${cocoonGroup}/os`,
  storage: `${cocoonGroup}/storage`,
  network: `${cocoonGroup}/network`,
  snapshotPolicy: `${cocoonGroup}/snapshot-policy`,
  managed: `${cocoonGroup}/managed`,
  forcePull: `${cocoonGroup}/force-pull`,
  vmName: `${vmPrefix}/name`,
  forkFrom: `${vmPrefix}/fork-from`,
  connType: `${vmPrefix}/conn-type`,
  backend: `${vmPrefix}/backend`,
  noDirectIO: `${vmPrefix}/no-direct-io`,
  probePort: `${vmPrefix}/probe-port`,
  /** Waking removes it; nothing in it says who set it. */
  hibernate: `${vmPrefix}/hibernate`,
  /** Only in the request that creates the Pod. */
  restore: `${vmPrefix}/restore-from-hibernate`,
  keepSnapshot: `${vmPrefix}/keep-snapshot-on-delete`,
  /** Annotations of Pods, written by the node agent. */
  vmId: `${vmPrefix}/id`,
  ip: `${vmPrefix}/ip`,
  lifecycleState: `${vmPrefix}/lifecycle-state`,
  lifecycleGeneration: `${vmPrefix}/lifecycle-observed-generation`,
  lifecycleMessage: `${vmPrefix}/lifecycle-state-message`,
  /** Annotations of sets. */
  deleteVmNames: `${cocoonGroup}/delete-vm-names`,
  suspendingSince: `${cocoonGroup}/suspending-since`,
  /** JSON, see `MigrationRecord`. */
  migration: 'vmflow.dev/migration',
  /** JSON, a list of `OwedDrop`. */
  owedDrops: 'vmflow.dev/owed-drops',
  /** Annotation of hibernations: id of the VM that was asked to hibernate. */
  sourceVMID: 'vmflow.dev/source-vm-id',
  /** Labels of nodes, also selectors of Pods. */
  hostname: 'kubernetes.io/hostname',
  pool: 'cocoonstack.io/pool',
  snapshotClass: 'cocoonstack.io/snapshot-cpu-class',
  /** Annotation of nodes: who cordoned it. */
  drainedBy: 'vmflow.dev/drained-by',
} as const;

/** Tags of a VM's repository in the registry. */
export const snapshotTags = { hibernate: 'hibernate', latest: 'latest' } as const;

/** `spec` of a CocoonSet, as much of it as Pods are built from. Absent fields have the defaults of the schema. */
export interface CocoonSetSpec {
  readonly suspend?: boolean;
  readonly snapshotPolicy?: 'always' | 'main-only' | 'never';
  readonly nodePool?: string;
  readonly snapshotCompatibilityClass?: string;
  readonly nodeName?: string;
  readonly agent: AgentSpec;
  /** Left alone by this release. */
  readonly toolboxes?: readonly Readonly<Record<string, unknown>>[];
}

export interface AgentSpec {
  /** Sub-agents; main is always one more. */
  readonly replicas?: number;
  readonly image: string;
  readonly mode?: 'clone' | 'run';
  readonly os?: 'linux' | 'windows' | 'android' | 'macos';
  readonly backend?: 'cloud-hypervisor' | 'firecracker';
  readonly connType?: 'ssh' | 'rdp' | 'vnc' | 'adb';
  readonly network?: string;
  readonly forcePull?: boolean;
  readonly noDirectIO?: boolean;
  readonly probePort?: number;
  /** A quantity. */
  readonly storage?: string | number;
  readonly resources?: Readonly<Record<string, unknown>>;
  readonly envFrom?: readonly Readonly<Record<string, unknown>>[];
  readonly serviceAccountName?: string;
}

export type { HibernationPhase, SetPhase };

/** One set, by name. */
export interface SetName {
  readonly namespace: string;
  readonly name: string;
}

/** Input of `cocoonSet`, the one who decides for a set while there is something to do. */
export interface CocoonSetInput extends SetName {
  readonly resume?: {
    readonly setUid?: string;
  };
}

/** Body of the signal `poke` to a `cocoonSet`; may be absent. */
export interface CocoonSetPoke {
  /** Ask the registry once also where everything looks settled: a snapshot may be left over. */
  readonly probe?: boolean;
}

export interface CocoonSetStatus extends OperationStatus {
  readonly set: SetName & { readonly uid?: string };
  readonly phase?: SetPhase;
  /** Rule of the order of a turn that applied last. */
  readonly rule?: string;
  /** Id of the open migration of its main VM. */
  readonly migration?: string;
}

/** Input of `migrateMain`. With nothing but the name it comes to the same end. */
export interface MigrateMainInput extends SetName {
  readonly resume?: MigrateMainState;
}

export interface MigrateMainState {
  readonly setUid?: string;
  readonly startedAt: string;
  readonly hasSlot: boolean;
  /** Since when the current row of the decision table holds; only used where nothing in the cluster tells. */
  readonly since: string;
  readonly row?: string;
  readonly from?: string;
  readonly vmIdBefore?: string;
  readonly snapshotDigest?: string;
  /** Since when the VM doesn't run; when it ran again. */
  readonly downSince?: string;
  readonly upSince?: string;
  readonly isAborted?: boolean;
  /** A person has given up the state of the VM of this set UID. */
  readonly acknowledgedLoss?: string;
  readonly ending?: Outcome;
  readonly turn: number;
}

export interface MigrateMainResult {
  readonly outcome: Outcome;
  readonly from?: string;
  readonly to?: string;
  readonly vmIdBefore?: string;
  readonly vmIdAfter?: string;
  /** Of the snapshot that the VM went through. */
  readonly snapshotDigest?: string;
  /** How long the VM did not run, as far as this run saw. */
  readonly downtimeMs?: number;
}

/** Answer of the query `status` of `migrateMain`. */
export interface MigrateMainStatus extends OperationStatus {
  readonly set: SetName & { readonly uid?: string };
  /** Row of the decision table that holds. */
  readonly row?: string;
  readonly source?: string;
  readonly target?: string;
  readonly podUID?: string;
  readonly vmID?: string;
  readonly snapshot?: { readonly state: 'present' | 'absent' | 'unknown'; readonly digest?: string };
  readonly slot: 'none' | 'asked' | 'granted';
  /** Requests ahead of this one. */
  readonly queued?: number;
  readonly turn: number;
}

/** Body of the updates `retry` and `abort`: who, and why. */
export interface MigrationOrder {
  readonly reason?: string;
  readonly by: string;
}

/** Body of the update `retarget` of `migrateMain`. Empty: anywhere. */
export interface MigrationRetarget extends MigrationOrder {
  readonly nodeName: string;
}

/** Body of the update `acknowledgeLoss`. */
export interface LossAcknowledgement extends MigrationOrder {
  /** UID of the set whose VM's state is given up. */
  readonly setUid: string;
}

/** Body of the signal `migrationClosed` to a `cocoonSet`. */
export interface MigrationClosed {
  readonly setUid?: string;
  readonly result: MigrateMainResult;
}

/** Body of the signal `granted` of the gate. */
export interface SlotGranted {
  readonly set: string;
}

/** Body of the signal `slot` to the gate. `<namespace>/<name>` names a set. */
export type SlotCall =
  | { readonly kind: 'request' | 'claim'; readonly request: SlotRequest }
  | { readonly kind: 'park' | 'unpark' | 'release'; readonly set: string };

/** Answer of the gate to a call. */
export interface SlotAnswer {
  readonly granted: boolean;
  /** Requests ahead; absent: it doesn't wait. */
  readonly queued?: number;
}

/** Input of `migrationGate`. */
export interface MigrationGateInput {
  readonly resume?: { readonly gate: Gate };
}

export interface MigrationGateStatus extends OperationStatus {
  readonly gate: Gate;
}

/** Input of `hibernation`: one CocoonHibernation. */
export interface HibernationInput extends SetName {
  readonly resume?: { readonly uid?: string };
}

export interface HibernationStatus extends OperationStatus {
  readonly phase?: HibernationPhase;
  readonly desire?: 'Hibernate' | 'Wake';
}

/** Input of `drainNode`. Two drains of one node are one execution. */
export interface DrainNodeInput {
  readonly node: string;
  /** Absent: every node that fits. */
  readonly targets?: readonly string[];
  /** Default: what the gate allows per source node. */
  readonly maxParallel?: number;
  /** ISO 8601. */
  readonly deadline?: string;
  /** Put back an empty target once the VM has moved. Default true. */
  readonly unpinAfter?: boolean;
  readonly by?: string;
  readonly reason?: string;
  readonly resume?: DrainState;
}

export interface DrainState {
  readonly wasCordoned: boolean;
  readonly startedAt: string;
  readonly moves: readonly DrainEntry[];
  readonly cancelled?: boolean;
}

export interface DrainEntry {
  readonly set: string;
  readonly uid: string;
  readonly target: string;
  readonly previous: string;
  readonly state: 'moving' | 'moved' | 'failed';
}

export interface DrainNodeStatus extends OperationStatus {
  readonly node: string;
  readonly total: number;
  readonly moved: number;
  readonly inFlight: number;
  readonly blocked: readonly { readonly set: string; readonly reason: DrainObstacle }[];
}

export interface DrainNodeResult {
  readonly outcome: 'drained' | 'deadline' | 'cancelled';
  readonly moved: number;
  readonly blocked: readonly { readonly set: string; readonly reason: DrainObstacle }[];
}

/** Body of the update `cancelDrain`: starts nothing more and lets run what runs. */
export interface DrainCancel extends MigrationOrder {
  /** Take back the cordon, unless the node had one before. */
  readonly uncordon?: boolean;
}

/** Input of `requestMigration`: what a person asks of a set. Waits for the outcome. */
export interface RequestMigrationInput extends SetName {
  readonly requestId: string;
  /** Absent: any other node than the present one, the one with most room. */
  readonly to?: string;
  readonly by?: string;
  readonly reason?: string;
  /** Only say what would be done. */
  readonly dryRun?: boolean;
}

export interface RequestMigrationResult {
  /** `already-there`: it ran there. `changed`: somebody has asked for another node meanwhile. */
  readonly outcome:
    'migrated' | 'already-there' | 'changed' | 'aborted' | 'setDeleted' | 'parked' | 'would-migrate' | 'refused';
  readonly from?: string;
  readonly to?: string;
  readonly message: string;
  readonly migration?: MigrateMainResult;
}
