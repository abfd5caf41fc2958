import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewOf, type PodView } from '../../sim/node-agent/pod-view.ts';
import { annotationOf, parseFault } from '../../sim/node-agent/switches.ts';
import { taskFor, track, type Tracked } from '../../sim/node-agent/tracked.ts';

const pod = (more: Partial<PodView> = {}): PodView => ({
  ...viewOf({ metadata: { name: 'web-0', namespace: 'demo', uid: 'u1', resourceVersion: '1', creationTimestamp: '' } }),
  managed: true,
  ...more,
});
const tracked = (more: Partial<Tracked> = {}): Tracked => ({ ...track(pod()), ...more });
const up = tracked({ stage: 'up', vmId: 'vm-1', isTold: true });
const asleep = tracked({ stage: 'asleep', isTold: true });

test('what there is to do follows from the Pod and what the agent remembers', () => {
  const rows: readonly (readonly [PodView | undefined, Tracked | undefined, boolean, string | undefined])[] = [
    [undefined, undefined, false, undefined],
    [undefined, up, true, 'vanished'],
    [pod({ uid: 'u2' }), up, true, 'vanished'],
    [pod({ isDeleting: true }), up, true, 'remove'],
    [pod({ isDeleting: true }), undefined, false, 'remove'],
    [pod({ isOver: true }), up, false, undefined],
    [pod(), undefined, false, 'create'],
    [pod({ hibernate: true }), undefined, false, 'create'],
    [pod(), tracked(), false, 'create'],
    [pod(), up, true, undefined],
    [pod(), up, false, 'vm-gone'],
    [pod({ hibernate: true }), up, true, 'hibernate'],
    [pod({ hibernate: true, managed: false }), up, true, undefined],
    [pod({ hibernate: true }), { ...up, hasRefused: true }, true, undefined],
    [pod(), { ...up, isTold: false }, true, 'announce'],
    [pod({ stamp: 2 }), up, true, 'publish'],
    [pod({ stamp: 2 }), { ...up, said: { state: 'ready', message: '', generation: 2 } }, true, undefined],
    [pod({ hibernate: true }), asleep, false, undefined],
    [pod(), asleep, false, 'wake'],
    [pod(), { ...asleep, isTold: false }, false, 'settle'],
    [pod({ hibernate: true, stamp: 3 }), asleep, false, 'publish'],
  ];
  for (const [one, memory, hasVm, task] of rows)
    assert.equal(
      taskFor(one, memory, () => hasVm),
      task,
      JSON.stringify([one, memory?.stage]),
    );
});

test('annotations say how often and how long', () => {
  assert.equal(annotationOf('removalDelay'), 'test/agent-removal-delay');
  assert.deepEqual(parseFault('saveFails', '3'), { times: 3, delayMs: 0 });
  assert.deepEqual(parseFault('saveFails', 'true'), { times: Infinity, delayMs: 0 });
  assert.deepEqual(parseFault('removalDelay', '5s'), { times: Infinity, delayMs: 5_000 });
  assert.deepEqual(parseFault('pushFails', '2 500ms'), { times: 2, delayMs: 500 });
  assert.deepEqual(parseFault('killAt', 'hibernate-5 2s'), { times: 1, delayMs: 2_000, step: 'hibernate-5' });
  assert.throws(() => parseFault('killAt', '3'), /Steps are: create-1/);
  assert.throws(() => parseFault('saveFails', 'yes'), /makes no sense/);
  assert.throws(() => parseFault('saveFails', 'hibernate-5'), /makes no sense/);
});
