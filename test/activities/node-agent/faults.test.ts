import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { readTag } from '../../../activities/registry/snapshot.ts';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { assertOrder, assertPromises } from '../../support/set-timeline.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { hibernate, oneVm, startAgentRig, wake, type AgentRig, type OneVm } from './builders.ts';

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
const stateOf = async (vm: string): Promise<string> => (await readTag(rig.tags, vm, 'hibernate')).state;
const keyOf = (one: OneVm): string => `${rig.namespace}/${one.pod}`;

async function eventsOf(one: OneVm): Promise<readonly string[]> {
  const events = await rig.kubernetes.admin.send('GET', `/api/v1/namespaces/${rig.namespace}/events`);
  const { items } = events.body as { items: readonly { reason: string; involvedObject: { name: string } }[] };
  return items.filter(({ involvedObject }) => involvedObject.name === one.pod).map(({ reason }) => reason);
}

async function running(set: string, annotations: Readonly<Record<string, string>> = {}): Promise<OneVm> {
  const one = oneVm(rig, set);
  await one.create({ node: 'node-a', annotations });
  await one.ready();
  return one;
}

async function sleeping(set: string): Promise<OneVm> {
  const one = await running(set);
  await one.note(hibernate);
  await one.asleep();
  return one;
}

describe('while it hibernates a VM, an agent', () => {
  for (const [fault, reason] of [
    ['saveFails', 'HibernateSnapshotFailed'],
    ['pushFails', 'HibernatePushFailed'],
  ] as const)
    test(`whose ${fault} twice tries again and leaves the VM running meanwhile`, async () => {
      const one = await running(`a-${fault.toLowerCase()}`);
      const [id] = idsOf(one.vm);
      const handle = rig.agents.faults.set(fault, { vm: one.vm, times: 2 });
      await one.note(hibernate);
      await one.until('failed', ({ lifecycle, vmId }) => lifecycle === 'failed' && vmId === id);
      assert.deepEqual([idsOf(one.vm), await stateOf(one.vm)], [[id], 'absent']);
      await one.asleep();
      assert.equal(handle.struck(), 2);
      assert.equal(rig.agents.timeline.entries({ what: 'tag-put', vm: one.vm }).length, 1);
      assert.ok((await eventsOf(one)).includes(reason));
    });

  test('that takes long to remove the VM has the tag and the VM for a time (A3)', async () => {
    const one = await running('a3');
    rig.agents.faults.set('removalDelay', { vm: one.vm, delayMs: 600 });
    await one.note(hibernate);
    await waitFor('the tag', async () => (await stateOf(one.vm)) === 'present');
    assert.equal((await one.read())?.lifecycle, 'hibernating');
    assert.equal(idsOf(one.vm).length, 1);
    await one.asleep();
  });

  test('that can not remove the VM takes the tag back and begins again (A4)', async () => {
    const one = await running('a4');
    const [id] = idsOf(one.vm);
    rig.agents.faults.set('removalFails', { vm: one.vm });
    await one.note(hibernate);
    await one.asleep();
    assertOrder(rig.agents.timeline, [
      { what: 'tag-put', vm: one.vm },
      { what: 'vm-id', pod: keyOf(one), id: '' },
      { what: 'tag-deleted', vm: one.vm, by: 'node-a' },
      { what: 'vm-id', pod: keyOf(one), id },
      { what: 'lifecycle', pod: keyOf(one), state: 'failed' },
      { what: 'tag-put', vm: one.vm },
      { what: 'vm-stopped', vm: one.vm, why: 'hibernated' },
    ]);
  });

  test('that can not take the tag back either leaves it beside the live VM (A4b)', async () => {
    const one = await running('a4b');
    rig.agents.faults.set('removalFails', { vm: one.vm, times: Infinity });
    rig.agents.faults.set('rollbackFails', { vm: one.vm, times: Infinity });
    await one.note(hibernate);
    await one.until('failed', ({ lifecycle }) => lifecycle === 'failed');
    await one.note(wake);
    await one.until('live', ({ vmId, hibernate: asked }) => !asked && vmId !== '');
    await waitFor('the agent to rest', async () => (await one.read())?.lifecycle === 'failed');
    assert.deepEqual([idsOf(one.vm).length, await stateOf(one.vm)], [1, 'present']);
  });

  test('that can not take the id off does so after the removal (A5)', async () => {
    const one = await running('a5');
    rig.agents.faults.set('clearIdFails', { vm: one.vm });
    await one.note(hibernate);
    assert.equal((await one.asleep()).vmId, '');
    assertOrder(rig.agents.timeline, [
      { what: 'vm-stopped', vm: one.vm },
      { what: 'vm-id', pod: keyOf(one), id: '' },
    ]);
  });

  test('that loses what it says about the lifecycle says it with the next flush (A6)', async () => {
    const one = await running('a6-lost');
    rig.agents.configure({ lifecycleFlushMs: 2_000 });
    rig.agents.faults.set('removalDelay', { vm: one.vm, delayMs: 400 });
    await one.note(hibernate);
    await one.until('at it', ({ lifecycle }) => lifecycle === 'hibernating');
    rig.agents.faults.set('lifecycleLost', { vm: one.vm });
    const pod = await one.until('without a container', ({ containerRunning }) => !containerRunning);
    assert.deepEqual([pod.lifecycle, idsOf(one.vm)], ['hibernating', []]);
    await one.asleep();
    rig.agents.configure({ lifecycleFlushMs: 400 });
  });

  test('that speaks late or after the status gets to the same end (A6)', async () => {
    const one = await running('a6-late');
    rig.agents.faults.set('lifecycleDelay', { vm: one.vm, delayMs: 100 });
    await one.note(hibernate);
    await one.asleep();
    rig.agents.faults.set('lifecycleAfterStatus', { vm: one.vm, delayMs: 200 });
    await one.note(wake);
    await one.until(
      'running while it counts as asleep',
      (pod) => pod.containerRunning && pod.lifecycle === 'hibernated',
    );
    await one.ready();
  });

  test('that tries in vain often enough waits for a change of the Pod', async () => {
    const one = await running('tired');
    rig.agents.configure({ retries: 2, retryMaxMs: 20 });
    const handle = rig.agents.faults.set('saveFails', { vm: one.vm, times: Infinity });
    await one.note(hibernate);
    await waitFor('the last try', () => handle.struck() === 3);
    await stays('given up', () => handle.struck() === 3, 200);
    handle.clear();
    await one.note({ [cocoonKeys.generation]: '2' });
    await one.asleep();
    rig.agents.configure({ retries: 20, retryMaxMs: 200 });
  });

  test('that holds the guest paused meanwhile loses nothing of what that does', async () => {
    const one = await running('held');
    rig.agents.configure({ holdPaused: true });
    rig.agents.faults.set('removalDelay', { vm: one.vm, delayMs: 300 });
    await one.note(hibernate);
    await one.asleep();
    rig.agents.configure({ holdPaused: false });
    const [put] = rig.agents.timeline.entries({ what: 'tag-put', vm: one.vm });
    const [stop] = rig.agents.timeline.entries({ what: 'vm-stopped', vm: one.vm });
    assert.ok(put?.what === 'tag-put' && stop?.what === 'vm-stopped');
    assert.equal(put.counter, stop.counter);
  });

  test('with a Mac refuses for good and leaves it running', async () => {
    const one = await running('mac', { [cocoonKeys.os]: 'macos' });
    await one.note(hibernate);
    await one.until('failed', ({ lifecycle }) => lifecycle === 'failed');
    assert.equal(idsOf(one.vm).length, 1);
    assert.deepEqual(
      (await eventsOf(one)).filter((reason) => reason === 'HibernateUnsupported'),
      ['HibernateUnsupported'],
    );
  });
});

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
    assert.ok((await eventsOf(one)).includes('VMGone'));
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
    const reasons = await eventsOf(one);
    assert.ok(reasons.includes('HibernateSnapshotFailed') && reasons.includes('HibernatePushFailed'), reasons.join());
    const [put] = rig.agents.timeline.entries({ what: 'tag-put', vm: one.vm });
    const [stop] = rig.agents.timeline.entries({ what: 'vm-stopped', vm: one.vm });
    assert.ok((stop?.at ?? 0) - (put?.at ?? 0) >= 300);
    await note(null);
  });
});
