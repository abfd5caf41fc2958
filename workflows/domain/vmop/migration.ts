/** A migration object, as much of it as its progress needs. */
export interface MigrationFacts {
  readonly uid: string;
  readonly phase: string;
  readonly deleting: boolean;
  readonly abortRequested: boolean;
  /** Percent of the memory that was copied, where the layer below says it. */
  readonly copied?: number;
  /** Conditions with status False, by type. */
  readonly troubles: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
  /** Why it failed, in the words of the layer below. */
  readonly failure?: string;
}

/** What people see of a migration. */
export interface MigrationProgress {
  /** Phase of the operation while it goes on. */
  readonly phase: 'Pending' | 'InProgress';
  /** Reason of the condition `Completed`. */
  readonly reason: string;
  readonly message: string;
  /** Percent. */
  readonly progress: number;
  readonly ended?: 'succeeded' | 'failed';
  /** Counts against the limit of the preparation of the target. */
  readonly isPreparing: boolean;
}

interface Row {
  readonly reason: string;
  readonly progress: number;
  readonly message: string;
  readonly pending?: true;
  readonly preparing?: true;
}

/** Phases of the migration object in their order. */
const rows: Readonly<Record<string, Row>> = {
  Pending: { reason: 'MigrationPending', progress: 0, message: 'waits for its turn', pending: true },
  WaitingForSyncSlot: { reason: 'WaitingForSyncSlot', progress: 0, message: 'waits for a slot', pending: true },
  Scheduling: { reason: 'TargetScheduling', progress: 2, message: 'looks for a target node', preparing: true },
  Scheduled: { reason: 'TargetPreparing', progress: 3, message: 'the target is being prepared', preparing: true },
  PreparingTarget: { reason: 'TargetPreparing', progress: 3, message: 'the target is being prepared', preparing: true },
  TargetReady: { reason: 'TargetPreparing', progress: 3, message: 'the target is ready', preparing: true },
  Running: { reason: 'Syncing', progress: 10, message: 'memory is being copied' },
};

/** What goes wrong without ending it. */
const troubles: Readonly<Record<string, string>> = {
  TargetScheduled: 'TargetUnschedulable',
  TargetReady: 'TargetDiskError',
  Converging: 'NotConverging',
};

/** From 10 % when copying begins to 90 % when all is copied. */
function copying(copied: number): number {
  return 10 + Math.round(Math.min(Math.max(copied, 0), 100) * 0.8);
}

/** Where a migration stands, from its object. Pure and total: an unknown phase counts as waiting. */
export function progressOf(migration: MigrationFacts): MigrationProgress {
  if (migration.phase === 'Succeeded')
    return { ...going, reason: 'Completed', message: 'migrated', progress: 100, ended: 'succeeded' };
  if (migration.phase === 'Failed') {
    const reason = migration.abortRequested ? 'Aborted' : 'Failed';
    const why = migration.failure ?? (migration.abortRequested ? 'it was aborted' : 'no reason is given');
    return { ...going, reason, message: `the migration failed: ${why}`, progress: 0, ended: 'failed' };
  }
  const row = rows[migration.phase] ?? rows['Pending'];
  if (row === undefined) throw new Error('the table of phases has no row Pending');
  const trouble = migration.troubles.find(({ type }) => troubles[type] !== undefined);
  return {
    phase: row.pending === true ? 'Pending' : 'InProgress',
    reason: troubles[trouble?.type ?? ''] ?? row.reason,
    message: trouble === undefined ? row.message : `${row.message}: ${trouble.message}`,
    progress: row.reason === 'Syncing' ? copying(migration.copied ?? 0) : row.progress,
    isPreparing: row.preparing === true,
  };
}

const going = { phase: 'InProgress', isPreparing: false } as const;
