import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide, type Decision } from '../../../workflows/domain/hibernate/decide.ts';
import {
  aContext,
  aHibernation,
  aLook,
  anEmptyPod,
  anUnscheduledPod,
  aNode,
  aPod,
  aQuiescedPod,
  aRecord,
  at,
  aTag,
  said,
  type Scene,
} from './builders.ts';

/** A decision in one line: the action, or why nothing is done. */
function inShort({ next }: Decision): string {
  switch (next.kind) {
    case 'act': {
      const { action } = next;
      if (action.do === 'writeRecord')
        return action.record === undefined ? 'clear record' : `record ${action.record.stage}`;
      if (action.do === 'setPhase') return `phase ${action.phase}`;
      return action.do;
    }
    case 'wait':
      return `wait ${next.reason}`;
    case 'hold':
      return `hold ${next.reason}`;
    case 'end':
      return `end ${next.outcome}`;
    case 'leave':
      return 'leave';
  }
}

const onTarget = (over: Parameters<typeof aPod>[0] = {}): ReturnType<typeof aPod> =>
  aPod({ uid: 'pod-2', vmId: 'vm-2', nodeName: 'node-b', restore: true, scheduledAt: at(-20), ...over });
const emptyOnTarget = (over: Parameters<typeof aPod>[0] = {}): ReturnType<typeof aPod> =>
  anEmptyPod({ uid: 'pod-2', nodeName: 'node-b', restore: true, scheduledAt: at(-20), ...over });
const moving = aRecord({ stage: 'moving', snapshotDigest: 'sha256:1' });
const restoring = aRecord({ stage: 'restoring', snapshotDigest: 'sha256:1', stageAt: at(-25) });
const cleanup = aRecord({ stage: 'cleanup', snapshotDigest: 'sha256:1' });
const preparing = aRecord({ stage: 'preparing' });
const unpinned = { nodeName: '' } as const;
const sourceWanted = { nodeName: 'node-a' } as const;
const hibernating = aPod({ hibernate: true, lifecycle: said('hibernating') });
const lost = { order: 'acknowledge-loss' } as const;

type Line = readonly [
  row: string,
  title: string,
  scene: Scene,
  expected: string,
  context?: Parameters<typeof aContext>[0],
];

/** Every row of the decision table, in its order. */
const lines: readonly Line[] = [
  [
    'setDeleted',
    'a set that is being deleted is let go',
    { set: { deleting: true }, pod: hibernating },
    'end setDeleted',
  ],
  ['parked', 'a suspended set belongs to the suspend flow', { set: { suspend: true }, pod: hibernating }, 'end parked'],
  [
    'D1',
    'a foreign Pod is left alone',
    { pod: aPod({ owned: false }), record: moving, tag: aTag() },
    'hold PodNameConflict',
  ],
  ['D2', 'a Pod tied to another node, not scheduled', { pod: anUnscheduledPod({ pinnedTo: ['node-c'] }) }, 'deletePod'],
  ['D2', 'a pin that is no longer wanted', { set: unpinned, pod: anUnscheduledPod() }, 'deletePod'],
  [
    'D2',
    'a Pod that may go to several nodes',
    { pod: anUnscheduledPod({ pinnedTo: ['node-b', 'node-c'] }) },
    'deletePod',
  ],
  ['D3', 'no wish, no migration', { set: unpinned, pod: aPod() }, 'leave'],
  ['D3', 'no wish, and somebody hibernates it', { set: unpinned, pod: aQuiescedPod(), tag: aTag() }, 'leave'],
  ['D3', 'no wish and no Pod', { set: unpinned, tag: aTag() }, 'leave'],
  ['D25', 'no wish, and a leaked tag', { set: unpinned, pod: aPod(), tag: aTag() }, 'dropTag'],
  [
    'D3',
    'no wish, and a hibernation owns the tag',
    { set: unpinned, pod: aPod(), tag: aTag(), hibernations: [aHibernation({ desire: 'Wake', phase: 'Waking' })] },
    'leave',
  ],
  ['settled', 'a settled set needs no registry', { pod: onTarget(), tag: { state: 'unread' } }, 'leave'],
  [
    'D4',
    'no answer of the registry',
    { pod: aPod(), tag: { state: 'unknown', reason: '503' } },
    'wait RegistryUnavailable',
  ],
  ['D4', 'nobody asked the registry', { pod: aPod(), tag: { state: 'unread' } }, 'wait RegistryUnavailable'],
  [
    'D4',
    'no Pod and no answer',
    { record: moving, tag: { state: 'unknown', reason: 'timeout' } },
    'wait RegistryUnavailable',
  ],
  ['D5', 'something else under the tag', { record: moving, tag: aTag({ isSnapshot: false }) }, 'hold SnapshotInvalid'],
  [
    'P4',
    'a snapshot older than the set',
    { record: moving, tag: aTag({ createdAt: at(-90_000) }) },
    'hold SnapshotForeign',
  ],
  [
    'P4',
    'a VM name that two sets have',
    { set: { sharesVmName: ['de/mo-web'] }, record: moving, tag: aTag() },
    'hold SnapshotForeign',
  ],
  [
    'D6',
    'deletion has begun',
    { pod: aQuiescedPod({ deletedAt: at(-5) }), record: moving, tag: aTag() },
    'wait RemovingOldPod',
  ],
  [
    'D6',
    'deletion takes long',
    { pod: aQuiescedPod({ deletedAt: at(-61) }), record: moving, tag: aTag() },
    'wait OldPodStuck',
  ],
  ['D7', 'the Pod has gone', { record: moving, tag: aTag() }, 'record restoring'],
  ['D7', 'the Pod has gone and that is written', { record: restoring, tag: aTag() }, 'createPod'],
  ['D7', 'phase and record are lost', { tag: aTag() }, 'createPod'],
  ['D7', 'the image is not in the snapshot', { record: restoring, tag: aTag({ baseImage: '' }) }, 'createPod'],
  [
    'D7',
    'another target meanwhile',
    { set: { nodeName: 'node-c' }, record: restoring, tag: aTag() },
    'record restoring',
  ],
  [
    'D7',
    'a Pod that was to be replaced has gone: the fence',
    { record: { ...restoring, redo: { podUID: 'p' } }, tag: aTag() },
    'record restoring',
  ],
  [
    'D7',
    'the fence is up',
    { record: { ...restoring, redo: { podUID: 'p', until: at(9) } }, tag: aTag() },
    'wait Fenced',
  ],
  [
    'D7',
    'the fence is down',
    { record: { ...restoring, redo: { podUID: 'p', until: at(-1) } }, tag: aTag() },
    'createPod',
  ],
  [
    'D8',
    'another image: first the phase goes',
    { set: { image: 'base:2' }, record: moving, tag: aTag() },
    'phase settled',
  ],
  [
    'D8',
    'then the record',
    { set: { image: 'base:2', phase: 'Pending' }, record: moving, tag: aTag() },
    'clear record',
  ],
  ['D8', 'then the snapshot', { set: { image: 'base:2', phase: 'Pending' }, tag: aTag() }, 'dropTag'],
  ['D9', 'nothing is left while quiescing', { record: aRecord() }, 'hold SnapshotMissing'],
  ['D9', 'nothing is left while moving', { record: moving }, 'hold SnapshotMissing'],
  ['D9', 'nothing is left while restoring', { record: restoring }, 'hold SnapshotMissing'],
  ['D9', 'nothing is left and no record', { set: { phase: 'Migrating' } }, 'hold SnapshotMissing'],
  ['D9', 'a person accepts the loss', { record: moving }, 'phase settled', lost],
  [
    'D9',
    'a person accepts the loss: then the record',
    { set: { phase: 'Pending' }, record: moving },
    'clear record',
    lost,
  ],
  ['D9', 'a person accepts the loss, the record is gone', { set: { phase: 'Migrating' } }, 'phase settled', lost],
  ['D10', 'a first boot', { set: { phase: 'Pending' } }, 'leave'],
  ['D10', 'the VM vanished before it was touched', { record: preparing }, 'phase settled'],
  ['D10', 'the VM vanished after the end', { record: cleanup }, 'phase settled'],
  ['stamp', 'the wish is newer than the stamp', { pod: aQuiescedPod({ stamp: 6 }), tag: aTag() }, 'stampPod'],
  [
    'D11',
    'hibernated by somebody',
    { pod: aQuiescedPod(), tag: aTag(), hibernations: [aHibernation()] },
    'hold HibernationOwnsPod',
  ],
  ['D12', 'the agent is at work', { pod: hibernating, record: aRecord() }, 'wait Snapshotting'],
  [
    'D12',
    'the tag is there and the VM still is',
    { pod: hibernating, record: aRecord(), tag: aTag() },
    'wait Snapshotting',
  ],
  [
    'D12',
    'the id is gone and the VM may not be',
    { pod: { ...hibernating, vmId: '' }, record: aRecord(), tag: aTag() },
    'wait Snapshotting',
  ],
  [
    'D12',
    'confirmed for an older wish',
    { pod: aQuiescedPod({ lifecycle: said('hibernated', 6) }), tag: aTag() },
    'wait Snapshotting',
  ],
  ['D12', 'no word of the agent', { pod: withoutWord(aQuiescedPod()), tag: aTag() }, 'wait Snapshotting'],
  ['D12', 'it takes long', { pod: hibernating, record: aRecord({ stageAt: at(-180) }) }, 'wait SnapshotSlow'],
  [
    'D12',
    'it failed and is tried again',
    { pod: aPod({ hibernate: true, lifecycle: said('failed') }), record: aRecord() },
    'wait SnapshotFailed',
  ],
  [
    'D12',
    'the node is lost',
    { pod: hibernating, record: aRecord(), source: aNode('node-a', { ready: false }) },
    'wait SourceNodeLost',
  ],
  ['D12', 'the node object is gone', { pod: hibernating, record: aRecord(), source: 'gone' }, 'wait SourceNodeLost'],
  [
    'D12',
    'a new wish on the way',
    { set: { nodeName: 'node-c' }, pod: hibernating, record: aRecord() },
    'record quiescing',
  ],
  [
    'D12',
    'the hard deadline: first the bar',
    { pod: hibernating, record: aRecord({ stageAt: at(-1_800) }) },
    'record quiescing',
  ],
  ['D12', 'the hard deadline: then the flag', { pod: hibernating, record: aRecord({ barredAt: 7 }) }, 'clearHibernate'],
  [
    'D12',
    'the hard deadline with a tag',
    { pod: hibernating, record: aRecord({ stageAt: at(-1_800) }), tag: aTag() },
    'wait SnapshotSlow',
  ],
  [
    'D12',
    'the hard deadline without a VM',
    { pod: { ...hibernating, vmId: '' }, record: aRecord({ stageAt: at(-1_800) }) },
    'wait SnapshotSlow',
  ],
  [
    'D13',
    'stored and gone: first the digest',
    { pod: aQuiescedPod(), record: aRecord(), tag: aTag() },
    'record moving',
  ],
  ['D13', 'then the Pod', { pod: aQuiescedPod(), record: moving, tag: aTag() }, 'deletePod'],
  [
    'D13',
    'out of a suspend: first a record',
    { set: { phase: 'Suspended' }, pod: aQuiescedPod(), tag: aTag() },
    'record moving',
  ],
  [
    'D13',
    'out of a suspend: then the phase',
    { set: { phase: 'Suspended' }, record: moving, pod: aQuiescedPod({ vmId: '' }), tag: aTag() },
    'phase Migrating',
  ],
  [
    'D13',
    'of another image: it is let go on purpose',
    { set: { image: 'base:2' }, pod: aQuiescedPod(), record: moving, tag: aTag() },
    'deletePod',
  ],
  ['D14', 'the snapshot vanished', { pod: aQuiescedPod(), record: moving }, 'hold SnapshotMissing'],
  ['D14', 'a person accepts the loss', { pod: aQuiescedPod(), record: moving }, 'deletePod', lost],
  [
    'D15',
    'restoring on the target before',
    { set: { nodeName: 'node-c' }, pod: emptyOnTarget(), record: { ...restoring, to: 'node-c' }, tag: aTag() },
    'wait Restoring',
  ],
  ['D15', 'booting on another node', { pod: anEmptyPod() }, 'wait Restoring'],
  ['D16', 'a stale snapshot', { pod: aPod(), tag: aTag() }, 'dropTag'],
  ['D16', 'a stale snapshot of another image', { pod: aPod(), tag: aTag({ baseImage: 'base:0' }) }, 'dropTag'],
  [
    'D16',
    'of a hibernation that wakes',
    { pod: aPod(), tag: aTag(), hibernations: [aHibernation({ desire: 'Wake', phase: 'Waking' })] },
    'hold HibernationOwnsPod',
  ],
  [
    'D16',
    'the agent is hibernating though nobody wants it any more',
    { pod: aPod({ lifecycle: said('hibernating') }), tag: aTag() },
    'wait AgentBusy',
  ],
  [
    'D16',
    'the agent has not seen the newest wish',
    { pod: aPod({ lifecycle: said('ready', 6) }), tag: aTag() },
    'wait AgentBusy',
  ],
  [
    'D16',
    'the flag was removed and the agent has said nothing since',
    { pod: aPod(), record: aRecord({ barredAt: 7 }), tag: aTag() },
    'wait AgentBusy',
  ],
  [
    'D16',
    'the flag was removed and the agent has spoken',
    { pod: aPod(), record: aRecord({ generation: 6 }), tag: aTag() },
    'dropTag',
  ],
  [
    'D16',
    'the VM was woken since',
    { pod: aPod({ vmId: 'vm-9' }), record: aRecord({ barredAt: 7 }), tag: aTag() },
    'dropTag',
  ],
  ['D17', 'nothing in the way: first the record', { pod: aPod() }, 'record preparing'],
  ['D17', 'then the phase', { pod: aPod(), record: preparing, set: { phase: 'Running' } }, 'phase Migrating'],
  ['D17', 'then the stage', { pod: aPod(), record: preparing }, 'record quiescing'],
  ['D17', 'then the flag', { pod: aPod(), record: aRecord() }, 'setHibernate'],
  [
    'D17',
    'begun, whatever has become of slot and target',
    { pod: aPod(), record: aRecord(), target: 'gone' },
    'setHibernate',
    { hasSlot: false },
  ],
  ['D17', 'no slot yet', { pod: aPod() }, 'wait WaitingForSlot', { hasSlot: false }],
  [
    'D17',
    'the target is cordoned',
    { pod: aPod(), target: aNode('node-b', { unschedulable: true }) },
    'hold TargetUnschedulable',
  ],
  [
    'D17',
    'the target is cordoned and nobody minds',
    { pod: aPod(), target: aNode('node-b', { unschedulable: true }) },
    'record preparing',
    { settings: { preflight: 'off' } },
  ],
  [
    'D17',
    'macOS',
    { set: { os: 'macos' }, pod: aPod() },
    'hold GuestCannotHibernate',
    { settings: { preflight: 'off' } },
  ],
  ['D17', 'a VM name that two sets have', { set: { sharesVmName: ['de/mo-web'] }, pod: aPod() }, 'hold VmNameShared'],
  [
    'D17',
    'a hibernation has just been asked for',
    { pod: aPod(), hibernations: [aHibernation({ phase: 'Pending' })] },
    'hold HibernationOwnsPod',
  ],
  ['D17', 'the VM has not settled yet', { pod: aPod({ lifecycle: said('creating') }) }, 'wait AgentBusy'],
  ['D17', 'its agent had a problem', { pod: aPod({ lifecycle: said('failed') }) }, 'record preparing'],
  ['D17', 'barred', { pod: aPod(), record: aRecord({ barredAt: 7 }) }, 'hold QuiesceTimeout'],
  [
    'D17',
    'barred, and a person asks',
    { pod: aPod(), record: aRecord({ barredAt: 7 }) },
    'record preparing',
    { order: 'retry' },
  ],
  ['D17', 'barred at an older wish', { pod: aPod(), record: aRecord({ barredAt: 6 }) }, 'record preparing'],
  [
    'D17',
    'on to a third node',
    { set: { nodeName: 'node-c' }, pod: onTarget(), record: restoring },
    'record preparing',
  ],
  ['D18', 'waits for the scheduler', { pod: anUnscheduledPod(), record: restoring, tag: aTag() }, 'wait Scheduling'],
  [
    'D18',
    'no room',
    {
      pod: anUnscheduledPod({ unschedulable: { since: at(-30), message: 'Insufficient cpu' } }),
      record: restoring,
      tag: aTag(),
    },
    'wait MigrateNoCapacity',
  ],
  ['D18', 'a first boot', { set: { phase: 'Pending' }, pod: anUnscheduledPod({ restore: false }) }, 'leave'],
  [
    'D19',
    'there, and hibernated by somebody',
    { pod: aQuiescedPod({ nodeName: 'node-b' }), record: restoring, tag: aTag(), hibernations: [aHibernation()] },
    'phase settled',
  ],
  [
    'D19',
    'settled, and hibernated by somebody',
    { pod: aQuiescedPod({ nodeName: 'node-b' }), tag: aTag(), hibernations: [aHibernation()] },
    'leave',
  ],
  [
    'D20',
    'wanted back while the agent is at work',
    { set: sourceWanted, pod: hibernating, record: aRecord({ to: 'node-a' }), tag: aTag() },
    'wait Snapshotting',
  ],
  [
    'D20',
    'wanted back: the record follows',
    { set: sourceWanted, pod: hibernating, record: aRecord() },
    'record quiescing',
  ],
  [
    'D20',
    'wanted back, the agent failed before it could know',
    { set: sourceWanted, pod: aPod({ hibernate: true, lifecycle: said('failed') }), record: aRecord({ to: 'node-a' }) },
    'wait SnapshotFailed',
  ],
  [
    'D20',
    'wanted back, the agent failed: first the record',
    {
      set: sourceWanted,
      pod: aPod({ hibernate: true, lifecycle: said('failed') }),
      record: aRecord({ to: 'node-a', generation: 6 }),
    },
    'record preparing',
  ],
  [
    'D20',
    'wanted back, the agent failed: then the flag',
    {
      set: sourceWanted,
      pod: aPod({ hibernate: true, lifecycle: said('failed') }),
      record: aRecord({ to: 'node-a', stage: 'preparing' }),
    },
    'clearHibernate',
  ],
  [
    'D20',
    'wanted back, the agent failed, a tag is there',
    {
      set: sourceWanted,
      pod: aPod({ hibernate: true, lifecycle: said('failed') }),
      record: aRecord({ to: 'node-a', generation: 6 }),
      tag: aTag(),
    },
    'wait SnapshotFailed',
  ],
  [
    'D20',
    'a person aborts before the tag',
    { set: sourceWanted, pod: hibernating, record: aRecord({ to: 'node-a' }) },
    'record preparing',
    { order: 'abort' },
  ],
  [
    'D20',
    'a person aborts after the tag',
    { set: sourceWanted, pod: hibernating, record: aRecord({ to: 'node-a' }), tag: aTag() },
    'wait Snapshotting',
    { order: 'abort' },
  ],
  [
    'D21',
    'wanted back after the VM was stored: first the record',
    { set: sourceWanted, pod: aQuiescedPod(), record: aRecord({ to: 'node-a' }), tag: aTag() },
    'record restoring',
  ],
  [
    'D21',
    'wanted back after the VM was stored: then the flag',
    { set: sourceWanted, pod: aQuiescedPod(), record: { ...restoring, to: 'node-a' }, tag: aTag() },
    'clearHibernate',
  ],
  [
    'D22',
    'wanted back and the snapshot vanished',
    { set: sourceWanted, pod: aQuiescedPod(), record: { ...moving, to: 'node-a' } },
    'hold SnapshotMissing',
  ],
  [
    'D22',
    'a person accepts the loss',
    { set: sourceWanted, pod: aQuiescedPod(), record: { ...moving, to: 'node-a' } },
    'deletePod',
    lost,
  ],
  [
    'D23',
    'un-suspending is not a migration',
    { set: { phase: 'Suspended' }, pod: aQuiescedPod({ nodeName: 'node-b' }), tag: aTag() },
    'leave',
  ],
  [
    'D26',
    'the VM never stopped and is wanted where it is',
    { set: sourceWanted, pod: aPod({ lifecycle: said('failed') }), record: { ...preparing, to: 'node-a' } },
    'phase settled',
  ],
  ['D24', 'restoring', { pod: emptyOnTarget(), record: restoring, tag: aTag() }, 'wait Restoring'],
  [
    'D24',
    'an id, and nothing runs',
    { pod: emptyOnTarget({ vmId: 'vm-2' }), record: restoring, tag: aTag() },
    'wait Restoring',
  ],
  [
    'D24',
    'something runs, and no id',
    { pod: emptyOnTarget({ containerRunning: true }), record: restoring, tag: aTag() },
    'wait Restoring',
  ],
  [
    'D24',
    'live, and the network settles',
    { pod: onTarget({ lifecycle: said('creating') }), record: restoring, tag: aTag() },
    'wait Restoring',
  ],
  [
    'D24',
    'live, ready for an older wish',
    { pod: onTarget({ lifecycle: said('ready', 6) }), record: restoring, tag: aTag() },
    'wait Restoring',
  ],
  [
    'D24',
    'it takes long',
    { pod: emptyOnTarget({ scheduledAt: at(-300) }), record: { ...restoring, stageAt: at(-301) }, tag: aTag() },
    'wait RestoreSlow',
  ],
  [
    'D24',
    'it takes too long',
    { pod: emptyOnTarget({ scheduledAt: at(-1_800) }), record: { ...restoring, stageAt: at(-1_801) }, tag: aTag() },
    'hold RestoreTimeout',
  ],
  [
    'D24',
    'it failed and is tried again',
    { pod: emptyOnTarget({ lifecycle: said('failed') }), record: restoring, tag: aTag() },
    'wait MainAgentFailed',
  ],
  [
    'D24',
    'failed, and a person asks: first the record',
    { pod: emptyOnTarget({ lifecycle: said('failed') }), record: restoring, tag: aTag() },
    'record restoring',
    { order: 'retry' },
  ],
  [
    'D24',
    'failed, and that is written',
    {
      pod: emptyOnTarget({ lifecycle: said('failed') }),
      record: { ...restoring, redo: { podUID: 'pod-2' } },
      tag: aTag(),
    },
    'deletePod',
  ],
  [
    'D24',
    'it was to be replaced, and comes up',
    { pod: emptyOnTarget({ vmId: 'vm-2' }), record: { ...restoring, redo: { podUID: 'pod-2' } }, tag: aTag() },
    'wait Restoring',
  ],
  [
    'D24',
    'a person asks, and the agent is at it',
    { pod: emptyOnTarget(), record: restoring, tag: aTag() },
    'wait Restoring',
    { order: 'retry' },
  ],
  [
    'D24',
    'a person asks, and the node is lost',
    {
      pod: emptyOnTarget({ lifecycle: said('failed') }),
      record: restoring,
      tag: aTag(),
      source: aNode('node-b', { ready: false }),
    },
    'wait MainAgentFailed',
    { order: 'retry' },
  ],
  [
    'D24',
    'a person asks, and the node object is gone',
    { pod: emptyOnTarget(), record: restoring, tag: aTag(), source: 'gone' },
    'deletePod',
    { order: 'retry' },
  ],
  [
    'D24',
    'the node object is gone and nobody asks',
    { pod: emptyOnTarget(), record: restoring, tag: aTag(), source: 'gone' },
    'wait Restoring',
  ],
  [
    'D24',
    'live without a network, and a person asks: first the record',
    { pod: onTarget({ lifecycle: said('failed') }), record: restoring, tag: aTag() },
    'record quiescing',
    { order: 'retry' },
  ],
  [
    'D24',
    'live without a network: then the flag',
    {
      pod: onTarget({ lifecycle: said('failed') }),
      record: aRecord({ sourcePodUID: 'pod-2', sourceVMID: 'vm-2' }),
      tag: aTag(),
    },
    'setHibernate',
  ],
  [
    'D24',
    'live without a network and nobody asks',
    { pod: onTarget({ lifecycle: said('failed') }), record: restoring, tag: aTag() },
    'wait MainAgentFailed',
  ],
  ['D24', 'a first boot', { set: { phase: 'Pending' }, pod: emptyOnTarget({ restore: false }) }, 'leave'],
  ['D24', 'a settled VM with a problem', { pod: onTarget({ lifecycle: said('failed') }) }, 'leave'],
  ['D25', 'restored: first the stage', { pod: onTarget(), record: restoring, tag: aTag() }, 'record cleanup'],
  ['D25', 'restored: then the snapshot', { pod: onTarget(), record: cleanup, tag: aTag() }, 'dropTag'],
  ['D25', 'restored, and everything about it is lost', { pod: onTarget(), tag: aTag() }, 'dropTag'],
  ['D25', 'a leaked tag', { pod: onTarget({ restore: false }), tag: aTag() }, 'dropTag'],
  [
    'D25',
    'after a failure the phase of which is still shown',
    { set: { phase: 'Failed' }, pod: onTarget(), record: cleanup, tag: aTag() },
    'dropTag',
  ],
  [
    'D25',
    'somebody hibernates it',
    { pod: onTarget(), record: restoring, tag: aTag(), hibernations: [aHibernation({ phase: 'Pending' })] },
    'phase settled',
  ],
  [
    'D25',
    'another snapshot than the one restored',
    { pod: onTarget(), record: restoring, tag: aTag({ digest: 'sha256:2' }) },
    'hold SnapshotForeign',
  ],
  [
    'D25',
    'the very VM that was asked to hibernate',
    { set: sourceWanted, pod: aPod(), record: aRecord({ to: 'node-a' }), tag: aTag() },
    'wait AgentBusy',
  ],
  ['D26', 'done: first the phase', { pod: onTarget(), record: cleanup }, 'phase settled'],
  ['D26', 'done: then the record', { set: { phase: 'Running' }, pod: onTarget(), record: cleanup }, 'clear record'],
  ['D26', 'done, the record is lost', { set: { phase: 'Migrating' }, pod: onTarget() }, 'phase settled'],
  ['D26', 'settled', { pod: onTarget() }, 'leave'],
  [
    'D26',
    'the wish was taken back before anything was done',
    { set: sourceWanted, pod: aPod(), record: preparing },
    'phase settled',
  ],
];

for (const [row, title, scene, expected, context = {}] of lines) {
  test(`${row} ${title}: ${expected}`, () => {
    const decision = decide(aLook(scene), aContext(context));
    assert.equal(inShort(decision), expected);
    assert.equal(decision.row, row);
  });
}

test('every row of the table has a test', () => {
  const rows = Array.from({ length: 26 }, (_, index) => `D${index + 1}`);
  assert.deepEqual(
    rows.filter((row) => !lines.some(([tested]) => tested === row)),
    [],
  );
});

function withoutWord(pod: ReturnType<typeof aPod>): ReturnType<typeof aPod> {
  const { lifecycle, ...rest } = pod;
  assert.notEqual(lifecycle, undefined);
  return rest;
}
