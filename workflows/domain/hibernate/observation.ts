import type { MigrationRecord } from './record.ts';

export const setPhases = [
  'Pending',
  'Running',
  'Scaling',
  'Suspending',
  'Suspended',
  'Waking',
  'Migrating',
  'Failed',
] as const;
export type SetPhase = (typeof setPhases)[number];

/** CPU in thousandths of a core, memory and storage in bytes. */
export interface Resources {
  readonly cpuMilli: number;
  readonly memory: number;
  readonly storage: number;
  readonly pods: number;
}

/** A CocoonSet, as much of it as the migration of its main VM looks at. Times are ISO 8601 in UTC. */
export interface SetFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: string;
  readonly deleting: boolean;
  readonly suspend: boolean;
  /** Absent also when it is a word that nobody knows. */
  readonly phase?: SetPhase;
  /** Where the main VM is wanted; empty: anywhere. */
  readonly nodeName: string;
  readonly image: string;
  readonly os: string;
  readonly nodePool: string;
  /** Empty: any CPU. */
  readonly snapshotClass: string;
  readonly record?: MigrationRecord;
  /** Other sets (`<ns>/<name>`) whose main VM has the same name: a tag of that name proves nothing. */
  readonly sharesVmName: readonly string[];
}

export type LifecycleState = 'creating' | 'ready' | 'hibernating' | 'hibernated' | 'failed';

/** What the node agent says about a Pod's VM. */
export interface Lifecycle {
  readonly state: LifecycleState;
  /** Stamp that it had seen when it said so; 0: unknown. */
  readonly observedGeneration: number;
  readonly message: string;
}

export interface PodFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Its controller is the set with this very UID. */
  readonly owned: boolean;
  readonly createdAt: string;
  /** Set while it is being deleted. */
  readonly deletedAt?: string;
  /** Empty: not scheduled. */
  readonly nodeName: string;
  readonly scheduledAt?: string;
  /** Values of its required hostname affinity; absent: it has none. */
  readonly pinnedTo?: readonly string[];
  readonly unschedulable?: { readonly since: string; readonly message: string };
  readonly phase: string;
  readonly containerRunning: boolean;
  /** Generation of the set that was last copied onto it; 0: none. */
  readonly stamp: number;
  readonly hibernate: boolean;
  readonly restore: boolean;
  /** Empty: none. */
  readonly vmId: string;
  readonly lifecycle?: Lifecycle;
  readonly requests: Resources;
}

/** The manifest under the tag `hibernate`. Only an answer that says so makes it `absent`. */
export type TagFacts =
  | {
      readonly state: 'present';
      readonly digest: string;
      /** Its artifact type is that of a snapshot. */
      readonly isSnapshot: boolean;
      /** Image that the Pod asked for when it was hibernated; empty: not recorded. */
      readonly baseImage: string;
      readonly createdAt?: string;
    }
  | { readonly state: 'absent' }
  | { readonly state: 'unknown'; readonly reason: string }
  /** Nobody asked: the set looked settled. */
  | { readonly state: 'unread' };

export interface NodeFacts {
  readonly name: string;
  readonly ready: boolean;
  /** Since when it is not ready. */
  readonly notReadySince?: string;
  readonly unschedulable: boolean;
  readonly hostname: string;
  readonly pool: string;
  readonly snapshotClass: string;
  readonly taints: readonly { readonly key: string; readonly effect: string }[];
  /** Allocatable minus what its Pods request. */
  readonly free: Resources;
}

/** A CocoonHibernation that names the main Pod. */
export interface HibernationFacts {
  readonly name: string;
  readonly desire: 'Hibernate' | 'Wake';
  readonly phase?: string;
  readonly generation: number;
  readonly observedGeneration: number;
}

/** One look at everything the migration of a set's main VM depends on. Read consistently, never from a cache. */
export interface Observation {
  /** Absent: gone. */
  readonly set?: SetFacts;
  /** The Pod called `<set>-0`, whatever its state and owner. */
  readonly pod?: PodFacts;
  readonly hibernations: readonly HibernationFacts[];
  /** Node of the Pod; absent: it has none or the object is gone. */
  readonly source?: NodeFacts;
  /** Node that the set asks for; absent: it asks for none or there is none of that name. */
  readonly target?: NodeFacts;
  readonly tag: TagFacts;
}

/** A VM runs behind this Pod, as far as its annotations and status tell. */
export function isLive(pod: PodFacts): boolean {
  return pod.vmId !== '' && pod.containerRunning;
}

/** The agent has said this about the generation that is stamped on the Pod, or a later one. */
function says(pod: PodFacts, ...states: readonly LifecycleState[]): boolean {
  const { lifecycle } = pod;
  return lifecycle !== undefined && states.includes(lifecycle.state) && lifecycle.observedGeneration >= pod.stamp;
}

/** The agent has confirmed that the VM is in the registry and no longer here: a tag alone, or a missing id alone, proves neither. */
export function isQuiesced(pod: PodFacts): boolean {
  return pod.hibernate && says(pod, 'hibernated');
}

/** The agent is done with what it was last asked, well or badly. An agent that says nothing at all is taken at the Pod's word. */
export function isAtRest(pod: PodFacts): boolean {
  return pod.lifecycle === undefined || says(pod, 'ready', 'failed');
}

export function isReady(pod: PodFacts): boolean {
  return pod.lifecycle === undefined || says(pod, 'ready');
}

export function hasFailed(pod: PodFacts): boolean {
  return pod.lifecycle?.state === 'failed' || pod.phase === 'Failed';
}

/** Unscheduled, and tied to another node than the one that is wanted. */
export function isStalePin(pod: PodFacts, desired: string): boolean {
  if (pod.nodeName !== '' || pod.pinnedTo === undefined) return false;
  return desired === '' || pod.pinnedTo.length !== 1 || pod.pinnedTo[0] !== desired;
}

/** A CocoonHibernation decides about this Pod and its tag: it wants the VM asleep, or hasn't seen it awake since it was last changed. */
export function isHeld(hibernations: readonly HibernationFacts[]): boolean {
  return hibernations.some(
    ({ desire, phase, generation, observedGeneration }) =>
      desire === 'Hibernate' || phase !== 'Active' || observedGeneration < generation,
  );
}

/**
 * The VM is not the one that the migration asked to hibernate, or the agent has spoken since. Otherwise what the Pod says may
 * be older than what the agent is doing: it may have stored the snapshot and be about to remove the VM.
 */
export function isFresh(pod: PodFacts, record: MigrationRecord | undefined): boolean {
  if (record === undefined) return pod.restore || (pod.lifecycle?.state === 'ready' && !pod.hibernate);
  return pod.uid !== record.sourcePodUID || pod.vmId !== record.sourceVMID || hasSpokenSince(pod, record);
}

export function hasSpokenSince(pod: PodFacts, record: MigrationRecord): boolean {
  return pod.lifecycle !== undefined && pod.lifecycle.observedGeneration > record.generation;
}
