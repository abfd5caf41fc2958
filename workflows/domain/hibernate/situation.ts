import {
  hasFailed,
  isAtRest,
  isFresh,
  isHeld,
  isLive,
  isQuiesced,
  isReady,
  isStalePin,
  type Observation,
  type PodFacts,
  type SetFacts,
  type TagFacts,
} from './observation.ts';
import type { MigrationRecord } from './record.ts';
import type { MigrationSettings } from './settings.ts';
import { elapsedMs } from '../time.ts';

export type Order = 'retry' | 'abort' | 'acknowledge-loss';

/** What a migration knows besides what it sees. It may delay an action or be a person's word, it never proves anything. */
export interface Context {
  /** Time of the look. */
  readonly now: string;
  readonly settings: MigrationSettings;
  /** The gate has granted a slot. */
  readonly hasSlot: boolean;
  /** What a person has just ordered. */
  readonly order?: Order;
  /** Since when the same row has held, where nothing in the cluster tells. */
  readonly since?: string;
}

/** Where the main Pod is, seen from what the set asks for. */
export type Place = 'none' | 'foreign' | 'stale-pin' | 'terminating' | 'unscheduled' | 'off' | 'on';

/** What the tag is to this set. `other-image`: a snapshot of ours, of another image than the set has now. */
export type TagClass = 'unknown' | 'absent' | 'invalid' | 'foreign' | 'other-image' | 'good';

export type Flag =
  | 'pinned'
  | 'migrating'
  | 'endangered'
  | 'hib'
  | 'held'
  | 'live'
  | 'quiesced'
  | 'at-rest'
  | 'ready'
  | 'fresh'
  | 'never-stopped'
  | 'unread'
  | 'unstamped';

/** An observation in the words of the decision table. */
export interface Situation {
  readonly observation: Observation;
  readonly context: Context;
  readonly set: SetFacts;
  readonly pod?: PodFacts;
  readonly record?: MigrationRecord;
  readonly place: Place;
  readonly tag: TagClass;
  readonly flags: ReadonlySet<Flag>;
}

export function situationOf(set: SetFacts, observation: Observation, context: Context): Situation {
  const { pod, tag } = observation;
  const { record } = set;
  return {
    observation,
    context,
    set,
    ...(pod === undefined ? {} : { pod }),
    ...(record === undefined ? {} : { record }),
    place: placeOf(pod, set.nodeName),
    tag: tagClassOf(tag, set, context.settings),
    flags: flagsOf(set, observation),
  };
}

function placeOf(pod: PodFacts | undefined, desired: string): Place {
  if (pod === undefined) return 'none';
  if (!pod.owned) return 'foreign';
  if (pod.deletedAt !== undefined) return 'terminating';
  if (pod.nodeName === '') return isStalePin(pod, desired) ? 'stale-pin' : 'unscheduled';
  return desired === '' || pod.nodeName === desired ? 'on' : 'off';
}

/** Names prove nothing: a tag that another set could have made, or that is older than this one, is not ours. */
export function tagClassOf(tag: TagFacts, set: SetFacts, { clockSkewMs }: MigrationSettings): TagClass {
  if (tag.state === 'unread' || tag.state === 'unknown') return 'unknown';
  if (tag.state === 'absent') return 'absent';
  if (!tag.isSnapshot) return 'invalid';
  const isOlder = tag.createdAt !== undefined && elapsedMs(tag.createdAt, set.createdAt) > clockSkewMs;
  if (isOlder || set.sharesVmName.length > 0) return 'foreign';
  return tag.baseImage !== '' && tag.baseImage !== set.image ? 'other-image' : 'good';
}

function flagsOf(set: SetFacts, { pod, hibernations, tag }: Observation): Set<Flag> {
  const { record } = set;
  const isMarked = set.phase === 'Migrating';
  const flags: Readonly<Record<Flag, boolean>> = {
    pinned: set.nodeName !== '',
    migrating: isMarked || record !== undefined,
    endangered: isEndangered(set),
    held: isHeld(hibernations),
    unread: tag.state === 'unread',
    unstamped: pod?.owned === true && pod.deletedAt === undefined && pod.stamp !== set.generation,
    ...podFlags(pod, record),
  };
  return new Set((Object.keys(flags) as Flag[]).filter((flag) => flags[flag]));
}

/** A migration has, or may have, asked the VM to go: without Pod and tag its state is lost. */
export function isEndangered({ phase, record }: SetFacts): boolean {
  return record === undefined ? phase === 'Migrating' : record.stage !== 'preparing' && record.stage !== 'cleanup';
}

type PodFlag = Exclude<Flag, 'pinned' | 'migrating' | 'endangered' | 'held' | 'unread' | 'unstamped'>;

function podFlags(pod: PodFacts | undefined, record: MigrationRecord | undefined): Record<PodFlag, boolean> {
  const of = (test: (pod: PodFacts) => boolean): boolean => pod !== undefined && test(pod);
  return {
    hib: of((it) => it.hibernate),
    live: of(isLive),
    quiesced: of(isQuiesced),
    'at-rest': of(isAtRest),
    ready: of(isReady),
    fresh: of((it) => isFresh(it, record)),
    'never-stopped': of(
      (it) => isSourceVm(it, record) && it.nodeName === record?.from && isAtRest(it) && hasFailed(it),
    ),
  };
}

/** A restore Pod was given up and its agent may still be at it: nobody may create another one. */
export function isFenced({ set, pod }: Observation, now: string): boolean {
  const redo = set?.record?.redo;
  if (redo === undefined || pod !== undefined) return false;
  return redo.until === undefined || elapsedMs(now, redo.until) > 0;
}

/** This very VM is the one that the migration asked to hibernate. */
export function isSourceVm(pod: PodFacts, record: MigrationRecord | undefined): boolean {
  return record !== undefined && pod.uid === record.sourcePodUID && pod.vmId === record.sourceVMID;
}
