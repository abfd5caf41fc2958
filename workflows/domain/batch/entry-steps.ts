import type { Entry } from './entry.ts';
import type { EntryStatus } from './records.ts';

/** One line of the step list of an entry; states as in the status of every operation. */
export interface EntryStep {
  readonly id: string;
  readonly title: string;
  readonly state: 'pending' | 'active' | 'done' | 'skipped' | 'failed';
}

const way = [
  { id: 'check', title: 'Check whether it can migrate', progress: 0 },
  { id: 'create', title: 'Create the target instance', progress: 0.05 },
  { id: 'copy', title: 'Copy the disks while the source runs', progress: 0.1 },
  { id: 'window', title: 'Wait for its window', progress: 0.6 },
  { id: 'final', title: 'Source off, copy what has changed', progress: 0.65 },
  { id: 'adapt', title: 'Adapt the guest', progress: 0.85 },
  { id: 'verify', title: 'Compare source and target once more', progress: 0.9 },
  { id: 'finish', title: 'Configure the target and start it', progress: 0.95 },
] as const;

type StepId = (typeof way)[number]['id'];

const places: Readonly<Record<EntryStatus, StepId | undefined>> = {
  Blocked: 'check',
  Waiting: 'check',
  'Creating new VM': 'create',
  'Performing background import tasks': 'copy',
  Idle: undefined,
  'Performing final import tasks': 'final',
  'Performing post-import tasks': 'adapt',
  'Worker tasks complete': 'verify',
  Finished: undefined,
  Error: undefined,
  Canceled: undefined,
  Conflict: undefined,
};

function placeOf(entry: Entry): StepId {
  const { status, stage, target } = entry;
  if (status === 'Worker tasks complete' && target.configured) return 'finish';
  const place = places[status];
  if (place !== undefined) return place;
  if (stage === 'complete') return status === 'Idle' ? 'adapt' : target.configured ? 'finish' : 'verify';
  if (stage === 'final') return 'window';
  return target.exists ? 'copy' : 'check';
}

/** The whole way of an entry with how far it is, complete from the start. */
export function stepsOf(entry: Entry): EntryStep[] {
  const at = way.findIndex(({ id }) => id === placeOf(entry));
  return way.map(({ id, title }, place) => ({ id, title, state: stateOf(entry, place, at) }));
}

function stateOf({ status }: Entry, place: number, at: number): EntryStep['state'] {
  if (status === 'Finished' || place < at) return 'done';
  if (status === 'Canceled') return 'skipped';
  if (place > at) return 'pending';
  return status === 'Error' || status === 'Conflict' ? 'failed' : 'active';
}

/** 0…1, by the place on the way. */
export function progressOf(entry: Entry): number {
  if (entry.status === 'Finished') return 1;
  return way.find(({ id }) => id === placeOf(entry))?.progress ?? 0;
}
