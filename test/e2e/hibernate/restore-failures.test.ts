import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import { counterOf, isQuiet, leftOverTag } from '../../support/set-givens.ts';
import { SetRig } from '../../support/set-rig.ts';
import type { SetScenario, SetUnderTest } from '../../support/set-scenario.ts';
import { happened } from '../../support/set-steps.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { stays, waitFor } from '../../support/wait-for.ts';

suite('VMs that come up badly on their target', { concurrency: 6 }, () => {
  let rig: SetRig;
  before(
    async () =>
      (rig = await SetRig.start({ migrations: { restoreSoftMs: 3_000, restoreHardMs: 8_000, probeMs: 5_000 } })),
  );
  after(() => rig.stop());

  test('hibernate/AS-18 a restored VM that never gets its id keeps its snapshot; an agent that finds it ends the wait', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    scenario.agents.faults.set('idWriteFails', { vm: set.vmName, node: scenario.node('b'), times: Infinity });
    await set.move('b');
    await set.hasEvent('RestoreSlow');
    await set.shows('RestoreTimeout');
    await set.isPhase('Failed');
    await set.hasEvent('RestoreTimeout');
    const waiting = await set.pod();
    const [restored] = set.vms();
    assert.equal(restored?.node, scenario.node('b'));
    assert.equal(waiting?.vmId, '');
    await keepsTag(set);

    scenario.agents.faults.clear('idWriteFails');
    await scenario.agents.restart(scenario.node('b'));
    const pod = await set.settles('b');
    assert.equal(pod.uid, waiting.uid);
    assert.equal(pod.vmId, restored.id, 'it is the VM that ran there all the time');
    assert.deepEqual(await set.tag(), { state: 'absent' });
    assertOrder(scenario.timeline, [
      { what: 'set-phase', phase: 'Failed' },
      { what: 'vm-id', id: restored.id },
      { what: 'tag-deleted', by: 'vmflow' },
      { what: 'set-phase', phase: 'Running' },
    ]);
    scenario.check();
  });

  test('hibernate/AS-19 an id without a running container does not let go of the snapshot', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    scenario.agents.faults.set('neverRunning', { vm: set.vmName, node: scenario.node('b'), times: Infinity });
    await set.move('b');
    await set.is('identified, not running', (_, pod) => pod?.nodeName === scenario.node('b') && pod.vmId !== '');
    await set.hasEvent('RestoreSlow');
    assert.equal((await set.pod())?.containerRunning, false);
    await keepsTag(set);
    scenario.agents.faults.clear('neverRunning');
    await endsWell(scenario, set, 'b');
  });

  test('hibernate/AS-19 a container that is said to run from before, without an id, does not let go of the snapshot', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    scenario.agents.faults.set('staleRunning', { vm: set.vmName, node: scenario.node('b'), delayMs: 5_000 });
    await set.move('b');
    await set.is(
      'running, not identified',
      (_, pod) => pod?.nodeName === scenario.node('b') && pod.containerRunning && pod.vmId === '',
    );
    assert.deepEqual(set.vms(), [], 'there is no VM yet');
    await keepsTag(set);
    await endsWell(scenario, set, 'b');
  });

  test('hibernate/AS-19 nor does such a container of a Pod that is used again', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const old = await set.pod();
    scenario.agents.faults.set('removalDelay', { vm: set.vmName, delayMs: 3_000 });
    scenario.agents.faults.set('staleRunning', { vm: set.vmName, node: scenario.node('a'), delayMs: 5_000 });
    await set.move('b');
    await happened(set, { what: 'tag-put', vm: set.vmName });
    await set.move('a');
    await happened(set, { step: 'wake-3', vm: set.vmName });
    await set.is('running, not identified', (_, pod) => pod?.containerRunning === true && pod.vmId === '');
    assert.deepEqual(set.vms(), [], 'there is no VM yet');
    await keepsTag(set);
    const pod = await endsWell(scenario, set, 'a');
    assert.equal(pod.uid, old?.uid);
  });

  test('hibernate/AS-20 a VM without network keeps running and its snapshot is kept; retry stores it and wakes it where it is', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const fault = scenario.agents.faults.set('networkNeverSettles', {
      vm: set.vmName,
      node: scenario.node('b'),
      times: Infinity,
    });
    await set.move('b');
    await set.isPhase('Failed');
    await set.hasEvent('MainAgentFailed');
    const failed = await set.pod();
    assert.equal(failed?.lifecycle?.state, 'failed');
    assert.equal(failed.nodeName, scenario.node('b'));
    assert.ok(failed.containerRunning && failed.vmId !== '');
    assert.equal(set.vms()[0]?.id, failed.vmId);
    await keepsTag(set);

    fault.clear();
    await set.order(messages.retry);
    const pod = await set.settles('b');
    assert.equal(pod.uid, failed.uid);
    assert.notEqual(pod.vmId, failed.vmId);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const [, first, , second, , , again] = assertOrder(scenario.timeline, [
      { what: 'tag-put', by: scenario.node('a') },
      { what: 'vm-started', id: failed.vmId },
      { what: 'hibernate-set', uid: failed.uid },
      { what: 'tag-put', by: scenario.node('b') },
      { what: 'vm-stopped', why: 'hibernated', id: failed.vmId },
      { what: 'hibernate-cleared', uid: failed.uid },
      { what: 'vm-started', id: pod.vmId, node: scenario.node('b') },
      { what: 'tag-deleted', by: 'vmflow' },
      { what: 'set-phase', phase: 'Running' },
    ]);
    assert.ok(counterOf(second) > counterOf(first), 'what the VM did on b meanwhile is not lost');
    assert.equal(counterOf(again), counterOf(second));
    assert.equal(scenario.timeline.entries({ what: 'tag-deleted' }).length, 1);
    scenario.check();
  });

  test('hibernate/D25 a snapshot that was left over at a set that is settled is found in time and dropped', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    await isQuiet(set);
    const pod = await set.pod();
    const digest = await leftOverTag(set, 5);
    await waitFor('the snapshot to be dropped', async () => (await set.tag()).state === 'absent');
    const after = await set.settles('a');
    assert.deepEqual([after.uid, after.vmId], [pod?.uid, pod?.vmId], 'the VM runs on as before');
    assertOrder(scenario.timeline, [
      { what: 'tag-put', digest },
      { what: 'tag-deleted', by: 'vmflow' },
    ]);
    scenario.check();
  });
});

/** For a while nobody drops the snapshot, though everything is looked at again. */
async function keepsTag(set: SetUnderTest): Promise<void> {
  await set.migration.signal(messages.poke);
  await stays('kept in its snapshot', async () => (await set.tag()).state === 'present', 1_500);
  assert.deepEqual(set.scenario.timeline.entries({ what: 'tag-deleted' }), []);
}

/** It comes up, and only then its snapshot goes. */
async function endsWell(scenario: SetScenario, set: SetUnderTest, letter: string): ReturnType<SetUnderTest['settles']> {
  const pod = await set.settles(letter);
  assert.deepEqual(await set.tag(), { state: 'absent' });
  assertOrder(scenario.timeline, [
    { what: 'vm-started', id: pod.vmId, node: scenario.node(letter) },
    { what: 'vm-id', id: pod.vmId },
    { what: 'lifecycle', state: 'ready', uid: pod.uid },
    { what: 'tag-deleted', by: 'vmflow' },
    { what: 'set-phase', phase: 'Running' },
  ]);
  scenario.check();
  return pod;
}
