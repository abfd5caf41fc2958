import { isCommitted, owesPowerOn, type Entry } from './entry.ts';
import type { EntryStatus, ImportStage } from './records.ts';

/**
 * One step of undoing an entry. Each may find nothing to do. Steps at the target touch only what carries the entry's marks: the
 * name alone may be somebody else's instance.
 */
export type CleanUpStep =
  'stopCopy' | 'releaseSlots' | 'stopTarget' | 'powerOnSource' | 'removeSnapshot' | 'deleteTarget';

/**
 * The one order of every plan. Slots first: who can't reach a source or target must not keep others from theirs. The target
 * stops before the source starts, or both run with one address; the source starts before what may take hours.
 */
const order: readonly CleanUpStep[] = [
  'stopCopy',
  'releaseSlots',
  'stopTarget',
  'powerOnSource',
  'removeSnapshot',
  'deleteTarget',
];

type Undone = Pick<Entry, 'status' | 'stage' | 'source_power'>;

/** What is under way in each status, besides slots and the power of the source. */
const underWay: Readonly<Record<EntryStatus, readonly CleanUpStep[]>> = {
  Blocked: [],
  Waiting: [],
  'Creating new VM': ['stopTarget'],
  Idle: ['stopCopy', 'stopTarget'],
  'Performing background import tasks': ['stopCopy', 'stopTarget', 'removeSnapshot'],
  'Performing final import tasks': ['stopCopy', 'stopTarget', 'removeSnapshot'],
  'Performing post-import tasks': ['stopCopy', 'stopTarget', 'removeSnapshot'],
  'Worker tasks complete': ['stopCopy', 'stopTarget', 'removeSnapshot'],
  Conflict: ['stopCopy', 'stopTarget'],
  Error: ['stopTarget'],
  Canceled: ['stopTarget'],
  Finished: [],
};

function planOf(entry: Undone, { deletes }: { readonly deletes: boolean }): readonly CleanUpStep[] {
  if (entry.status === 'Finished') return [];
  const steps = new Set<CleanUpStep>(['releaseSlots', ...underWay[entry.status]]);
  if (entry.status === 'Idle' && entry.stage === 'complete') steps.add('removeSnapshot');
  if (owesPowerOn(entry.source_power)) steps.add('stopTarget').add('powerOnSource');
  if (deletes) steps.add('deleteTarget');
  return order.filter((step) => steps.has(step));
}

/** Why an entry can't be cancelled; undefined: it can. */
export function cancelRefusal({ status }: Pick<Entry, 'status'>): string | undefined {
  if (status === 'Canceled') return 'it is canceled already';
  if (status === 'Finished') return 'it is finished: its target is in production and is not touched any more';
  return undefined;
}

/** What cancelling does, table of the specification §10.1. `cleanup`: what we made at the target is deleted too. */
export function cleanUpPlan(entry: Undone, { cleanup }: { readonly cleanup: boolean }): readonly CleanUpStep[] {
  return planOf(entry, { deletes: cleanup });
}

/** What becoming an Error does: the source is as before, the target stays for inspection. */
export function errorPlan(entry: Undone): readonly CleanUpStep[] {
  return planOf(entry, { deletes: false });
}

export interface Rollback {
  readonly steps: readonly CleanUpStep[];
  /** Where the entry goes on. */
  readonly status: Extract<EntryStatus, 'Idle' | 'Waiting' | 'Conflict'>;
  readonly stage: ImportStage;
}

/** The disks at the target are what change ids describe: no guest was adapted, configured or started there. */
export function isIntact({ adapted, configured, started }: Entry['target']): boolean {
  return !adapted && !configured && !started;
}

/**
 * What the end of its window does to an entry, table of the specification §9.6; undefined: nothing. One whose target runs
 * already, with everything done, is to be finished instead.
 */
export function rollbackPlan(
  entry: Undone & Pick<Entry, 'target'>,
  inConflict: 'rollback' | 'hold',
): Rollback | undefined {
  if (!isCommitted(entry)) return undefined;
  if (entry.status === 'Conflict') {
    if (inConflict === 'hold') return undefined;
    return { steps: planOf(entry, { deletes: false }), status: 'Conflict', stage: 'background' };
  }
  if (!isIntact(entry.target))
    return { steps: planOf(entry, { deletes: true }), status: 'Waiting', stage: 'background' };
  const stage = entry.stage === 'background' ? 'background' : 'final';
  return { steps: planOf(entry, { deletes: false }), status: 'Idle', stage };
}

/** Why a batch with this entry can't be reset; undefined: it can. */
export function resetRefusal(entry: Undone, { force }: { readonly force: boolean }): string | undefined {
  if (force || !isCommitted(entry)) return undefined;
  return `it is in its downtime (${entry.status}): wait for its end, or reset with force`;
}

/**
 * What a reset does to an entry, table of the specification §10.4. Without force, a target that has or may have its final
 * configuration stays: somebody may use it.
 */
export function resetPlan(
  entry: Undone & Pick<Entry, 'target'>,
  { force }: { readonly force: boolean },
): readonly CleanUpStep[] {
  return planOf(entry, { deletes: force || !entry.target.configured });
}
