import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { readTag } from '../../../activities/registry/snapshot.ts';
import { steps, type Step } from '../../sim/node-agent/steps.ts';
import { assertPromises } from '../../support/set-timeline.ts';
import { waitFor } from '../../support/wait-for.ts';
import { hibernate, runningVm, sleepingVm, wake, type OneVm } from './builders.ts';
import { startAgentRig, type AgentRig } from './rig.ts';

let rig: AgentRig;
before(async () => {
  rig = await startAgentRig({ retryMaxMs: 200 });
});
afterEach(() => {
  rig.agents.faults.clear();
  assertPromises(rig.agents.timeline);
});
after(() => rig.stop());

const idsOf = (vm: string): readonly string[] => rig.agents.vms(vm).map(({ id }) => id);
const running = (set: string, notes: Readonly<Record<string, string>> = {}): Promise<OneVm> =>
  runningVm(rig, set, notes);
const sleeping = (set: string): Promise<OneVm> => sleepingVm(rig, set);
const started = (vm: string): number => rig.agents.timeline.entries({ what: 'vm-started', vm }).length;

/** Kills the agent when it comes to this step for this VM; it starts again a little later. */
const killAt = (one: OneVm, step: Step) => rig.agents.faults.set('killAt', { vm: one.vm, step, delayMs: 50 });

const stepsOf = (work: string): readonly Step[] => steps.filter((step) => step.startsWith(`${work}-`));

describe('an agent that is killed', () => {
  for (const step of stepsOf('hibernate'))
    test(`at ${step} ends with a VM that is asleep, after it was started again (A7)`, async () => {
      const one = await running(step);
      const kill = killAt(one, step);
      await one.note(hibernate);
      await waitFor('the kill', () => kill.struck() === 1);
      const pod = await one.asleep();
      assert.deepEqual([pod.vmId, idsOf(one.vm)], ['', []]);
      assert.equal((await readTag(rig.tags, one.vm, 'hibernate')).state, 'present');
      await one.note(wake);
      await one.ready();
    });

  for (const step of stepsOf('wake'))
    test(`at ${step} ends with one VM, restored (A7)`, async () => {
      const one = await sleeping(step);
      const kill = killAt(one, step);
      await one.note(wake);
      await waitFor('the kill', () => kill.struck() === 1);
      const pod = await one.ready();
      assert.deepEqual(idsOf(one.vm), [pod.vmId]);
      assert.equal(started(one.vm), 2);
    });

  for (const step of stepsOf('create'))
    test(`at ${step} ends with one VM, restored on the node of its new Pod (A7)`, async () => {
      const one = await sleeping(step);
      await one.remove();
      await one.untilGone();
      const kill = killAt(one, step);
      await one.create({ node: 'node-a', restore: true });
      await waitFor('the kill', () => kill.struck() === 1);
      const pod = await one.ready();
      assert.deepEqual(idsOf(one.vm), [pod.vmId]);
      assert.equal(started(one.vm), 2);
    });

  for (const step of stepsOf('delete'))
    test(`at ${step} ends without Pod and VM (A7)`, async () => {
      const one = await running(step, { 'cocoonset.cocoonstack.io/snapshot-policy': 'always' });
      rig.agents.timeline.giveUp(one.vm, 'set deleted');
      const kill = killAt(one, step);
      await one.remove();
      await waitFor('the kill', () => kill.struck() === 1);
      await one.untilGone();
      assert.deepEqual(idsOf(one.vm), []);
      assert.equal((await readTag(rig.tags, one.vm, 'latest')).state, 'present');
    });

  test('while its VM hibernates finds it running when that is not wanted any more', async () => {
    const one = await running('changed');
    const [id] = idsOf(one.vm);
    rig.agents.faults.set('killAt', { vm: one.vm, step: 'hibernate-5' });
    await one.note(hibernate);
    await waitFor('the kill', () => !rig.agents.isRunning('node-a'));
    await one.note(wake);
    await rig.agents.restart('node-a');
    const pod = await one.until('known', ({ vmId, lifecycle }) => vmId !== '' && lifecycle === 'ready');
    assert.deepEqual([[pod.vmId], idsOf(one.vm)], [[id], [id]]);
  });

  test('leaves its VMs running, and knows them when it starts again', async () => {
    const one = await running('quiet');
    const { vmId } = await one.ready();
    rig.agents.kill('node-a');
    const counter = rig.agents.vms(one.vm)[0]?.counter ?? 0;
    await waitFor('the guest to go on', () => (rig.agents.vms(one.vm)[0]?.counter ?? 0) > counter);
    await rig.agents.restart('node-a');
    await one.note({ ...hibernate });
    await one.asleep();
    const [stop] = rig.agents.timeline.entries({ what: 'vm-stopped', vm: one.vm });
    assert.equal(stop?.what === 'vm-stopped' ? stop.id : undefined, vmId);
  });

  test('while the API server is away starts again once that is back', async () => {
    const one = await running('away');
    rig.agents.faults.set('killAt', { vm: one.vm, step: 'hibernate-3-blobs', delayMs: 20 });
    rig.agents.faults.set('pushStalls', { vm: one.vm, delayMs: 200 });
    await one.note(hibernate);
    await waitFor(
      'the upload',
      () => rig.agents.timeline.entries({ what: 'step', vm: one.vm, step: 'hibernate-3' })[0],
    );
    await rig.kubernetes.kill();
    await waitFor('the kill', () => !rig.agents.isRunning('node-a'));
    await rig.kubernetes.restart();
    await one.asleep();
  });

  for (const [policy, isLeft] of [
    ['keep', true],
    ['destroy', false],
  ] as const)
    test(`does with a VM whose Pod went meanwhile as its policy says: ${policy}`, async () => {
      const one = await sleeping(`orphan-${policy}`);
      await one.note(wake);
      await one.ready();
      rig.agents.kill('node-a');
      await one.remove();
      await rig.kubernetes.admin.send(
        'DELETE',
        `/api/v1/namespaces/${rig.namespace}/pods/${one.pod}?gracePeriodSeconds=0`,
      );
      await one.untilGone();
      rig.agents.configure({ orphans: policy });
      rig.agents.timeline.giveUp(one.vm, 'set deleted');
      await rig.agents.restart('node-a');
      assert.equal(idsOf(one.vm).length, isLeft ? 1 : 0);
      rig.agents.configure({ orphans: 'destroy' });
    });
});
