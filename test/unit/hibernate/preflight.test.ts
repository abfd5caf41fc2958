import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeFacts, SetFacts } from '../../../workflows/domain/hibernate/observation.ts';
import { guestObstacle, isLabelValue, targetObstacle } from '../../../workflows/domain/hibernate/preflight.ts';
import { aNode, aSet, small } from './builders.ts';

const rows: readonly (readonly [expected: string | undefined, node: Partial<NodeFacts>, set?: Partial<SetFacts>])[] = [
  [undefined, {}],
  ['TargetHostnameMismatch', { hostname: 'b.example' }],
  ['TargetNotReady', { ready: false }],
  ['TargetUnschedulable', { unschedulable: true }],
  ['TargetPoolMismatch', { pool: 'other' }],
  ['TargetPoolMismatch', {}, { nodePool: 'other' }],
  ['TargetClassMismatch', {}, { snapshotClass: 'v4' }],
  [undefined, { snapshotClass: 'v4' }, { snapshotClass: 'v4' }],
  ['TargetTainted', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }],
  ['TargetTainted', { taints: [{ key: 'gpu', effect: 'NoExecute' }] }],
  [undefined, { taints: [{ key: 'gpu', effect: 'PreferNoSchedule' }] }],
  ['TargetTainted', { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] }],
  [undefined, { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] }],
  ['TargetNoCapacity', { free: { ...small, cpuMilli: 999 } }],
  ['TargetNoCapacity', { free: { ...small, memory: 0 } }],
  ['TargetNoCapacity', { free: { ...small, storage: -1 } }],
  ['TargetNoCapacity', { free: { ...small, pods: 0 } }],
  [undefined, { free: small }],
];

for (const [expected, node, set = {}] of rows) {
  test(`a target ${JSON.stringify(node)} for ${JSON.stringify(set)}: ${expected ?? 'fits'}`, () => {
    assert.equal(targetObstacle(aSet(set), aNode('node-b', node), small)?.reason, expected);
  });
}

test('a target without the CPU class is refused before anything is stored, and the message names both', () => {
  const obstacle = targetObstacle(aSet({ snapshotClass: 'v4' }), aNode('node-b'), small);
  assert.equal(obstacle?.message, 'node "node-b" has CPU class "", not "v4"');
});

test('a target that does not exist is named', () => {
  assert.deepEqual(targetObstacle(aSet({ nodeName: 'nope' }), undefined, small), {
    reason: 'TargetNotFound',
    message: 'there is no node "nope"',
  });
});

test('a name that can be no label value is refused', () => {
  for (const name of ['', 'A', '-a', 'a-', 'a_b', 'a'.repeat(64)]) assert.equal(isLabelValue(name), false, name);
  for (const name of ['a', 'node-1.example.org', 'a'.repeat(63)]) assert.ok(isLabelValue(name), name);
  assert.equal(targetObstacle(aSet({ nodeName: 'Bad_Name' }), undefined, small)?.reason, 'TargetInvalid');
});

test('a guest that cannot hibernate, and a VM name that two sets have, are never moved', () => {
  assert.equal(guestObstacle(aSet({ os: 'macos' }))?.reason, 'GuestCannotHibernate');
  assert.equal(guestObstacle(aSet({ sharesVmName: ['a/b'] }))?.reason, 'VmNameShared');
  assert.equal(guestObstacle(aSet()), undefined);
});
