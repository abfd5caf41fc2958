import type { Observation } from './observation.ts';
import {
  isFenced,
  situationOf,
  type Context,
  type Flag,
  type Place,
  type Situation,
  type TagClass,
} from './situation.ts';
import type { Next } from './step.ts';
import type { Shown } from './steps.ts';
import {
  bootFresh,
  cleanUp,
  depart,
  discard,
  dropStale,
  finish,
  hold,
  leave,
  quiesce,
  replaceStalePin,
  restore,
  restoring,
  retarget,
  reverse,
  revive,
  scheduling,
  settle,
  stamp,
  start,
  terminating,
  unreadable,
  wakeInPlace,
} from './endings.ts';

interface Row {
  readonly row: string;
  /** Absent: anywhere, any. */
  readonly place?: readonly Place[];
  readonly tag?: readonly TagClass[];
  readonly is?: readonly Flag[];
  readonly not?: readonly Flag[];
  readonly shown: Shown;
  /** While it holds, the record follows the set's wish for another node. */
  readonly follows?: true;
  readonly then: (situation: Situation) => Next;
}

const present = ['good', 'other-image'] as const;
const absent = ['absent'] as const;
const off = ['off'] as const;
const on = ['on'] as const;

/**
 * The decision table. The first row that fits holds. Every row that removes something comes after those that could say that it
 * is still needed; a snapshot is only ever dropped while the VM is proven to be alive elsewhere.
 */
const table: readonly Row[] = [
  { row: 'D1', place: ['foreign'], not: ['pinned', 'migrating'], shown: 'None', then: leave },
  { row: 'D1', place: ['foreign'], shown: 'Blocked', then: hold('PodNameConflict') },
  { row: 'D2', place: ['stale-pin'], shown: 'Retargeting', then: replaceStalePin },
  // Nobody asks for a node, but a tag that is left over would be restored into the next Pod.
  {
    row: 'D25',
    place: on,
    tag: present,
    is: ['live', 'ready'],
    not: ['pinned', 'migrating', 'hib', 'held'],
    shown: 'CleaningUp',
    then: cleanUp,
  },
  { row: 'D3', not: ['pinned', 'migrating'], shown: 'None', then: leave },
  { row: 'settled', place: on, is: ['unread', 'live'], not: ['hib', 'migrating'], shown: 'None', then: leave },
  { row: 'D4', tag: ['unknown'], shown: 'Waiting', then: unreadable },
  { row: 'D5', tag: ['invalid'], shown: 'Blocked', then: hold('SnapshotInvalid') },
  { row: 'P4', tag: ['foreign'], shown: 'Blocked', then: hold('SnapshotForeign') },
  { row: 'D6', place: ['terminating'], shown: 'RemovingOldPod', then: terminating },
  { row: 'D7', place: ['none'], tag: ['good'], shown: 'CreatingTargetPod', follows: true, then: restore },
  { row: 'D8', place: ['none'], tag: ['other-image'], shown: 'CreatingTargetPod', then: discard },
  { row: 'D9', place: ['none'], is: ['endangered'], shown: 'Blocked', then: bootFresh },
  { row: 'D10', place: ['none'], shown: 'None', then: finish },
  { row: 'stamp', is: ['unstamped'], shown: 'Preparing', then: stamp },
  { row: 'D11', place: off, is: ['hib', 'held'], shown: 'Blocked', then: hold('HibernationOwnsPod') },
  { row: 'D12', place: off, is: ['hib'], not: ['quiesced'], shown: 'Snapshotting', follows: true, then: quiesce },
  { row: 'D13', place: off, is: ['hib'], tag: present, shown: 'RemovingOldPod', then: depart },
  { row: 'D14', place: off, is: ['hib'], shown: 'Blocked', then: bootFresh },
  { row: 'D15', place: off, not: ['live'], shown: 'Restoring', follows: true, then: restoring },
  { row: 'D16', place: off, tag: present, shown: 'Preparing', then: dropStale },
  { row: 'D17', place: off, shown: 'Preparing', then: start },
  { row: 'D18', place: ['unscheduled'], is: ['migrating'], shown: 'Scheduling', follows: true, then: scheduling },
  { row: 'D18', place: ['unscheduled'], shown: 'None', then: leave },
  { row: 'D19', is: ['hib', 'held'], shown: 'None', then: finish },
  {
    row: 'D20',
    is: ['hib', 'migrating'],
    not: ['quiesced'],
    shown: 'Snapshotting',
    follows: true,
    then: reverse,
  },
  { row: 'D21', is: ['hib', 'migrating'], tag: present, shown: 'Restoring', follows: true, then: wakeInPlace },
  { row: 'D22', is: ['hib', 'migrating'], shown: 'Blocked', then: bootFresh },
  { row: 'D23', is: ['hib'], shown: 'None', then: leave },
  { row: 'D26', is: ['migrating', 'live', 'never-stopped'], tag: absent, shown: 'Done', then: settle },
  { row: 'D24', is: ['migrating'], not: ['live'], shown: 'Restoring', follows: true, then: restoring },
  { row: 'D24', is: ['migrating'], not: ['ready'], shown: 'Restoring', follows: true, then: revive },
  { row: 'D24', not: ['live'], shown: 'None', then: leave },
  { row: 'D24', not: ['ready'], shown: 'None', then: leave },
  { row: 'D25', tag: present, shown: 'CleaningUp', then: cleanUp },
  { row: 'D26', shown: 'Done', then: settle },
];

/** What is to be done next about a set's main VM, by which row of the table, and the step that people see. */
export interface Decision {
  readonly row: string;
  readonly shown: Shown;
  readonly next: Next;
}

/**
 * The next step of a migration; pure and total. At most one change follows before the world is looked at again. `setUid`: the
 * set that the migration is about; another one of the same name is none of its business.
 */
export function decide(observation: Observation, context: Context, setUid?: string): Decision {
  const { set } = observation;
  if (set === undefined || set.deleting || (setUid !== undefined && set.uid !== setUid)) return end('setDeleted');
  if (set.suspend && !isFenced(observation, context.now)) return end('parked');
  const situation = situationOf(set, observation, context);
  const row = table.find((one) => fits(one, situation));
  if (row === undefined) throw new Error(`the decision table has no row for place ${situation.place}`);
  const next = (row.follows === true ? retarget(situation) : undefined) ?? row.then(situation);
  return { row: row.row, shown: row.shown, next };
}

/** Two decisions with the same text lead to the same wait: nothing has happened that matters. */
export function textOf({ row, next }: Decision): string {
  if (next.kind === 'act') return `${row} ${next.action.do}`;
  if (next.kind === 'wait' || next.kind === 'hold') return `${row} ${next.kind} ${next.reason} ${next.detail ?? ''}`;
  return `${row} ${next.kind}`;
}

function fits({ place, tag, is = [], not = [] }: Row, { place: at, tag: found, flags }: Situation): boolean {
  return (
    (place?.includes(at) ?? true) &&
    (tag?.includes(found) ?? true) &&
    is.every((flag) => flags.has(flag)) &&
    !not.some((flag) => flags.has(flag))
  );
}

function end(outcome: 'setDeleted' | 'parked'): Decision {
  return { row: outcome, shown: 'None', next: { kind: 'end', outcome } };
}
