import type { Entry } from '../domain/batch/entry.ts';
import type { OrphanOrder } from './batch-lookup.ts';
import type { SlotPriority } from '../domain/batch/slots.ts';
import type { Baseline, BatchSpec, Finding, InstanceRecord, Placement } from '../domain/batch/records.ts';
import type {
  ByWhom,
  CommitGranted,
  CleanUp,
  EntrySettings,
  Member,
  MemberToStart,
  PassMode,
  PassScope,
  SlotKind,
  StartOutcome,
  SyncResult,
} from './batch.ts';

/** One mistake in a batch: where it is and what to do about it. */
export interface SpecProblem {
  /** Path into the batch, such as `constraints[1].include_expression`. */
  readonly path: string;
  readonly message: string;
  /** Inside an expression or program, from 1. */
  readonly line?: number;
  readonly column?: number;
}

/** How the entries of a batch stand, for the rules of its edit. */
export interface EditState {
  readonly status: string;
  readonly previous: BatchSpec;
  readonly assignedWindows: readonly string[];
  /** Constraints that committed entries count for. */
  readonly committedConstraints: readonly string[];
  /** Uuids of the committed entries: a constraint that is new may hold for them too. */
  readonly committed?: readonly string[];
  /** An entry is Blocked, Waiting or Creating. */
  readonly hasEarlyEntries: boolean;
}

/** Calls of a batch and its shards, on the control queue. */
export interface BatchActivities {
  /** Checks everything in a batch that can be checked without its members. Fails with `InvalidRequest` that lists all problems. */
  checkBatch(input: { readonly spec: BatchSpec; readonly edit?: EditState }): Promise<void>;
  /** Members in order of uuid after this one. Reads the sources; `next` is absent on the last page. */
  selectMembers(input: {
    readonly spec: BatchSpec;
    readonly after?: string;
    readonly limit: number;
  }): Promise<{ readonly members: readonly Member[]; readonly next?: string }>;
  /**
   * M0 of these members and the start of their workflows. One that has a workflow of this batch already is adopted; one of
   * another batch is skipped. Safe to run twice.
   */
  startEntries(input: {
    readonly batch: string;
    readonly shardId: string;
    readonly members: readonly MemberToStart[];
  }): Promise<readonly StartOutcome[]>;
  /** Sends a signal to the migrations of these instances; those that are over don't hear it. */
  tellEntries(input: {
    readonly batch: string;
    readonly uuids: readonly string[];
    readonly message: 'pause' | 'unpause' | 'giveTurn' | 'settings';
  }): Promise<void>;
  /** Tells these that they are committed; answers those that have no open migration. Told twice they hear it once. */
  grantCommits(input: {
    readonly grants: readonly (CommitGranted & { readonly uuid: string })[];
  }): Promise<readonly string[]>;
  /** Ends the entries of these instances for a reset (or deletes what is left of them); heartbeats; answers what couldn't be. */
  endEntries(input: {
    readonly batch: string;
    readonly uuids: readonly string[];
    readonly by: ByWhom;
    readonly cleanup: CleanUp;
  }): Promise<{ readonly warnings: readonly string[] }>;
  /** Which of these instances have no open migration of this batch. */
  closedEntries(input: { readonly batch: string; readonly uuids: readonly string[] }): Promise<readonly string[]>;
}

/** Which VM, and what of it is where. Every call about an entry has it. */
export interface EntryScope {
  readonly uuid: string;
  readonly batch: string;
  /** Effective name: of the target instance. */
  readonly name: string;
  readonly source: string;
  /** `source_specific_id`. */
  readonly vm: string;
  readonly attempt: number;
  /** Empty before it was placed. */
  readonly target: string;
  readonly project: string;
}

/** What M1 says, and what it has learnt on the way. */
export interface Assessment {
  /** Why it can't begin; absent: it can. */
  readonly blocked?: { readonly code: string; readonly message: string };
  readonly record: InstanceRecord;
  readonly baseline: Baseline;
  readonly placement?: Placement;
  readonly constraint?: string;
  readonly minBootMs: number;
  /** Effective name. */
  readonly name: string;
}

export interface FinalCheckInput {
  readonly scope: EntryScope;
  readonly entry: Pick<Entry, 'record' | 'baseline' | 'placement' | 'source_power' | 'change_ids' | 'target'>;
  /** It follows a resolve: the placement is computed anew in any case. */
  readonly isResolve: boolean;
}

/** What M4 says. */
export interface FinalCheckResult {
  readonly verdict: 'clean' | 'powered-on' | 'conflict' | 'error';
  readonly finding?: Finding;
  readonly record: InstanceRecord;
  readonly placement: Placement;
  readonly warnings: readonly string[];
}

/** Calls about one entry, on the control queue. Each may run twice, be killed at any line and arrive late. */
export interface EntryActivities {
  /** M1. `expectsTarget`: an instance with its marks may be there already. */
  assessEntry(input: {
    readonly scope: EntryScope;
    readonly entry: Pick<Entry, 'record' | 'baseline' | 'placement' | 'source_power' | 'consented'>;
    readonly expectsTarget: boolean;
  }): Promise<Assessment>;
  /** Reads the VM anew and places it anew, for a retry. `keepsTarget`: what is at the target can be gone on with. */
  replanEntry(input: {
    readonly scope: EntryScope;
    readonly entry: Pick<Entry, 'record' | 'baseline' | 'placement' | 'source_power' | 'consented' | 'target'>;
  }): Promise<Assessment & { readonly keepsTarget: boolean }>;
  /** The instance with its empty disks; one with our marks is adopted. Heartbeats. */
  createTarget(input: {
    readonly scope: EntryScope;
    readonly record: InstanceRecord;
    readonly placement: Placement;
    readonly initialRunning: boolean;
  }): Promise<void>;
  /** Undefined: there is no such VM any more. */
  readSourcePower(scope: EntryScope): Promise<{ readonly power?: 'on' | 'off' | 'suspended' }>;
  /** Off already is fine. Heartbeats. */
  powerOffSource(input: { readonly scope: EntryScope; readonly graceMs: number }): Promise<void>;
  /**
   * On already is fine; a VM that is gone is `gone`. `shutdownMs`: its guest was asked to shut down and may do so within this time,
   * which is waited for. Heartbeats.
   */
  powerOnSource(scope: EntryScope & { readonly shutdownMs?: number }): Promise<{ readonly gone: boolean }>;
  /** Whether the disks have changed since these change ids; `unknown` where that can't be told. */
  changedSince(input: {
    readonly scope: EntryScope;
    readonly changeIds: Readonly<Record<string, string>>;
  }): Promise<{ readonly changed: 'none' | 'some' | 'unknown' }>;
  /** `changes`: it changes the disks of the target, or would. */
  adaptGuest(input: { readonly scope: EntryScope; readonly dryRun: boolean }): Promise<{ readonly changes: boolean }>;
  /** M4, reads only. */
  finalCheck(input: FinalCheckInput): Promise<FinalCheckResult>;
  /** Stopped, configured and read back. */
  configureTarget(input: {
    readonly scope: EntryScope;
    readonly record: InstanceRecord;
    readonly placement: Placement;
  }): Promise<void>;
  targetState(scope: EntryScope): Promise<{ readonly running: boolean }>;
  /** Resolves once it runs. Heartbeats. */
  startTarget(scope: EntryScope): Promise<void>;
  /** Resolves once it is stopped, also when there is none. `released`: it may have been handed over. Heartbeats. */
  stopTarget(scope: EntryScope & { readonly released?: boolean }): Promise<void>;
  /** Only what carries the marks of this entry and attempt. Heartbeats. */
  deleteTarget(scope: EntryScope): Promise<void>;
  /** The finished instance belongs to nobody's entry any more. */
  releaseTarget(scope: EntryScope): Promise<void>;
  /** Hands a wish to the slots, starting them where they don't run; `granted`: there is no limit, nobody was asked. */
  askSlots(input: {
    readonly scope: EntryScope;
    readonly kind: SlotKind;
    readonly priority: SlotPriority;
    readonly token: string;
    /** Epoch milliseconds: of two wishes of one entry the newer one counts. */
    readonly askedAt: number;
    readonly host: string;
    readonly syncLimit: number;
  }): Promise<{ readonly granted: boolean }>;
  /** Settings of the batch as they are now. */
  entrySettings(batch: string): Promise<EntrySettings>;
}

export interface PassDisk {
  readonly name: string;
  /** Place among the disks of the target instance. */
  readonly index: number;
  readonly key: number;
  readonly capacity: number;
  /** Of the snapshot that is copied; empty where there is no change tracking. */
  readonly changeId: string;
}

/** Calls of a copy pass, on the control queue. */
export interface CopyPassActivities {
  /** Left-overs of this entry's own snapshots are removed, a new one made, the disks compared, the writers of others fenced off. Heartbeats. */
  beginPass(input: {
    readonly scope: PassScope;
    readonly mode: PassMode;
  }): Promise<{ readonly snapshot: string; readonly disks: readonly PassDisk[]; readonly finding?: Finding }>;
  /** Removes the snapshots of this entry and waits for their consolidation. Heartbeats. */
  endPass(scope: PassScope): Promise<void>;
}

/** On the transfer queue. */
export interface CopyTransferActivities {
  /** One disk: the areas that changed since the change id, or all of it. Heartbeats its progress. */
  copyDisk(input: {
    readonly scope: PassScope;
    readonly mode: PassMode;
    readonly snapshot: string;
    readonly disk: PassDisk;
    /** Empty: the whole disk. */
    readonly since: string;
    /** This pass has begun before, with another snapshot: what that held may be at the target. */
    readonly isAgain?: boolean;
  }): Promise<{ readonly bytesRead: number; readonly bytesWritten: number }>;
  /** Compares blocks of a copied disk with its source: those that changed since the change id, and random ones. Heartbeats. */
  verifyDisk(input: {
    readonly scope: PassScope;
    readonly snapshot: string;
    readonly disk: PassDisk;
    /** Of the copy before; empty: the whole disk was copied. */
    readonly since: string;
  }): Promise<DiskComparison>;
}

/** Bytes that were the same on both sides, and what kept it from being more. */
export interface DiskComparison {
  readonly bytes: number;
  readonly differs?: { readonly start: number; readonly length: number };
  /** Why the source can't be read in this way: only what was written has been read back. */
  readonly unread?: string;
}

/** Calls of the entity of a source, on the control queue. */
export interface SourceActivities {
  /** Reads the source, tells the entries that may be updated; answers counts and warnings. Heartbeats. */
  syncSource(source: string): Promise<SyncResult>;
  /** Has those sources read whose last reading is older than the configuration wants; none while there is no batch. Heartbeats. */
  syncDueSources(): Promise<{ readonly synced: readonly string[] }>;
}

/** What is known of an instance that has marks of an entry, and no entry. */
export interface OrphanLook {
  readonly scope: EntryScope;
  readonly member: Member;
  /** Of the batch of its marks. */
  readonly shardId: string;
  /** Its source ran when its entry began. */
  readonly ran: boolean;
}

/** Calls about instances whose entry is lost, on the control queue. */
export interface OrphanActivities {
  /** Undefined: it is gone, or has other marks. Fails with `Refused` while its entry is there. */
  lookAtOrphan(order: OrphanOrder): Promise<OrphanLook | undefined>;
  /** Removes what snapshots its entry has left at the source. Heartbeats. */
  removeSnapshots(scope: EntryScope): Promise<void>;
}

/** Calls of the slots, on the control queue. */
export interface SlotsActivities {
  /** Which of these workflows are over. */
  overOf(workflowIds: readonly string[]): Promise<readonly string[]>;
}

export type { SyncResult };
