import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { assertPromises } from '../../support/set-timeline.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { eventsOf, hibernate, oneVm, runningVm, sleepingVm, wake, type OneVm } from './builders.ts';
import { startAgentRig, type AgentRig } from './rig.ts';

let rig: AgentRig;
before(async () => {
  rig = await startAgentRig({ retryMaxMs: 200, lifecycleFlushMs: 400, networkBudgetMs: 200 });
});
afterEach(() => {
  rig.agents.faults.clear();
  rig.proxy.clearRules();
  assertPromises(rig.agents.timeline);
});
after(() => rig.stop());

const idsOf = (vm: string): readonly string[] => rig.agents.vms(vm).map(({ id }) => id);
const running = (set: string, notes: Readonly<Record<string, string>> = {}): Promise<OneVm> =>
  runningVm(rig, set, notes);
const sleeping = (set: string): Promise<OneVm> => sleepingVm(rig, set);

describe('while it brings a VM up, an agent', () => {
  for (const fault of ['downloadMissing', 'downloadRefused', 'downloadSpoilt', 'createFails'] as const)
    test(`whose ${fault} twice tries again and boots nothing meanwhile (A8)`, async () => {
      const one = await sleeping(`a8-${fault.toLowerCase()}`);
      const handle = rig.agents.faults.set(fault, { vm: one.vm, times: 2 });
      await one.note(wake);
      await one.until('failed', ({ lifecycle }) => lifecycle === 'failed');
      await one.ready();
      assert.equal(handle.struck(), 2);
      assert.equal(rig.agents.timeline.entries({ what: 'vm-started', vm: one.vm }).length, 2);
    });

  test('that can not write the id runs the VM without one until it starts anew (A9)', async () => {
    const one = await sleeping('a9');
    const handle = rig.agents.faults.set('idWriteFails', { vm: one.vm, times: Infinity });
    await one.note(wake);
    assert.equal((await one.ready()).vmId, '');
    assert.equal(idsOf(one.vm).length, 1);
    handle.clear();
    await rig.agents.restart('node-a');
    const pod = await one.until('known', ({ vmId, lifecycle }) => vmId !== '' && lifecycle === 'ready');
    assert.deepEqual(idsOf(one.vm), [pod.vmId]);
  });

  test('that never says that the container runs has an id all the same (A10)', async () => {
    const one = await sleeping('a10');
    const handle = rig.agents.faults.set('neverRunning', { vm: one.vm, times: Infinity });
    await one.note(wake);
    await one.until('known', ({ vmId }) => vmId !== '');
    await stays('not running', async () => (await one.read())?.containerRunning === false, 300);
    handle.clear();
    await one.ready();
  });

  test('says of an old container that it runs, before there is a VM (A11)', async () => {
    const one = await sleeping('a11');
    rig.agents.faults.set('staleRunning', { vm: one.vm, delayMs: 400 });
    await one.note(wake);
    await one.until('said to run', ({ containerRunning }) => containerRunning);
    assert.deepEqual([idsOf(one.vm), (await one.read())?.vmId], [[], '']);
    await one.ready();
  });

  test('without a network says that it failed and keeps the VM, until that is hibernated and woken (A12)', async () => {
    const one = await sleeping('a12');
    rig.agents.faults.set('networkNeverSettles', { vm: one.vm });
    await one.note(wake);
    const pod = await one.until('failed', ({ lifecycle }) => lifecycle === 'failed');
    assert.ok(pod.vmId !== '' && pod.containerRunning);
    await one.note({ [cocoonKeys.generation]: '2' });
    const later = await one.until('told again', ({ lifecycleGeneration }) => lifecycleGeneration === 2);
    assert.equal(later.lifecycle, 'failed');
    await one.note(hibernate);
    await one.asleep();
    await one.note(wake);
    await one.ready();
  });

  test('for a class of CPUs that the node has not got makes none, nor without a name', async () => {
    const nameless = oneVm(rig, 'nameless');
    await nameless.create({ node: 'node-a', annotations: { [cocoonKeys.vmName]: '' } });
    const pod = await nameless.until('failed', ({ lifecycle }) => lifecycle === 'failed');
    assert.match(pod.lifecycleMessage, /has no VM name/);
    const picky = oneVm(rig, 'picky');
    await picky.create({ boundTo: 'node-a', snapshotClass: 'zen4' });
    assert.match((await picky.until('failed', ({ lifecycle }) => lifecycle === 'failed')).lifecycleMessage, /zen4/);
    for (const one of [nameless, picky]) {
      assert.deepEqual(idsOf(one.vm), []);
      await one.remove();
      await one.untilGone();
    }
  });

  test('leaves a VM alone that somebody else manages', async () => {
    const one = oneVm(rig, 'static');
    const notes = { [cocoonKeys.managed]: 'false', [cocoonKeys.vmId]: 'theirs', [cocoonKeys.ip]: '10.0.0.9' };
    await one.create({ node: 'node-a', annotations: notes });
    const pod = await one.ready();
    assert.deepEqual([pod.vmId, pod.ip, idsOf(one.vm)], ['theirs', '10.0.0.9', []]);
    await one.note(hibernate);
    await stays('as it was', async () => (await one.read())?.lifecycle === 'ready', 200);
    await one.remove();
    await one.untilGone();
  });
});

describe('when a Pod is deleted, an agent', () => {
  test('that hangs leaves it Terminating until it recovers (A13)', async () => {
    const one = await sleeping('a13');
    const handle = rig.agents.faults.set('deletionHangs', { vm: one.vm, times: Infinity });
    await one.remove();
    await stays('Terminating', async () => (await one.read())?.isDeleting === true, 300);
    handle.clear();
    await one.untilGone();
  });

  test('that can not remove the VM keeps the Pod Terminating and tries again', async () => {
    const one = await running('undestroyed');
    rig.agents.timeline.giveUp(one.vm, 'set deleted');
    const handle = rig.agents.faults.set('destroyFails', { vm: one.vm, times: 2 });
    await one.remove();
    await one.until('failed', ({ lifecycle, isDeleting }) => isDeleting && lifecycle === 'failed');
    await one.untilGone();
    assert.deepEqual([handle.struck(), idsOf(one.vm)], [2, []]);
  });

  test('lets it go at once while its VM is being restored, and removes that afterwards', async () => {
    const one = await sleeping('restoring');
    rig.agents.faults.set('restoreStalls', { vm: one.vm, delayMs: 800 });
    await one.note(wake);
    await waitFor('the restore', () => rig.agents.timeline.entries({ what: 'step', vm: one.vm, step: 'wake-4' })[0]);
    rig.agents.timeline.giveUp(one.vm, 'loss acknowledged');
    await one.remove();
    await one.untilGone();
    assert.deepEqual(idsOf(one.vm), []);
    await waitFor('the VM', () => rig.agents.timeline.entries({ what: 'vm-started', vm: one.vm })[1]);
    rig.agents.timeline.giveUp(one.vm, 'loss acknowledged');
    await waitFor('the removal', () => rig.agents.timeline.entries({ what: 'vm-stopped', vm: one.vm })[1]);
  });
});

describe('a node', () => {
  const readiness = async (node: string): Promise<unknown> => {
    const object = await rig.cluster.get(resources.node, '', node);
    const conditions = (object?.status?.['conditions'] ?? []) as readonly { type: string; status: string }[];
    const taints = (object?.spec?.['taints'] ?? []) as readonly { key: string }[];
    const isTainted = taints.some(({ key }) => key === 'node.kubernetes.io/unreachable');
    return object === undefined ? 'gone' : [conditions.find(({ type }) => type === 'Ready')?.status, isTainted];
  };

  for (const deleteNode of [false, true])
    test(`whose agent is silent ${deleteNode ? 'can be gone (A14b)' : 'is of unknown readiness (A14)'}; later it goes on`, async () => {
      const one = oneVm(rig, deleteNode ? 'a14b' : 'a14');
      await one.create({ node: 'node-c' });
      await one.ready();
      await rig.agents.silence('node-c', { afterMs: 20, deleteNode });
      assert.deepEqual(await readiness('node-c'), deleteNode ? 'gone' : ['Unknown', true]);
      await one.note(hibernate);
      await stays('not listened to', async () => (await one.read())?.lifecycle === 'ready', 200);
      await rig.agents.unsilence('node-c');
      assert.deepEqual(await readiness('node-c'), ['True', false]);
      await one.asleep();
    });

  test('loses a VM that dies, and its Pod with it (A15)', async () => {
    const one = await running('a15');
    rig.agents.dieVm(one.vm);
    await one.untilGone();
    assert.ok((await eventsOf(rig, one)).includes('VMGone'));
    assert.deepEqual(idsOf(one.vm), []);
    const later = oneVm(rig, 'a15-later');
    rig.agents.faults.set('vmDies', { vm: later.vm, delayMs: 300 });
    await later.create({ node: 'node-a' });
    await later.ready();
    await later.untilGone();
  });

  test('is silent while its annotation says so', async () => {
    const note = (value: string | null): Promise<unknown> => {
      const body = { metadata: { annotations: { 'test/agent-silent': value } } };
      return rig.kubernetes.admin.send('PATCH', '/api/v1/nodes/node-b', body, 'application/merge-patch+json');
    };
    await note('true');
    await waitFor('silence', async () => JSON.stringify(await readiness('node-b')) === '["Unknown",true]');
    await note(null);
    await waitFor('a sign of life', async () => JSON.stringify(await readiness('node-b')) === '["True",false]');
  });

  test('and a Pod can say by annotations what goes wrong', async () => {
    const one = await running('noted', { 'test/agent-save-fails': '1', 'test/agent-removal-delay': '300ms' });
    const { admin } = rig.kubernetes;
    const note = async (value: string | null): Promise<void> => {
      const body = { metadata: { annotations: { 'test/agent-push-fails': value } } };
      await admin.send('PATCH', '/api/v1/nodes/node-a', body, 'application/merge-patch+json');
    };
    await note('1');
    await one.note(hibernate);
    await one.asleep();
    const reasons = await eventsOf(rig, one);
    assert.ok(reasons.includes('HibernateSnapshotFailed') && reasons.includes('HibernatePushFailed'), reasons.join());
    const [put] = rig.agents.timeline.entries({ what: 'tag-put', vm: one.vm });
    const [stop] = rig.agents.timeline.entries({ what: 'vm-stopped', vm: one.vm });
    assert.ok((stop?.at ?? 0) - (put?.at ?? 0) >= 300);
    await note(null);
  });
});
