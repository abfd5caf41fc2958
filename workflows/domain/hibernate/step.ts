import type { Obstacle } from './preflight.ts';
import type { MigrationRecord } from './record.ts';

/** A Pod as it was when the decision was made: writes to it fail when it has changed since. */
export interface PodVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

export type SetEvent =
  | 'MigrationStarted'
  | 'SnapshotReady'
  | 'OldPodRemoved'
  | 'RestoreStarted'
  | 'Migrated'
  | 'MigrationAborted'
  | 'Retargeted'
  | 'StaleSnapshotDropped'
  | 'SnapshotDiscarded'
  | 'FreshBootAcknowledged'
  | 'RecoveredFromFailure'
  | 'QuiesceTimeout';

/** How a migration ended. */
export type Outcome = 'migrated' | 'aborted' | 'superseded' | 'setDeleted' | 'parked';

/** The one change of a turn. Every one names what it was decided for; when that is no longer so, it does nothing. */
export type Action =
  | { readonly do: 'stampPod'; readonly pod: PodVersion; readonly generation: number }
  /** Without a record: removes it. */
  | { readonly do: 'writeRecord'; readonly record?: MigrationRecord }
  /** `settled`: what the set's agents amount to. */
  | { readonly do: 'setPhase'; readonly phase: 'Migrating' | 'settled' }
  | { readonly do: 'setHibernate'; readonly pod: PodVersion }
  | { readonly do: 'clearHibernate'; readonly pod: PodVersion }
  | {
      readonly do: 'deletePod';
      readonly pod: PodVersion;
      /** Ask the agent first to keep its copy of the snapshot; best effort. */
      readonly keepSnapshot: boolean;
      /** Without waiting for the agent. */
      readonly force: boolean;
    }
  /** From the current spec, with the mark that makes the agent restore this snapshot. */
  | { readonly do: 'createPod'; readonly digest: string }
  | { readonly do: 'dropTag'; readonly digest: string };

/** Waits that the world ends. */
export type WaitReason =
  | 'RegistryUnavailable'
  | 'Snapshotting'
  | 'SnapshotSlow'
  | 'SnapshotFailed'
  | 'SourceNodeLost'
  | 'RemovingOldPod'
  | 'OldPodStuck'
  | 'Fenced'
  | 'Scheduling'
  | 'MigrateNoCapacity'
  | 'Restoring'
  | 'RestoreSlow'
  | 'MainAgentFailed'
  | 'AgentBusy'
  | 'WaitingForSlot';

/** What stands in the way until it changes or a person decides. */
export type HoldReason =
  | Obstacle
  | 'PodNameConflict'
  | 'HibernationOwnsPod'
  | 'SnapshotMissing'
  | 'SnapshotInvalid'
  | 'SnapshotForeign'
  | 'QuiesceTimeout'
  | 'RestoreTimeout';

export type Next =
  | {
      readonly kind: 'act';
      readonly action: Action;
      /** To be told when the action has been carried out. */
      readonly event?: SetEvent;
      /** The action closes the migration in this way. */
      readonly ending?: Outcome;
    }
  /** `until`: when looking again will find something else although nothing has changed. */
  | {
      readonly kind: 'wait';
      readonly reason: WaitReason;
      readonly detail?: string;
      readonly since?: string;
      readonly until?: string;
    }
  | { readonly kind: 'hold'; readonly reason: HoldReason; readonly detail?: string; readonly since?: string }
  /** The migration has nothing to do: the set's ordinary rules go on. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'end'; readonly outcome: Outcome };
