import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide } from '../../../workflows/domain/hibernate/decide.ts';
import { homeOf, orderProblem, retargetProblem } from '../../../workflows/domain/hibernate/orders.ts';
import { reportOf, type Report } from '../../../workflows/domain/hibernate/report.ts';
import { progressOf, way } from '../../../workflows/domain/hibernate/steps.ts';
import {
  aContext,
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

const report = (scene: Scene, context: Parameters<typeof aContext>[0] = {}): Report => {
  const look = aLook(scene);
  return reportOf(decide(look, aContext(context)), look, aContext(context));
};
const restoring = aRecord({ stage: 'restoring', stageAt: at(-25) });
const there = { uid: 'pod-2', nodeName: 'node-b', vmId: 'vm-2', restore: true, scheduledAt: at(-20) };

test('before the first change the phase stays what it was, and the reason is told', () => {
  const { phase, condition, warning, conflict } = report({
    pod: aPod(),
    target: aNode('node-b', { unschedulable: true }),
  });
  assert.equal(phase, undefined);
  assert.deepEqual([condition.status, condition.reason, warning], ['False', 'TargetUnschedulable', 'MigrationBlocked']);
  assert.match(condition.message, /"node-b" is cordoned/);
  assert.equal(conflict, undefined);
});

test('a slot is waited for without any change', () => {
  const { phase, condition, waitingFor } = report({ pod: aPod() }, { hasSlot: false });
  assert.deepEqual([phase, condition.reason, waitingFor], [undefined, 'WaitingForSlot', 'slot']);
});

test('the phase Migrating is not shown before the record is written', () => {
  assert.equal(report({ pod: aPod() }).phase, undefined);
  assert.equal(report({ pod: aPod(), record: aRecord({ stage: 'preparing' }) }).phase, 'Migrating');
});

test('Migrating while it waits for room, with the words of the scheduler', () => {
  const pod = anUnscheduledPod({ unschedulable: { since: at(-60), message: '0/3 nodes are available' } });
  const { phase, condition, waitingFor, warning } = report({ pod, record: restoring, tag: aTag() });
  assert.deepEqual([phase, warning, waitingFor], ['Migrating', 'MigrateNoCapacity', 'capacity']);
  assert.match(condition.message, /0\/3 nodes/);
});

test('a failed main shows as Failed while the migration goes on', () => {
  const pod = anEmptyPod({ ...there, vmId: '', lifecycle: said('failed', 7, 'digest mismatch') });
  const { phase, condition, conflict } = report({ pod, record: restoring, tag: aTag() });
  assert.deepEqual([phase, condition.reason, conflict], ['Failed', 'MainAgentFailed', undefined]);
  assert.match(condition.message, /digest mismatch/);
});

test('a missing snapshot is a conflict with its ways out', () => {
  const { phase, conflict } = report({ record: restoring });
  assert.equal(phase, 'Failed');
  assert.deepEqual(conflict, { code: 'SnapshotMissing', ways: ['retry', 'acknowledge-loss'] });
});

test('without a record the phase Migrating is never given up for Failed: it is all that says that a VM was stored', () => {
  assert.equal(report({ set: { phase: 'Migrating' } }).phase, undefined);
  const failed = aPod({ ...there, lifecycle: said('failed') });
  assert.equal(report({ set: { phase: 'Migrating' }, pod: failed, tag: aTag() }).phase, undefined);
});

test('booting on another node without a migration shows as Pending', () => {
  assert.equal(report({ set: { phase: 'Pending' }, pod: anEmptyPod() }).phase, 'Pending');
});

test('the end leaves the phase alone', () => {
  assert.equal(report({ pod: aPod(there), record: aRecord({ stage: 'cleanup' }) }).phase, undefined);
});

test('a snapshot that cannot be dropped is shown after a minute and holds up nothing after five', () => {
  const debt = (seconds: number): Report =>
    report({ pod: aPod(there), record: aRecord({ stage: 'cleanup', stageAt: at(-seconds) }), tag: aTag() });
  assert.deepEqual([debt(59).condition.reason, debt(59).phase], ['CleaningUp', 'Migrating']);
  assert.deepEqual([debt(60).condition.reason, debt(60).phase], ['SnapshotCleanupPending', 'Migrating']);
  assert.deepEqual([debt(300).warning, debt(300).phase], ['SnapshotCleanupPending', 'settled']);
});

test('at risk is a VM that is not running anywhere, from its removal to its return', () => {
  const risks = [
    { pod: aPod({ hibernate: true }), record: aRecord(), tag: aTag() },
    { pod: aQuiescedPod(), record: aRecord(), tag: aTag() },
    { record: aRecord({ stage: 'moving' }), tag: aTag() },
    { pod: anEmptyPod({ ...there, vmId: '' }), record: restoring, tag: aTag() },
    { pod: aPod(there), record: aRecord({ stage: 'cleanup' }), tag: aTag() },
  ].map((scene) => report(scene).isAtRisk);
  assert.deepEqual(risks, [false, true, true, true, false]);
});

test('progress grows along the way', () => {
  const all = [...way.map(({ id }) => progressOf(id)), progressOf('Done')];
  assert.deepEqual([...all].sort(), all);
});

test('an abort goes back to where the VM was, and is refused when that is not known or already wished', () => {
  assert.equal(homeOf(aLook({ record: aRecord() })), 'node-a');
  assert.equal(orderProblem('abort', aLook({ record: aRecord() })), undefined);
  assert.match(orderProblem('abort', aLook({ set: { nodeName: 'node-a' }, pod: aPod() })) ?? '', /already/);
  assert.match(orderProblem('abort', aLook()) ?? '', /nothing tells/);
});

test('a retry is refused while the node that may hold the VM is not ready', () => {
  const pod = anEmptyPod({ ...there, vmId: '', lifecycle: said('failed') });
  const source = aNode('node-b', { ready: false });
  assert.match(orderProblem('retry', aLook({ pod, record: restoring, source })) ?? '', /"node-b" is not ready/);
  assert.equal(orderProblem('retry', aLook({ pod, record: restoring })), undefined);
  assert.equal(orderProblem('retry', aLook({ pod, record: restoring, source: 'gone' })), undefined);
});

test('a loss is acknowledged for one set, by its UID', () => {
  assert.equal(orderProblem('acknowledge-loss', aLook(), 'set-1'), undefined);
  assert.match(orderProblem('acknowledge-loss', aLook(), 'set-0') ?? '', /"set-1"/);
});

test('a new target is another one, and a name that a node can have', () => {
  assert.equal(retargetProblem('node-c', aLook()), undefined);
  assert.equal(retargetProblem('', aLook()), undefined);
  assert.match(retargetProblem('node-b', aLook()) ?? '', /already/);
  assert.match(retargetProblem('Not a node', aLook()) ?? '', /can't be the name/);
  assert.match(retargetProblem('node-c', aLook({ set: { deleting: true } })) ?? '', /deleted/);
});
