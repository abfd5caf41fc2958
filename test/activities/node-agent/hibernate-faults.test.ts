import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { readTag } from '../../../activities/registry/snapshot.ts';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { assertOrder, assertPromises } from '../../support/set-timeline.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { eventsOf, hibernate, runningVm, wake, type OneVm } from './builders.ts';
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
const stateOf = async (vm: string): Promise<string> => (await readTag(rig.tags, vm, 'hibernate')).state;
const keyOf = (one: OneVm): string => `${rig.namespace}/${one.pod}`;

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
      assert.ok((await eventsOf(rig, one)).includes(reason));
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
      (await eventsOf(rig, one)).filter((reason) => reason === 'HibernateUnsupported'),
      ['HibernateUnsupported'],
    );
  });
});
