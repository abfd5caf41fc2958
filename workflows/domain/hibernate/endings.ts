import { after, elapsedMs, latest } from '../time.ts';
import { act, deletePod, digestOf, messageOf, persisted, podOf, timed, versionOf, wait } from './next.ts';
import { hasFailed, hasSpokenSince, isLive, type PodFacts } from './observation.ts';
import { guestObstacle, targetObstacle, type Refusal } from './preflight.ts';
import { newRecord, sourceOf, staged, touched, unburdened } from './record-changes.ts';
import { isSourceVm, type Situation } from './situation.ts';
import type { Action, HoldReason, Next, Outcome, SetEvent } from './step.ts';

/** How the rows of the decision table end. Each is asked only in the situation that its row describes. */
type Ending = (situation: Situation) => Next;

export const leave: Ending = () => ({ kind: 'leave' });

export function hold(reason: HoldReason): Ending {
  return () => ({ kind: 'hold', reason });
}

export const unreadable: Ending = ({ observation: { tag } }) =>
  wait('RegistryUnavailable', { detail: tag.state === 'unknown' ? tag.reason : 'it was not asked' });

export const stamp: Ending = (s) => act({ do: 'stampPod', pod: versionOf(podOf(s)), generation: s.set.generation });

/** Nothing runs behind a Pod without a node. */
export const replaceStalePin: Ending = (s) => deletePod(s, { event: 'Retargeted' });

/** The record says where the VM is going; people may change their mind at any time. */
export function retarget({ record, set }: Situation): Next | undefined {
  if (record === undefined || record.to === set.nodeName) return undefined;
  return act({ do: 'writeRecord', record: { ...record, to: set.nodeName } }, { event: 'Retargeted' });
}

/** Only its agent can say that the VM is gone, so only its agent ends a Pod: unless the node is lost and the proof came before. */
export const terminating: Ending = (s) => {
  const pod = podOf(s);
  const { settings, now } = s.context;
  const node = s.observation.source;
  const isLost =
    node === undefined ||
    (node.notReadySince !== undefined && elapsedMs(node.notReadySince, now) >= settings.nodeLostMs);
  const isProven = s.flags.has('quiesced') && s.tag === 'good';
  if (settings.forceDeleteQuiesced && isProven && isLost) return deletePod(s, { force: true });
  return timed(s, pod.deletedAt ?? now, ['RemovingOldPod', 'OldPodStuck'], settings.stuckPodMs);
};

export const restore: Ending = (s) => {
  const { record, context } = s;
  const { fenceMs } = context.settings;
  if (record?.redo !== undefined && record.redo.until === undefined)
    return act({
      do: 'writeRecord',
      record: { ...record, redo: { ...record.redo, until: after(context.now, fenceMs) } },
    });
  const until = record?.redo?.until;
  if (until !== undefined && elapsedMs(context.now, until) > 0) return wait('Fenced', { until });
  const create: Action = { do: 'createPod', digest: digestOf(s) };
  if (record === undefined) return act(create, { event: 'RestoreStarted' });
  if (record.stage !== 'restoring')
    return act({ do: 'writeRecord', record: staged(s, 'restoring', record) }, { event: 'OldPodRemoved' });
  return persisted(s, record, create, 'RestoreStarted');
};

/** The image was changed on purpose: the state of the old one goes. First the record, else its absence would count as a loss. */
export const discard: Ending = (s) => {
  const closing = finish(s);
  return closing.kind === 'act' ? closing : act({ do: 'dropTag', digest: digestOf(s) }, { event: 'SnapshotDiscarded' });
};

/** The state of the VM is nowhere. Only a person may let a fresh one start under its name. */
export const bootFresh: Ending = (s) => {
  if (s.context.order !== 'acknowledge-loss') return { kind: 'hold', reason: 'SnapshotMissing' };
  return s.pod === undefined ? finish(s, 'FreshBootAcknowledged') : deletePod(s, {});
};

/** Nothing is left to do: first the phase goes, then the record, so that a half-way end still looks like what it is. */
export function finish(s: Situation, event?: SetEvent): Next {
  const hasMoved = s.record !== undefined && s.pod !== undefined && s.record.from !== s.pod.nodeName;
  const ending: Outcome = hasMoved ? 'migrated' : 'superseded';
  if (s.set.phase === 'Migrating') return act({ do: 'setPhase', phase: 'settled' }, { ending });
  if (s.record === undefined) return leave(s);
  return act({ do: 'writeRecord' }, event === undefined ? { ending } : { ending, event });
}

export const settle: Ending = (s) => finish(s, s.record?.from === s.pod?.nodeName ? 'MigrationAborted' : 'Migrated');

/** The agent is storing the VM. After the hard deadline a VM that still runs is left running; anything else is waited for. */
export const quiesce: Ending = (s) => {
  const { record, set, context, tag } = s;
  const pod = podOf(s);
  const { quiesceSoftMs, quiesceHardMs } = context.settings;
  const since = record?.stage === 'quiescing' ? record.stageAt : (context.since ?? context.now);
  const isOver = record?.barredAt === set.generation || elapsedMs(since, context.now) >= quiesceHardMs;
  if (isOver && isLive(pod) && tag === 'absent') {
    const barred = { ...touched(s, 'quiescing'), barredAt: set.generation };
    return persisted(s, barred, { do: 'clearHibernate', pod: versionOf(pod) }, 'QuiesceTimeout');
  }
  const node = s.observation.source;
  if (node?.ready !== true) return wait('SourceNodeLost', { since, until: after(since, quiesceHardMs) });
  if (hasFailed(pod))
    return wait('SnapshotFailed', { since, until: after(since, quiesceHardMs), detail: messageOf(pod) });
  return timed(s, since, ['Snapshotting', 'SnapshotSlow'], quiesceSoftMs, quiesceHardMs);
};

/** The snapshot is complete and the VM gone. From here on there is no way back, only another target. */
export const depart: Ending = (s) => {
  const before = s.record ?? newRecord(s);
  const record = { ...staged(s, 'moving', unburdened(before), sourceOf(s)), snapshotDigest: digestOf(s) };
  const action: Action = { do: 'deletePod', pod: versionOf(podOf(s)), keepSnapshot: true, force: false };
  return persisted(s, record, action, 'SnapshotReady');
};

/** A snapshot older than the running VM. It isn't one while the agent may be at work, even if it was told to stop. */
export const dropStale: Ending = (s) => {
  const pod = podOf(s);
  if (s.flags.has('held')) return { kind: 'hold', reason: 'HibernationOwnsPod' };
  const mayBeAtWork = isSourceVm(pod, s.record) && s.record !== undefined && !hasSpokenSince(pod, s.record);
  if (!s.flags.has('at-rest') || mayBeAtWork) return wait('AgentBusy', {});
  return act({ do: 'dropTag', digest: digestOf(s) }, { event: 'StaleSnapshotDropped' });
};

/** The gate before the first change: whoever has passed it goes on without a second look. */
export const start: Ending = (s) => {
  const { record, set, context, flags } = s;
  const pod = podOf(s);
  if (flags.has('held')) return { kind: 'hold', reason: 'HibernationOwnsPod' };
  if (!flags.has('at-rest')) return wait('AgentBusy', {});
  if (record?.barredAt === set.generation && context.order !== 'retry')
    return { kind: 'hold', reason: 'QuiesceTimeout', since: record.stageAt };
  if (!hasBegun(s)) {
    const obstacle = guestObstacle(set) ?? preflight(s, pod);
    if (obstacle !== undefined) return { kind: 'hold', reason: obstacle.reason, detail: obstacle.message };
    if (!context.hasSlot) return wait('WaitingForSlot', {});
    return act({ do: 'writeRecord', record: newRecord(s) }, { event: 'MigrationStarted' });
  }
  if (set.phase !== 'Migrating') return act({ do: 'setPhase', phase: 'Migrating' });
  return persisted(s, touched(s, 'quiescing'), { do: 'setHibernate', pod: versionOf(pod) });
};

function preflight({ set, observation, context }: Situation, pod: PodFacts): Refusal | undefined {
  return context.settings.preflight === 'off' ? undefined : targetObstacle(set, observation.target, pod.requests);
}

function hasBegun({ record, set, pod }: Situation): boolean {
  return (
    record !== undefined &&
    pod !== undefined &&
    (record.stage === 'preparing' || record.stage === 'quiescing') &&
    record.barredAt === undefined &&
    record.to === set.nodeName &&
    isSourceVm(pod, record)
  );
}

/** Unscheduled. It goes on by itself when there is room. */
export const scheduling: Ending = (s) => {
  const pod = podOf(s);
  if (pod.unschedulable === undefined) return wait('Scheduling', { since: pod.createdAt });
  const { since, message } = pod.unschedulable;
  return timed(s, since, ['Scheduling', 'MigrateNoCapacity'], s.context.settings.unschedulableMs, undefined, message);
};

/** The wish was reversed. What the agent has begun ends first; only a VM that it could not store is left running. */
export const reverse: Ending = (s) => {
  const { record, context, tag } = s;
  const pod = podOf(s);
  const hasGivenUp = pod.lifecycle?.state === 'failed' && record !== undefined && hasSpokenSince(pod, record);
  const mayStop = context.order === 'abort' || record?.stage === 'preparing' || hasGivenUp;
  if (mayStop && isLive(pod) && tag === 'absent')
    return persisted(s, touched(s, 'preparing'), { do: 'clearHibernate', pod: versionOf(pod) });
  const since = record?.stageAt ?? context.since ?? context.now;
  if (hasFailed(pod)) return wait('SnapshotFailed', { since, detail: messageOf(pod) });
  return timed(s, since, ['Snapshotting', 'SnapshotSlow'], context.settings.quiesceSoftMs);
};

export const wakeInPlace: Ending = (s) => {
  const record = { ...touched(s, 'restoring'), snapshotDigest: digestOf(s) };
  return persisted(s, record, { do: 'clearHibernate', pod: versionOf(podOf(s)) }, 'RestoreStarted');
};

/** Bound, and no VM to be seen: the agent may be restoring it at this moment. */
export const restoring: Ending = (s) => redo(s) ?? restoreWait(s);

/** The VM runs, but its agent says that something is wrong with it: it is never deleted for that, only stored and woken again. */
export const revive: Ending = (s) => {
  const { record, flags, context } = s;
  const pod = podOf(s);
  const isBegun = record?.stage === 'quiescing' && record.barredAt === undefined && isSourceVm(pod, record);
  const isAsked = context.order === 'retry' || isBegun;
  const mayBe = pod.lifecycle?.state === 'failed' && flags.has('at-rest') && !flags.has('held');
  if (!isAsked || !mayBe || guestObstacle(s.set) !== undefined) return restoreWait(s);
  return persisted(s, touched(s, 'quiescing'), { do: 'setHibernate', pod: versionOf(pod) });
};

function restoreWait(s: Situation): Next {
  const { record, context } = s;
  const pod = podOf(s);
  if (!s.flags.has('migrating')) return wait('Restoring', { since: pod.scheduledAt ?? pod.createdAt });
  const bound = pod.scheduledAt ?? pod.createdAt;
  const since = record === undefined ? bound : latest(record.stageAt, bound);
  const { restoreSoftMs, restoreHardMs } = context.settings;
  if (elapsedMs(since, context.now) >= restoreHardMs)
    return { kind: 'hold', reason: 'RestoreTimeout', since, detail: messageOf(pod) };
  if (hasFailed(pod))
    return wait('MainAgentFailed', { since, until: after(since, restoreHardMs), detail: messageOf(pod) });
  return timed(s, since, ['Restoring', 'RestoreSlow'], restoreSoftMs, restoreHardMs);
}

/**
 * Replaces a restore Pod whose agent has failed, because a person asked. The agent may be in the middle of another attempt, so
 * the record says first that no other Pod may be created at once.
 */
function redo(s: Situation): Next | undefined {
  const { record = newRecord(s), context, observation, tag } = s;
  const pod = podOf(s);
  const isGivenUp = context.order === 'abort' && s.place === 'off';
  const isAsked = context.order === 'retry' || isGivenUp || record.redo?.podUID === pod.uid;
  const isEmpty = pod.restore && pod.vmId === '' && !pod.containerRunning && tag === 'good';
  if (!isAsked || !isEmpty) return undefined;
  const node = observation.source;
  if (node === undefined) return deletePod(s, { force: true });
  if (!node.ready || !hasFailed(pod)) return undefined;
  if (record.redo?.podUID === pod.uid) return deletePod(s, {});
  return act({ do: 'writeRecord', record: { ...record, redo: { podUID: pod.uid } } });
}

/** The VM runs where it is wanted: what it was restored from goes, nothing else. */
export const cleanUp: Ending = (s) => {
  const { record, flags } = s;
  if (flags.has('held')) return finish(s);
  if (!flags.has('fresh')) return flags.has('migrating') ? wait('AgentBusy', {}) : leave(s);
  const digest = digestOf(s);
  if (record?.snapshotDigest !== undefined && record.snapshotDigest !== digest)
    return { kind: 'hold', reason: 'SnapshotForeign', detail: 'it is not the one that was restored' };
  if (record !== undefined && record.stage !== 'cleanup')
    return act({ do: 'writeRecord', record: staged(s, 'cleanup', record) });
  return act({ do: 'dropTag', digest });
};
