import type { Commits } from '../domain/batch/commits.ts';
import type { Entry, Substate, TimelineLine } from '../domain/batch/entry.ts';
import type {
  Baseline,
  BatchSpec,
  BatchStatus,
  EntryStatus,
  Finding,
  InstanceOverrides,
  InstanceRecord,
  MigrationWindow,
  Placement,
} from '../domain/batch/records.ts';
import type { EtaSample } from '../domain/batch/eta.ts';
import type { OrderedVm } from '../domain/batch/order.ts';
import type { Slots, SlotWish } from '../domain/batch/slots.ts';
import type { OperationStatus } from './status.ts';

/** A VM of a batch. `vm` is its `source_specific_id`. */
export interface Member {
  readonly uuid: string;
  readonly source: string;
  readonly vm: string;
  readonly name: string;
  /** Others wait for it, or it for others. */
  readonly ordered?: true;
}

/** What a shard knows of a member, coarse: enough for totals and for lists. `queued`: it waits for a place to be copied. */
export type MemberPhase =
  | 'none'
  | 'waiting'
  | 'blocked'
  | 'queued'
  | 'running'
  | 'ready'
  | 'committed'
  | 'conflict'
  | 'finished'
  | 'error'
  | 'canceled';

export interface MemberRow extends Member {
  readonly phase: MemberPhase;
  /** It is to get an entry, and its source couldn't be read so far. */
  readonly unread?: true;
  /** Its entry waits for its turn. */
  readonly later?: true;
  readonly window?: string;
}

/** A member that is to get an entry. */
export type MemberToStart = Pick<MemberRow, 'uuid' | 'source' | 'vm' | 'name' | 'later'>;

export type PhaseCounts = Readonly<Partial<Record<MemberPhase, number>>>;

/** Argument of the update `apply` and input of the workflow `batch`. */
export interface ApplyBatch {
  readonly spec: BatchSpec;
  readonly by: string;
}

export interface ApplyAnswer {
  readonly members: number;
  /** What was changed: a new batch, its content, or nothing. */
  readonly result: 'created' | 'changed' | 'unchanged';
  readonly etag: string;
}

export interface EditBatch {
  readonly spec: BatchSpec;
  /** Of the status that the edit was made from; absent: whatever it is. */
  readonly etag?: string;
  readonly by: string;
}

/** Argument of `start`, `stop`, `resume` and `delete`. */
export interface ByWhom {
  readonly by: string;
  readonly reason?: string;
}

export interface ResetBatch extends ByWhom {
  readonly force: boolean;
}

export interface StartAnswer {
  /** Also those whose source can't be read yet. */
  readonly queued: number;
  readonly skipped: readonly Skipped[];
  /** How many were skipped in all; the list is cut. */
  readonly skippedCount: number;
}

/** A member that got no entry. */
export interface Skipped {
  readonly uuid: string;
  readonly name: string;
  readonly why: string;
}

export interface WindowView extends MigrationWindow {
  readonly held: number;
  readonly state: 'ahead' | 'open' | 'locked' | 'over';
}

export interface ConstraintView {
  readonly name: string;
  readonly max: number;
  readonly held: number;
}

/** Answer of the query `status` of a batch. */
export interface BatchView extends OperationStatus {
  readonly batch: string;
  readonly batchStatus: BatchStatus;
  readonly members: number;
  readonly counts: PhaseCounts;
  readonly windows: readonly WindowView[];
  readonly constraints: readonly ConstraintView[];
  readonly etag: string;
  readonly startDate?: string;
  readonly shards: number;
  /** Ready to be committed, and why not yet. */
  readonly ready: number;
  /** Who is ready and waits for others of the batch, the first few. */
  readonly waitsForOthers?: readonly { readonly name: string; readonly why: string }[];
  /** From which it can be told when all will be done that goes on by itself. */
  readonly pace?: { readonly samples: readonly EtaSample[]; readonly total: number };
}

/** Answer of the query `spec` of a batch. */
export interface BatchSpecAnswer {
  readonly spec: BatchSpec;
  readonly revision: number;
  readonly status: BatchStatus;
}

export interface BatchInput {
  readonly name: string;
  readonly resume?: BatchState;
}

/** What a batch takes with it into a new run. */
export interface BatchState {
  readonly spec: BatchSpec;
  readonly revision: number;
  readonly status: BatchStatus;
  readonly statusMessage: string;
  readonly since: string;
  readonly startDate?: string;
  readonly shards: readonly ShardState[];
  readonly commits: Commits;
  /** Members that wait for others, and those that are waited for. */
  readonly order?: readonly OrderedVm[];
  /** UUIDs of those of the order that are finished. */
  readonly finished?: readonly string[];
  /** How many were finished when, while it runs. */
  readonly samples?: readonly EtaSample[];
}

export interface ShardState {
  readonly members: number;
  readonly counts: PhaseCounts;
  readonly trouble?: string;
}

export interface ShardInput {
  readonly batch: string;
  readonly shard: number;
  readonly rows: readonly MemberRow[];
  /** Wishes of a run before. */
  readonly requests?: readonly CommitRequest[];
  /** How many of its members may be at work at once; absent: all. */
  readonly places?: number;
  /** Its batch is stopped: nobody is given a turn. */
  readonly paused?: boolean;
  /** How long it gathers what happens between two reports to its batch; absent: a second. */
  readonly reportMs?: number;
}

/** What is deleted at the target when entries are ended: nothing, what was not configured yet, or all that is theirs. */
export type CleanUp = 'none' | 'unless-configured' | 'all';

/** Signal to a shard. */
export type ShardOrder =
  /** `places`: how many of its members may be at work at once; absent: all. `reportMs`: see `ShardInput`. */
  | { readonly kind: 'start'; readonly startId: string; readonly places?: number; readonly reportMs?: number }
  | { readonly kind: 'replace'; readonly members: readonly Member[] }
  | { readonly kind: 'tell'; readonly message: 'pause' | 'unpause' | 'settings' }
  /** Ends all its entries. */
  | { readonly kind: 'end'; readonly orderId: string; readonly by: ByWhom; readonly cleanup: CleanUp }
  | { readonly kind: 'close' };

/** Signal of a shard to its batch, at most one per second; of many shards each reports less often. */
export interface ShardNews {
  readonly shard: number;
  readonly counts: PhaseCounts;
  readonly members: number;
  readonly requests: readonly CommitRequest[];
  /** Entries that need their place no more, or want none. */
  readonly released: readonly string[];
  /** Those of the order of the batch that are finished since the news before; some of them may be told twice. */
  readonly finished?: readonly string[];
  /** Why some members have no entry yet. */
  readonly trouble?: string;
  /** An order that is carried out. */
  readonly done?: OrderDone;
}

export interface OrderDone {
  /** `startId` or `orderId`. */
  readonly id: string;
  readonly queued: number;
  readonly skipped: readonly Skipped[];
  readonly skippedCount: number;
  readonly warnings: readonly string[];
}

/** An entry that could be committed. */
export interface CommitRequest {
  readonly uuid: string;
  readonly name: string;
  readonly token: string;
  readonly readySince: string;
  readonly constraint?: string;
  readonly minBootMs: number;
  /** Now, without a window. */
  readonly cutover: boolean;
}

/** Signal of a migration to its shard: what its row says now. */
export interface EntryNews {
  readonly uuid: string;
  readonly phase: MemberPhase;
  readonly window?: string;
  /** Present: it asks to be committed. */
  readonly request?: CommitRequest;
  /** It needs no place in a window. */
  readonly released?: boolean;
  /** It is over and its workflow closes. */
  readonly closed?: boolean;
}

/** Signal of the batch to a migration. */
export interface CommitGranted {
  readonly token: string;
  /** Epoch milliseconds of the decision: one that is not newer than the last one has been told before. */
  readonly at?: number;
  /** Absent: the batch has no windows, or somebody wants it now. */
  readonly window?: MigrationWindow;
}

export interface EntriesQuery {
  readonly cursor?: number;
  readonly limit?: number;
  readonly phase?: MemberPhase;
}

export interface EntriesPage {
  readonly rows: readonly MemberRow[];
  readonly cursor?: number;
}

/** What a migration begins with: made by `startEntries`. */
export interface MigrationInput {
  readonly entry: Entry;
  readonly shardId: string;
  readonly settings: EntrySettings;
  readonly paused?: boolean;
  /** It begins when its shard gives it its turn. */
  readonly later?: boolean;
  /** It goes on in a new run. */
  readonly resume?: { readonly isResolve: boolean };
}

/** Settings of the batch and of the workers that a migration decides by; sent anew when they change. Spans are milliseconds. */
export interface EntrySettings {
  readonly tickMs: number;
  readonly intervalMs: number;
  readonly finalLimitMs: number;
  readonly createRetries: number;
  readonly finalizeRetries: number;
  readonly finalizePauseMs: number;
  readonly windowEndInConflict: 'rollback' | 'hold';
  readonly staleSource: 'recopy' | 'accept';
  readonly shutdownGraceMs: number;
  readonly archiveAfterMs: number;
  readonly windows: readonly MigrationWindow[];
  readonly syncLimit: number;
  /** A VM without change tracking is copied ahead too. */
  readonly comparesAll?: boolean;
}

/** Signal to the migrations of a batch whose settings have changed. */
export interface SettingsChanged {
  readonly settings: EntrySettings;
}

/** Signal of a sync: the record of a VM that may be updated, or that there is none any more. */
export type SourceUpdated = { readonly record: InstanceRecord } | { readonly missing: true };

export interface CancelEntry extends ByWhom {
  readonly cleanup: boolean;
}

/** Answer of `resolve`. */
export interface ResolveAnswer {
  readonly result: 'waiting' | 'finished' | 'conflict' | 'revalidating' | 'canceled';
  readonly conflict?: Finding;
}

/** In the message of an entry that was ended while its source was gone. */
export const sourceGone = 'its source VM is gone';

/** Answer of the query `status` of a migration. */
export interface MigrationView extends OperationStatus {
  readonly vm: string;
  readonly uuid: string;
  readonly batch: string;
  readonly entryStatus: EntryStatus;
  readonly stage: string;
  readonly substate?: Substate;
  readonly committed: boolean;
  /** Its batch has given it a place, which it has not given back. */
  readonly holdsPlace: boolean;
  /** The target has, or may have, its final configuration. */
  readonly configured: boolean;
  readonly source: string;
  readonly target?: string;
  readonly window?: string;
  /** Number of the last copy pass: `migration/<uuid>/pass/<n>` shows its progress. */
  readonly copyPass?: number;
  readonly lastSync?: string;
  readonly resolveCount: number;
  readonly placement?: Placement;
}

/** Answer of the query `record` of a migration. */
export interface MigrationRecord {
  readonly view: MigrationView;
  readonly record: InstanceRecord;
}

/** Answer of the query `timeline`. */
export type Timeline = readonly TimelineLine[];

export type PassMode = 'background' | 'final';

export interface CopyPassInput {
  readonly entry: PassScope;
  readonly mode: PassMode;
}

/** What a pass works on. */
export interface PassScope {
  readonly uuid: string;
  readonly name: string;
  readonly batch: string;
  readonly source: string;
  readonly vm: string;
  readonly attempt: number;
  readonly pass: number;
  readonly target: string;
  readonly project: string;
  readonly baseline: Baseline;
  readonly changeIds: Readonly<Record<string, string>>;
}

export interface CopyPassResult {
  /** Disk → change id of the snapshot that was copied. */
  readonly changeIds: Readonly<Record<string, string>>;
  readonly bytes: number;
  /** Bytes that were compared on both sides; absent: none. What was written has been read back in any case. */
  readonly compared?: number;
  /** Found before the first byte was written: nothing was copied. */
  readonly finding?: Finding;
}

/** Slots: who may import or create now. */
export type SlotKind = 'create' | 'import';

/** Signal to `slots`. */
export type SlotOrder =
  | { readonly kind: 'ask'; readonly ask: SlotWish }
  | { readonly kind: 'release'; readonly holder: string; readonly token: string };

/** Signal of `slots` to who asked. */
export interface SlotsGranted {
  readonly token: string;
}

/** How a start of one member went. */
export type StartOutcome =
  | { readonly uuid: string; readonly outcome: 'queued' | 'adopted'; readonly phase: MemberPhase }
  /** `unread`: its source can't be asked now. */
  | { readonly uuid: string; readonly outcome: 'skipped' | 'unread'; readonly why: string };

export interface OverridesPatch extends ByWhom {
  readonly overrides: InstanceOverrides;
}

export interface SourceInput {
  readonly name: string;
  readonly last?: SyncResult;
  readonly lastError?: string;
}

/** Answer of the query `status` of a source. */
export interface SourceView {
  readonly kind: 'source';
  readonly id: string;
  readonly source: string;
  readonly syncing: boolean;
  readonly since: string;
  readonly last?: SyncResult;
  readonly lastError?: string;
}

/** What a sync has seen and done. */
export interface SyncResult {
  readonly at: string;
  readonly instances: number;
  readonly networks: number;
  readonly updated: number;
  readonly missing: number;
  readonly warnings: readonly { readonly type: string; readonly messages: readonly string[]; readonly count: number }[];
}

export interface SlotsInput {
  readonly slots?: Slots;
}

/** Answer of the query `status` of the slots. */
export interface SlotsView {
  readonly kind: 'slots';
  readonly id: string;
  readonly slots: Slots;
}
