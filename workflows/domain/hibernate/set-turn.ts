import { elapsedMs } from '../time.ts';
import { decide } from './decide.ts';
import {
  hasFailed,
  isLive,
  isReady,
  type PodFacts,
  type SetFacts,
  type SetPhase,
  type TagFacts,
} from './observation.ts';
import {
  isAgentHeld,
  isAgentReady,
  isOurs,
  isSuspended,
  isTerminal,
  mainOf,
  mayDropOwed,
  type AgentLook,
  type OwedDrop,
  type SetLook,
} from './set-look.ts';
import { isEndangered, isFenced, tagClassOf, type Context, type TagClass } from './situation.ts';
import type { PodVersion } from './step.ts';

/** The one change of a turn; Pods of several slots may be meant. */
export type SetAction =
  | { readonly do: 'addFinalizer' }
  /** VM names whose tags are dropped once the Pods are gone. */
  | { readonly do: 'noteVmNames' }
  /** Drops the tags of these VMs, then lets the set go. */
  | { readonly do: 'collectAndRelease'; readonly vmNames: readonly string[] }
  | { readonly do: 'stampPods'; readonly pods: readonly PodVersion[]; readonly generation: number }
  | { readonly do: 'noteSuspending' | 'forgetSuspending' }
  | { readonly do: 'setHibernate' | 'clearHibernate' | 'deletePods'; readonly pods: readonly PodVersion[] }
  | { readonly do: 'noteOwedDrops'; readonly owed: readonly OwedDrop[] }
  | { readonly do: 'startMigration' }
  /** `restore`: with this snapshot, never from the image. */
  | { readonly do: 'createMain'; readonly restore?: string }
  | {
      readonly do: 'dropTag';
      readonly slot: number;
      readonly digest: string;
      readonly because: 'owed' | 'left-over' | 'discarded';
    }
  | { readonly do: 'createAgents'; readonly slots: readonly number[]; readonly nodeName: string };

export interface SetStep {
  /** Rule of the order of a turn. */
  readonly rule: string;
  /** Absent: nothing to do but to wait. */
  readonly action?: SetAction;
  readonly phase?: SetPhase;
  /** Why it waits or failed, for the event and the condition. */
  readonly reason?: string;
  /** Nothing left to do: the workflow of the set may close. */
  readonly isSettled?: true;
  /** The set is gone. */
  readonly isOver?: true;
}

/** At most so many Pods are created at a time. */
const createdAtOnce = 8;

interface Turn {
  readonly look: SetLook;
  readonly set: SetFacts;
  readonly context: Context;
  readonly main?: AgentLook;
  readonly ours: readonly (AgentLook & { readonly pod: PodFacts })[];
  readonly mainTag: TagClass;
}

interface Rule {
  readonly rule: string;
  /** Undefined: the rule doesn't apply. */
  readonly step: (turn: Turn) => Omit<SetStep, 'rule'> | undefined;
}

/** The order of a turn. The first rule that applies owns it. */
const rules: readonly Rule[] = [
  { rule: '2', step: ({ set, look }) => (set.deleting ? collect(look) : undefined) },
  { rule: '3', step: ({ look }) => (look.hasFinalizer ? undefined : { action: { do: 'addFinalizer' } }) },
  { rule: '4', step: stampPods },
  { rule: '5', step: (turn) => (turn.set.suspend ? suspend(turn) : undefined) },
  { rule: '6', step: mainFailed },
  { rule: '7', step: migrate },
  {
    rule: '9',
    step: ({ look }) => (look.suspendingSince === undefined ? undefined : { action: { do: 'forgetSuspending' } }),
  },
  { rule: '9', step: wake },
  { rule: '9', step: payOwedDrops },
  { rule: '10', step: replaceDrifted },
  { rule: '11', step: createMain },
  { rule: '12', step: ({ main }) => (main !== undefined && isAgentReady(main) ? undefined : { phase: 'Pending' }) },
  { rule: '13', step: scale },
];

/** What is to be done next about a whole set; pure and total. At most one change, then the set is looked at again. */
export function setTurn(look: SetLook, context: Context): SetStep {
  const { set } = look;
  if (set === undefined) return { rule: '1', isOver: true };
  const main = mainOf(look);
  const turn: Turn = {
    look,
    set,
    context,
    ...(main === undefined ? {} : { main }),
    ours: look.agents.filter(isOurs),
    mainTag: tagClassOf(look.main.tag, set, context.settings),
  };
  for (const { rule, step } of rules) {
    const found = step(turn);
    if (found !== undefined) return { rule, ...found };
  }
  return { rule: '15', ...settled(turn) };
}

/** First what to collect is noted: when the Pods are gone nothing else remembers it. */
function collect({ agents, collecting, hasFinalizer }: SetLook): Omit<SetStep, 'rule'> {
  if (!hasFinalizer) return { isOver: true };
  if (collecting === undefined) return { action: { do: 'noteVmNames' } };
  const owned = agents.flatMap(({ pod }) => (pod?.owned === true ? [pod] : []));
  const alive = owned.filter(({ deletedAt }) => deletedAt === undefined);
  if (alive.length > 0) return { action: { do: 'deletePods', pods: alive.map(versionOf) } };
  if (owned.length > 0) return { reason: 'PodsGoing' };
  return { action: { do: 'collectAndRelease', vmNames: collecting } };
}

/** Main's by whoever owns slot 0 at the moment. */
function stampPods({ set, ours, look }: Turn): Omit<SetStep, 'rule'> | undefined {
  const behind = ours.filter(({ pod, slot }) => pod.stamp !== set.generation && !(slot === 0 && look.isMigrationOpen));
  if (behind.length === 0) return undefined;
  return { action: { do: 'stampPods', pods: behind.map(({ pod }) => versionOf(pod)), generation: set.generation } };
}

function suspend(turn: Turn): Omit<SetStep, 'rule'> {
  const { set, look, ours, context } = turn;
  if (look.suspendingSince === undefined) return { action: { do: 'noteSuspending' } };
  // It parks as soon as it sees the wish.
  if (look.isMigrationOpen) return { phase: 'Suspending', reason: 'MigrationParks' };
  if (isFenced(look.main, context.now)) return { phase: 'Suspending', action: { do: 'startMigration' } };
  const creating = createMain(turn);
  if (creating !== undefined) return creating;
  const managed = ours.filter(({ unmanaged, pod }) => !unmanaged && !isTerminal(pod));
  const awake = managed.filter(({ pod }) => !pod.hibernate);
  if (awake.length > 0)
    return { phase: 'Suspending', action: { do: 'setHibernate', pods: awake.map(({ pod }) => versionOf(pod)) } };
  if (managed.length > 0 && managed.every((agent) => isSuspended(agent, set.generation) && isOwnTag(turn, agent.tag)))
    return { phase: 'Suspended', isSettled: true };
  const isLate = elapsedMs(look.suspendingSince, context.now) >= context.settings.suspendMs;
  return isLate ? { phase: 'Failed', reason: 'SuspendTimedOut' } : { phase: 'Suspending' };
}

/**
 * During a migration a failure is only shown; the migration goes on when its agent does. A VM that runs can be moved, and given a
 * new template, whatever its agent has against it.
 */
function mainFailed({ set, main, look }: Turn): Omit<SetStep, 'rule'> | undefined {
  if (main === undefined || !isOurs(main) || !hasFailed(main.pod)) return undefined;
  if (look.isMigrationOpen || set.record !== undefined || set.phase === 'Migrating') return undefined;
  const isWantedElsewhere = set.nodeName !== '' && set.nodeName !== main.pod.nodeName;
  if (isLive(main.pod) && !main.pod.hibernate && (main.drifted || isWantedElsewhere)) return undefined;
  return { phase: 'Failed', reason: 'MainAgentFailed', isSettled: true };
}

function migrate({ look, context }: Turn): Omit<SetStep, 'rule'> | undefined {
  if (look.isMigrationOpen) return { reason: 'Migrating' };
  return decide(look.main, context).next.kind === 'leave' ? undefined : { action: { do: 'startMigration' } };
}

/** Un-suspends what nobody else has hibernated. What it wakes still owes the drop of a tag: that is noted first. */
function wake({ set, ours, look }: Turn): Omit<SetStep, 'rule'> | undefined {
  const asleep = ours.filter((agent) => agent.pod.hibernate && !isAgentHeld(agent));
  if (asleep.length === 0) return undefined;
  const owed = asleep.map(({ slot }): OwedDrop => ({ slot, generation: set.generation }));
  const kept = look.owedDrops.filter(({ slot }) => !owed.some((one) => one.slot === slot));
  const isNoted = owed.every((one) =>
    look.owedDrops.some((known) => known.slot === one.slot && known.generation === one.generation),
  );
  if (!isNoted) return { phase: 'Waking', action: { do: 'noteOwedDrops', owed: [...kept, ...owed] } };
  return { phase: 'Waking', action: { do: 'clearHibernate', pods: asleep.map(({ pod }) => versionOf(pod)) } };
}

function payOwedDrops(turn: Turn): Omit<SetStep, 'rule'> | undefined {
  const { look } = turn;
  for (const owed of look.owedDrops) {
    const agent = look.agents.find(({ slot }) => slot === owed.slot);
    const isAwake = agent !== undefined && mayDropOwed(agent, owed);
    if (agent === undefined || (isAwake && agent.tag.state === 'absent'))
      return { action: { do: 'noteOwedDrops', owed: look.owedDrops.filter((one) => one !== owed) } };
    if (isAwake && agent.tag.state === 'present' && isOwnTag(turn, agent.tag))
      return { action: { do: 'dropTag', slot: owed.slot, digest: agent.tag.digest, because: 'owed' } };
  }
  return undefined;
}

function isOwnTag({ set, context }: Turn, tag: TagFacts): boolean {
  const found = tagClassOf(tag, set, context.settings);
  return found === 'good' || found === 'other-image';
}

/** A new template for main: not before a tag that is left over has gone, else the agent would restore it into the new Pod. */
function replaceDrifted(turn: Turn): Omit<SetStep, 'rule'> | undefined {
  const { main, mainTag, look } = turn;
  if (main?.drifted !== true || !isOurs(main) || isAgentHeld(main)) return undefined;
  if (mainTag === 'absent') return { action: { do: 'deletePods', pods: [versionOf(main.pod)] }, phase: 'Pending' };
  const { tag } = look.main;
  const isLeftOver = isLive(main.pod) && isReady(main.pod) && !main.pod.hibernate;
  if (tag.state === 'present' && isOwnTag(turn, tag) && isLeftOver)
    return { action: { do: 'dropTag', slot: 0, digest: tag.digest, because: 'left-over' } };
  return { reason: mainTag === 'unknown' ? 'RegistryUnavailable' : 'Restoring', phase: 'Pending' };
}

/**
 * Without an answer of the registry nothing is created, nor without the snapshot of a VM that was stored: a fresh VM in its
 * place would be a loss.
 */
function createMain(turn: Turn): Omit<SetStep, 'rule'> | undefined {
  const { main, mainTag, look } = turn;
  if (main?.pod?.owned === false) return { phase: 'Pending', reason: 'PodNameConflict' };
  if (main?.pod !== undefined)
    return main.pod.deletedAt === undefined ? undefined : { phase: 'Pending', reason: 'RemovingOldPod' };
  const digest = look.main.tag.state === 'present' ? look.main.tag.digest : '';
  const steps: Readonly<Record<TagClass, Omit<SetStep, 'rule'>>> = {
    absent: isStored(turn) ? missing(turn) : { phase: 'Pending', action: { do: 'createMain' } },
    good: { phase: 'Pending', action: { do: 'createMain', restore: digest } },
    'other-image': {
      action: { do: 'dropTag', slot: 0, digest, because: 'discarded' },
      reason: 'SnapshotDiscarded',
    },
    unknown: { reason: 'RegistryUnavailable' },
    invalid: { reason: 'SnapshotInvalid' },
    foreign: { reason: 'SnapshotForeign' },
  };
  return steps[mainTag];
}

/** Everything says that main's VM was stored and not woken since: by a migration, by a suspend, or still owing its tag. */
function isStored({ set, look, context }: Turn): boolean {
  if (context.order === 'acknowledge-loss') return false;
  const isAsleep = set.phase === 'Suspending' || set.phase === 'Suspended';
  return isEndangered(set) || isAsleep || look.owedDrops.some(({ slot }) => slot === 0);
}

/** The phase may be all that says it: it stays. */
function missing({ set }: Turn): Omit<SetStep, 'rule'> {
  return set.record === undefined ? { reason: 'SnapshotMissing' } : { reason: 'SnapshotMissing', phase: 'Failed' };
}

/** Sub-agents live on main's node. They are not moved with it. */
function scale({ look, main, ours }: Turn): Omit<SetStep, 'rule'> | undefined {
  const wanted = Array.from({ length: look.replicas }, (_, index) => index + 1);
  const there = new Set(look.agents.filter(({ pod }) => pod !== undefined).map(({ slot }) => slot));
  const slots = wanted.filter((slot) => !there.has(slot)).slice(0, createdAtOnce);
  const nodeName = main?.pod?.nodeName ?? '';
  if (slots.length > 0) return { phase: 'Scaling', action: { do: 'createAgents', slots, nodeName } };
  const extra = ours.filter(({ slot }) => slot > look.replicas);
  if (extra.length > 0)
    return { phase: 'Scaling', action: { do: 'deletePods', pods: extra.map(({ pod }) => versionOf(pod)) } };
  const foreign = look.agents.find(({ pod, slot }) => pod?.owned === false && slot <= look.replicas);
  return foreign === undefined ? undefined : { phase: 'Scaling', reason: 'PodNameConflict' };
}

function settled({ look, ours }: Turn): Omit<SetStep, 'rule'> {
  const isComplete = ours.filter(isAgentReady).length === look.replicas + 1;
  if (!isComplete) return { phase: 'Scaling' };
  return look.owedDrops.length > 0 ? { phase: 'Running' } : { phase: 'Running', isSettled: true };
}

function versionOf({ uid, resourceVersion }: PodVersion): PodVersion {
  return { uid, resourceVersion };
}
