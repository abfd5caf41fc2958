import { omit } from '../omit.ts';
import type {
  Baseline,
  EntryStatus,
  Finding,
  ImportStage,
  InstanceOverrides,
  InstanceRecord,
  MigrationWindow,
  Placement,
} from './records.ts';

/** What an entry is doing within its status: for people and for lists. */
export type Substate =
  | 'awaiting-create-slot'
  | 'awaiting-import-slot'
  | 'snapshotting'
  | 'copying'
  | 'awaiting-window'
  | 'awaiting-topup'
  | 'powering-off'
  | 'adapting-guest'
  | 'final-checks'
  | 'configuring'
  | 'starting'
  | 'rolling-back'
  | 'revalidating'
  | 'cleanup-pending'
  | 'paused'
  | 'awaiting-turn';

/** Facts about the power of the source, so that what we switched off comes on again. */
export interface SourcePowerFacts {
  readonly initial_running: boolean;
  /** Written before the call that switches it off. */
  readonly powered_off_by_us_at?: string;
  /** It was off after that. Absent: a guest that was asked to shut down may still be about to. */
  readonly seen_off_at?: string;
  readonly restored_at?: string;
}

/** What of ours is at the target. Each flag is set before the call that makes it true. */
export interface TargetState {
  /** An instance with our marks exists, or may exist. */
  readonly exists: boolean;
  /** The guest was or may have been changed: no change id describes its disks any more. */
  readonly adapted: boolean;
  /** The final configuration was or may have been sent: it has the production NICs. */
  readonly configured: boolean;
  /** It was or may have been started. */
  readonly started: boolean;
  /** It was or may have been handed over: it has our marks no more, and is all the same what we have started. */
  readonly released?: boolean;
}

export interface EntryConflict extends Finding {
  /** M0, M3, M4 or M5. */
  readonly moment: string;
  readonly since: string;
}

/** One line of the history of an entry. */
export interface TimelineLine {
  readonly at: string;
  readonly status: EntryStatus;
  readonly message: string;
}

/** One instance that is being migrated by one batch: all that its workflow remembers. Less than 50 KB. */
export interface Entry {
  readonly instance_uuid: string;
  readonly batch_name: string;
  /** Of this entry from batch start to its end; messages with another one are not for it. */
  readonly token: string;
  readonly status: EntryStatus;
  readonly stage: ImportStage;
  readonly substate?: Substate;
  readonly message: string;
  readonly since: string;
  readonly record: InstanceRecord;
  readonly overrides: InstanceOverrides;
  readonly baseline: Baseline;
  readonly placement?: Placement;
  readonly source_power: SourcePowerFacts;
  readonly target: TargetState;
  /** Number on the marks: grows when the target is given up and made anew. */
  readonly attempt: number;
  readonly attempts: { readonly create: number; readonly copy: number; readonly finalize: number };
  /** Number of the last copy pass: the fence that its writers carry. */
  readonly pass: number;
  readonly change_ids: Readonly<Record<string, string>>;
  readonly conflict?: EntryConflict;
  readonly resolve_count: number;
  readonly error?: Finding;
  /** Somebody has agreed that it doesn't match the expression any more. */
  readonly consented: boolean;
  readonly window?: MigrationWindow;
  /** Name of the constraint that it counts for. */
  readonly constraint?: string;
  readonly min_boot_ms: number;
  /** Ready to be committed since. */
  readonly ready_since?: string;
  readonly last_background_sync?: string;
  readonly last_sync_took_ms?: number;
  /** When a top-up was left out last because there was no place for it: the next one counts from here. */
  readonly top_up_left_out?: string;
  /** How long it took to copy everything, the last time that this was done. */
  readonly full_copy_took_ms?: number;
  /** Not to be committed until somebody says so. */
  readonly held: boolean;
  /** To be committed now, without a window. */
  readonly cutover: boolean;
  /** What it holds of the limits. */
  readonly slots?: HeldSlots;
  /** It counts for its window and constraint, or its batch doesn't know yet that it doesn't any more. */
  readonly holds_place: boolean;
  /** Epoch milliseconds of the last decision to commit it that it has heard. */
  readonly granted_at?: number;
  readonly timeline: readonly TimelineLine[];
}

export interface HeldSlots {
  readonly kind: 'create' | 'import';
  readonly token: string;
  /** Nothing is limited: nobody has to be told when it ends. */
  readonly unlimited: boolean;
}

export const emptyTarget: TargetState = { exists: false, adapted: false, configured: false, started: false };

const statusesOfDowntime: ReadonlySet<EntryStatus> = new Set([
  'Performing final import tasks',
  'Performing post-import tasks',
  'Worker tasks complete',
]);

/** The source was switched off by us, or is about to be: downtime is running. */
export function isCommitted({ status, stage }: Pick<Entry, 'status' | 'stage'>): boolean {
  if (statusesOfDowntime.has(status)) return true;
  return stage === 'complete' && (status === 'Idle' || status === 'Conflict');
}

/** Everything but Finished, Error and Canceled. */
export function isLive({ status }: Pick<Entry, 'status'>): boolean {
  return status !== 'Finished' && status !== 'Error' && status !== 'Canceled';
}

/** Work is under way that must not lose its entry. */
export function isMigrating({ status }: Pick<Entry, 'status'>): boolean {
  return migrating.has(status);
}

const migrating: ReadonlySet<EntryStatus> = new Set([
  'Creating new VM',
  'Performing background import tasks',
  'Idle',
  'Performing final import tasks',
  'Performing post-import tasks',
  'Worker tasks complete',
]);

/** The source's disks can be copied while it runs, and somebody has looked. */
export function hasBackgroundImport({ background_import, disks }: InstanceRecord): boolean {
  const copied = disks.filter(({ supported }) => supported);
  return background_import && copied.every((disk) => disk.background_import_verified);
}

/** It is copied while it runs. `comparesAll`: also where nobody can tell what has changed. */
export function isCopiedAhead(
  instance: InstanceRecord,
  { comparesAll = false }: { readonly comparesAll?: boolean },
): boolean {
  return comparesAll || hasBackgroundImport(instance);
}

/** We switched the source off, it was on before, and it hasn't been switched on again since. */
export function owesPowerOn({ initial_running, powered_off_by_us_at, restored_at }: SourcePowerFacts): boolean {
  return initial_running && powered_off_by_us_at !== undefined && restored_at === undefined;
}

/** Statuses that may follow each other; anything else is a fault of ours. Rows of the specification §6.3. */
const next: Readonly<Record<EntryStatus, readonly EntryStatus[]>> = {
  Blocked: ['Waiting', 'Conflict', 'Canceled'],
  Waiting: ['Blocked', 'Creating new VM', 'Conflict', 'Canceled'],
  'Creating new VM': ['Waiting', 'Idle', 'Error', 'Canceled'],
  Idle: [
    'Performing background import tasks',
    'Performing final import tasks',
    'Performing post-import tasks',
    'Waiting',
    'Conflict',
    'Error',
    'Canceled',
  ],
  'Performing background import tasks': ['Idle', 'Error', 'Canceled'],
  'Performing final import tasks': ['Idle', 'Waiting', 'Conflict', 'Error', 'Canceled'],
  'Performing post-import tasks': ['Worker tasks complete', 'Idle', 'Waiting', 'Error', 'Canceled'],
  'Worker tasks complete': [
    'Finished',
    'Conflict',
    'Error',
    'Waiting',
    'Idle',
    'Performing final import tasks',
    'Canceled',
  ],
  Conflict: ['Worker tasks complete', 'Waiting', 'Blocked', 'Idle', 'Conflict', 'Error', 'Canceled'],
  Error: ['Canceled'],
  Canceled: ['Waiting', 'Blocked'],
  Finished: [],
};

/** How many lines of its history an entry keeps with it; the workflow's history has them all. */
const keptLines = 60;

export class ForbiddenTransition extends Error {}

/** The entry in its new status, with a line in its history. Throws where the specification knows no such transition. */
export function enter(
  entry: Entry,
  status: EntryStatus,
  at: string,
  message: string,
  change: Partial<Omit<Entry, 'status' | 'since' | 'message' | 'timeline'>> = {},
): Entry {
  if (status !== entry.status && !next[entry.status].includes(status))
    throw new ForbiddenTransition(`no transition leads from ${entry.status} to ${status} (${entry.instance_uuid})`);
  const line: TimelineLine = { at, status, message };
  return {
    ...omit(entry, 'substate'),
    ...change,
    status,
    since: at,
    message,
    timeline: [...entry.timeline, line].slice(-keptLines),
  };
}

/** Another thing that it does within its status. */
export function within(entry: Entry, substate: Substate | undefined, message: string): Entry {
  return { ...omit(entry, 'substate'), ...(substate === undefined ? {} : { substate }), message };
}

/** What an entry doesn't always have: once it is over, it must not be remembered. */
export type Passing = 'conflict' | 'error' | 'window' | 'ready_since' | 'placement' | 'substate' | 'slots';

export function forget(entry: Entry, ...keys: readonly Passing[]): Entry {
  return omit(entry, ...keys);
}
