import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drainPlan, type DrainCandidate, type DrainPlanInput } from '../../../workflows/domain/hibernate/drain.ts';
import type { SetFacts } from '../../../workflows/domain/hibernate/observation.ts';
import { aNode, aSet, small } from './builders.ts';

const one = (name: string, set: Partial<SetFacts> = {}, over: Partial<DrainCandidate> = {}): DrainCandidate => ({
  set: aSet({ name, uid: name, nodeName: '', ...set }),
  requests: small,
  live: true,
  held: false,
  ...over,
});
const room = (pods: number, memory = 2 ** 33): { free: typeof small } => ({
  free: { ...small, cpuMilli: 10_000, memory, pods },
});

function plan(over: Partial<DrainPlanInput>): ReturnType<typeof drainPlan> {
  const nodes = [aNode('node-a'), aNode('node-b', room(2)), aNode('node-c', room(2, 2 ** 32))];
  return drainPlan({ node: 'node-a', candidates: [], nodes, inFlight: [], maxParallel: 10, ...over });
}

test('a suspended set stays named once it is wanted elsewhere, and is not given another target', () => {
  const { blocked, pins, waiting } = plan({ candidates: [one('asleep', { suspend: true, nodeName: 'node-b' })] });
  assert.deepEqual(blocked, [{ set: 'demo/asleep', reason: 'Suspended' }]);
  assert.deepEqual([pins, waiting], [[], 0]);
});

test('those that can go, go; those that cannot are named and keep nobody', () => {
  const { moves, blocked, pins } = plan({
    candidates: [
      one('asleep', { suspend: true }),
      one('held', {}, { held: true }),
      one('dark', {}, { live: false }),
      one('mac', { os: 'macos' }),
      one('gone', { deleting: true }),
      one('web', { nodeName: 'node-a' }),
    ],
  });
  assert.deepEqual(moves, [{ set: 'demo/web', target: 'node-b', previous: 'node-a' }]);
  assert.deepEqual(blocked, [
    { set: 'demo/asleep', reason: 'Suspended' },
    { set: 'demo/held', reason: 'HibernationOwnsPod' },
    { set: 'demo/dark', reason: 'NotLive' },
    { set: 'demo/mac', reason: 'GuestCannotHibernate' },
    { set: 'demo/gone', reason: 'SetDeleted' },
  ]);
  assert.deepEqual(pins, [{ set: 'demo/asleep', target: 'node-b', previous: '' }]);
});

test('the room of a target is used up by those that are sent there and by those on their way', () => {
  const candidates = ['1', '2', '3', '4', '5'].map((name) => one(name));
  const arriving = { set: 'demo/9', target: 'node-c', requests: small, arriving: true };
  const { moves, blocked } = plan({ candidates, inFlight: [arriving] });
  assert.deepEqual(moves.map(({ target }) => target).sort(), ['node-b', 'node-b', 'node-c']);
  assert.deepEqual(
    blocked.map(({ reason }) => reason),
    ['NoTarget', 'NoTarget'],
  );
});

test('no more at a time than allowed, the rest waits', () => {
  const candidates = ['1', '2', '3'].map((name) => one(name));
  const inFlight = [{ set: 'demo/1', target: 'node-b', requests: small, arriving: false }];
  const { moves, waiting } = plan({ candidates, inFlight, maxParallel: 2 });
  assert.deepEqual([moves.length, waiting], [1, 1]);
});

test('only the targets that were named are used, never the node itself and none that is cordoned', () => {
  const candidates = [one('1')];
  assert.equal(plan({ candidates, targets: ['node-c'] }).moves[0]?.target, 'node-c');
  assert.deepEqual(plan({ candidates, targets: ['node-a'] }).blocked[0]?.reason, 'NoTarget');
  const nodes = [aNode('node-b', { unschedulable: true })];
  assert.deepEqual(plan({ candidates, nodes }).blocked[0]?.reason, 'NoTarget');
});

test('one that somebody else has sent elsewhere already is left to them', () => {
  const { moves, waiting } = plan({ candidates: [one('1', { nodeName: 'node-c' })] });
  assert.deepEqual([moves.length, waiting], [0, 1]);
});
