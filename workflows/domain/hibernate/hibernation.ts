import { elapsedMs } from '../time.ts';
import { isAtRest, isLive, isQuiesced, isReady, type PodFacts, type TagFacts } from './observation.ts';
import type { MigrationSettings } from './settings.ts';
import type { PodVersion } from './step.ts';

export const hibernationPhases = ['Pending', 'Hibernating', 'Hibernated', 'Waking', 'Active', 'Failed'] as const;
export type HibernationPhase = (typeof hibernationPhases)[number];

/** A CocoonHibernation and what it is about. */
export interface HibernationLook {
  /** Absent: the object is gone. */
  readonly hibernation?: {
    readonly desire: 'Hibernate' | 'Wake';
    readonly phase?: HibernationPhase;
    /** Since when it has this phase. */
    readonly phaseSince: string;
    readonly generation: number;
    readonly observedGeneration: number;
    readonly deleting: boolean;
    readonly hasFinalizer: boolean;
    /** Id of the VM that was asked to hibernate; absent: none was. */
    readonly sourceVMID?: string;
  };
  /** Absent: none of that name, or it names no VM. */
  readonly pod?: PodFacts;
  readonly tag: TagFacts;
  /** Its set is suspended and wants it asleep, whatever the hibernation wants. */
  readonly isSetSuspended: boolean;
  /** A set or another hibernation names the same VM. */
  readonly isNamedElsewhere: boolean;
}

export type HibernationAction =
  | { readonly do: 'addFinalizer' | 'removeFinalizer' }
  | { readonly do: 'setPhase'; readonly phase: HibernationPhase; readonly reason?: string }
  /** Which VM is asked to hibernate: what it says later about itself is measured against that. */
  | { readonly do: 'noteSource'; readonly vmId: string }
  | { readonly do: 'setHibernate' | 'clearHibernate'; readonly pod: PodVersion }
  | { readonly do: 'dropTag'; readonly digest: string };

export type HibernationStep =
  | { readonly kind: 'act'; readonly row: string; readonly action: HibernationAction; readonly event?: string }
  | { readonly kind: 'wait'; readonly row: string; readonly reason: string; readonly since?: string }
  /** `gone`: the object is. */
  | { readonly kind: 'settled'; readonly row: string; readonly gone?: true };

type Hibernation = NonNullable<HibernationLook['hibernation']>;
type Look = HibernationLook & { readonly hibernation: Hibernation };

/** What is to be done next about one CocoonHibernation; pure and total. */
export function decideHibernation(look: HibernationLook, now: string, settings: MigrationSettings): HibernationStep {
  const { hibernation } = look;
  if (hibernation === undefined) return { kind: 'settled', row: 'gone', gone: true };
  const known = { ...look, hibernation };
  if (hibernation.deleting) return release(known);
  if (!hibernation.hasFinalizer) return act('finalizer', { do: 'addFinalizer' });
  if (look.pod === undefined) return withoutPod(hibernation);
  return directionOf(hibernation) === 'Hibernate'
    ? hibernate({ ...known, pod: look.pod }, now, settings)
    : wake({ ...known, pod: look.pod }, now, settings);
}

/** A change that is under way reaches its end before the next begins. */
function directionOf({ phase, desire }: Hibernation): 'Hibernate' | 'Wake' {
  if (phase === 'Hibernating') return 'Hibernate';
  return phase === 'Waking' ? 'Wake' : desire;
}

/** The state of a VM that sleeps belongs to whoever else names it: the set wakes it once the object is gone. */
function release({ hibernation, pod, tag, isNamedElsewhere }: Look): HibernationStep {
  if (!hibernation.hasFinalizer) return { kind: 'settled', row: 'released', gone: true };
  const isLeftOver = pod === undefined ? !isNamedElsewhere : isAwake(pod, hibernation);
  if (tag.state === 'present' && tag.isSnapshot && isLeftOver)
    return act('release', { do: 'dropTag', digest: tag.digest });
  return act('release', { do: 'removeFinalizer' });
}

/** What is asleep or waking stays so: that is what makes a new Pod restore it. */
function withoutPod({ phase }: Hibernation): HibernationStep {
  const isKept = phase === 'Hibernated' || phase === 'Waking' || phase === 'Pending';
  return isKept ? { kind: 'wait', row: 'no-pod', reason: 'PodMissing' } : enter('no-pod', 'Pending');
}

function hibernate(look: Look & { readonly pod: PodFacts }, now: string, settings: MigrationSettings): HibernationStep {
  const { hibernation, pod, tag } = look;
  const { phase, phaseSince } = hibernation;
  const isStored = isQuiesced(pod) && tag.state === 'present' && tag.isSnapshot;
  if (isStored && phase !== 'Hibernated') return enter('hibernated', 'Hibernated', 'Hibernated');
  // A new Pod has restored the VM: it is put to sleep again.
  const hasWoken = isLive(pod) && !pod.hibernate;
  if (phase === 'Hibernated' && isSeen(hibernation) && !hasWoken) return { kind: 'settled', row: 'hibernated' };
  if (phase === 'Failed' && isSeen(hibernation)) return { kind: 'wait', row: 'failed', reason: 'HibernateTimedOut' };
  if (phase !== 'Hibernating') return enter('begin', 'Hibernating', phase === 'Failed' ? 'RetryRequested' : undefined);
  if (!pod.hibernate) {
    if (pod.vmId !== '' && hibernation.sourceVMID !== pod.vmId)
      return act('begin', { do: 'noteSource', vmId: pod.vmId });
    if (isLive(pod)) return act('begin', { do: 'setHibernate', pod: versionOf(pod) });
  }
  if (elapsedMs(phaseSince, now) >= settings.hibernateMs)
    return enter('late', hibernation.desire === 'Wake' ? 'Waking' : 'Failed', 'HibernateTimedOut');
  return { kind: 'wait', row: 'hibernating', reason: pod.hibernate ? 'Hibernating' : 'NotLive', since: phaseSince };
}

function wake(look: Look & { readonly pod: PodFacts }, now: string, settings: MigrationSettings): HibernationStep {
  const { hibernation, pod, tag } = look;
  const { phase, phaseSince } = hibernation;
  if (phase === 'Active' && isSeen(hibernation)) return { kind: 'settled', row: 'active' };
  if (look.isSetSuspended) return { kind: 'wait', row: 'suspended', reason: 'SetSuspended' };
  if (pod.hibernate && phase !== 'Waking')
    return enter('begin', 'Waking', phase === 'Failed' ? 'RetryRequested' : undefined);
  if (pod.hibernate) return act('begin', { do: 'clearHibernate', pod: versionOf(pod) });
  // A VM that could not be stored says so as long as it runs: it is awake nevertheless.
  if (tag.state === 'absent' && isLive(pod) && isAtRest(pod)) return enter('woken', 'Active', 'WokenActive');
  if (tag.state === 'present' && tag.isSnapshot && isAwake(pod, hibernation))
    return act('woken', { do: 'dropTag', digest: tag.digest });
  if (phase === 'Failed' && isSeen(hibernation)) return { kind: 'wait', row: 'failed', reason: 'WakeTimedOut' };
  if (phase !== 'Waking') return enter('begin', 'Waking', phase === 'Failed' ? 'RetryRequested' : undefined);
  if (elapsedMs(phaseSince, now) >= settings.wakeMs)
    return enter('late', hibernation.desire === 'Hibernate' ? 'Hibernating' : 'Failed', 'WakeTimedOut');
  return { kind: 'wait', row: 'waking', reason: 'Waking', since: phaseSince };
}

/** Another VM than the one that was asked to hibernate runs, and its agent has nothing more to do with it. */
function isAwake(pod: PodFacts, { sourceVMID }: Hibernation): boolean {
  return isLive(pod) && isReady(pod) && !pod.hibernate && pod.vmId !== sourceVMID;
}

function isSeen({ generation, observedGeneration }: Hibernation): boolean {
  return observedGeneration >= generation;
}

function act(row: string, action: HibernationAction): HibernationStep {
  return { kind: 'act', row, action };
}

function enter(row: string, phase: HibernationPhase, reason?: string): HibernationStep {
  const action =
    reason === undefined ? ({ do: 'setPhase', phase } as const) : ({ do: 'setPhase', phase, reason } as const);
  return reason === undefined ? { kind: 'act', row, action } : { kind: 'act', row, action, event: reason };
}

function versionOf({ uid, resourceVersion }: PodFacts): PodVersion {
  return { uid, resourceVersion };
}
