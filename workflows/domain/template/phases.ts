import type { Action } from './plan.ts';

export type StepId = 'preflight' | 'source' | 'import' | 'finalize' | 'swap' | 'verify' | 'cleanup';

/** The whole way of a swap, shown from the start. */
export const steps: readonly { readonly id: StepId; readonly title: string }[] = [
  { id: 'preflight', title: 'check names, placement, tags and space' },
  { id: 'source', title: 'read and verify the OVA' },
  { id: 'import', title: 'import under the temp name' },
  { id: 'finalize', title: 'finish the new template' },
  { id: 'swap', title: 'swap by rename' },
  { id: 'verify', title: 'verify the new template' },
  { id: 'cleanup', title: 'destroy the previous template' },
];

interface PhaseFacts {
  /** Step that is active in this phase; absent: as before; `none`: what was begun is done. */
  readonly step?: StepId | 'none';
  /** Share of the whole, 0…1. Absent: unchanged. */
  readonly progress?: number;
  readonly waitingFor?: 'person' | 'capacity';
  readonly says: string;
}

/** Status words of a swap. Progress and the active step are derived from here only. */
export const phases = {
  Validating: { step: 'preflight', progress: 0, says: 'checking the request' },
  Preflight: { step: 'preflight', progress: 0.02, says: 'resolving names, tags, host and space in vCenter' },
  Observing: { says: 'looking at what stands under the three names' },
  FetchingSource: { step: 'source', progress: 0.05, says: 'reading and verifying the OVA' },
  CleaningUp: { step: 'import', says: 'removing a left-over temp VM' },
  Importing: { step: 'import', progress: 0.15, says: 'importing the OVA under the temp name' },
  Finalizing: { step: 'finalize', progress: 0.85, says: 'finishing the new template' },
  Swapping: { step: 'swap', progress: 0.92, says: 'renaming the old and the new template' },
  Restoring: { step: 'swap', says: 'giving the production name back' },
  Verifying: { step: 'verify', progress: 0.95, says: 'verifying what the production name stands for' },
  DestroyingRollback: { step: 'cleanup', progress: 0.97, says: 'destroying the previous template' },
  Keeping: { step: 'none', progress: 0.98, says: 'keeping the previous template for an undo' },
  Undoing: { step: 'swap', says: 'going back to the previous template' },
  WaitingForSpace: { waitingFor: 'capacity', says: 'waiting for space on the datastore' },
  Conflict: { waitingFor: 'person', says: 'waiting for a decision' },
  Completed: { progress: 1, says: 'done' },
  Undone: { progress: 1, says: 'the previous template is back' },
  Failed: { says: 'failed' },
  Cancelled: { says: 'cancelled' },
} as const satisfies Readonly<Record<string, PhaseFacts>>;

export type Phase = keyof typeof phases;

export function factsOf(phase: Phase): PhaseFacts {
  return phases[phase];
}

/** The phase in which an action runs. */
export const phaseOfAction: Readonly<Record<Action, Phase>> = {
  restore: 'Restoring',
  promote: 'Swapping',
  import: 'Importing',
  finalize: 'Finalizing',
  swap: 'Swapping',
  destroyTemp: 'CleaningUp',
  destroyRollback: 'DestroyingRollback',
};

/** Actions that must run to their end once begun: the production name depends on them. */
export const criticalActions: readonly Action[] = ['swap', 'promote', 'restore'];

export function isEnd(phase: Phase): boolean {
  return phase === 'Completed' || phase === 'Undone' || phase === 'Failed' || phase === 'Cancelled';
}
