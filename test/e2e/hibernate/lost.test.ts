import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { SetUnderTest } from '../../support/set-scenario.ts';
import { SetRig } from '../../support/set-rig.ts';
import { podless } from '../../support/set-steps.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { stays } from '../../support/wait-for.ts';
import { removeTag } from './registry-hand.ts';

suite('what a migration relies on is gone, or somebody else’s', { concurrency: 3 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  /** Without a Pod, and somebody deletes the tag. Answers how to put it back. */
  async function lose(set: SetUnderTest): Promise<() => Promise<void>> {
    const goOn = await podless(set);
    const putBack = await removeTag(rig.registry.url, set.vmName);
    await goOn();
    await set.shows('SnapshotMissing');
    await set.isPhase('Failed');
    return putBack;
  }

  test('hibernate/AS-35 a snapshot that vanished is told and waited for; it is restored when it comes back', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const putBack = await lose(set);
    await set.hasEvent('SnapshotMissing');
    await stays('without a Pod', async () => (await set.podObject()) === undefined, 1_500);
    const { conflict, next } = await set.migrationStatus();
    assert.equal(conflict?.code, 'SnapshotMissing');
    assert.deepEqual(
      conflict.options.map(({ decision }) => decision),
      ['retry', 'acknowledge-loss'],
    );
    assert.ok(next.some((command) => command.includes('acknowledge-loss')));
    await putBack();
    const pod = await set.settles('b');
    assert.ok(pod.restore);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    scenario.check();
  });

  test('hibernate/AS-35 a person who gives up the state of a VM gets a fresh one, and an event says so', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    await lose(set);
    await assert.rejects(set.order('acknowledgeLoss', { setUid: 'another' }), ({ cause }: Error) =>
      /UID/.test(String(cause)),
    );
    await stays('without a Pod', async () => (await set.podObject()) === undefined, 1_000);
    scenario.timeline.giveUp(set.vmName, 'loss acknowledged');
    await set.order('acknowledgeLoss', { setUid: (await set.read())?.metadata.uid ?? '' });
    const pod = await set.settles('b');
    assert.ok(!pod.restore);
    await set.hasEvent('FreshBootAcknowledged');
    const fresh = scenario.timeline.entries({ what: 'vm-started' }).at(-1);
    assert.ok(fresh?.what === 'vm-started');
    assert.deepEqual([fresh.id, fresh.counter, fresh.restoredFrom], [pod.vmId, 0, undefined]);
    scenario.check();
  });

  test('hibernate/AS-36 a Pod of somebody else under the name is left alone; when it goes the VM comes up', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const goOn = await podless(set);
    const foreign = await rig.admin.create(resources.pod, set.namespace, {
      metadata: { name: set.podName, namespace: set.namespace },
      spec: { containers: [{ name: 'other', image: 'other' }] },
    });
    await goOn();
    await set.shows('PodNameConflict');
    await set.hasEvent('PodNameConflict');
    await stays(
      'left alone',
      async () => {
        const pod = await set.podObject();
        return pod?.metadata.uid === foreign.metadata.uid && pod.metadata.deletionTimestamp === undefined;
      },
      1_500,
    );
    assert.deepEqual((await set.podObject())?.metadata.annotations ?? {}, {});
    assert.equal((await set.tag()).state, 'present');
    await rig.admin.remove(resources.pod, set.namespace, set.podName);
    const pod = await set.settles('b');
    assert.ok(pod.restore);
    assertOrder(scenario.timeline, [
      { what: 'pod-gone', uid: foreign.metadata.uid },
      { what: 'pod-created', uid: pod.uid },
      { what: 'tag-deleted', vm: set.vmName },
    ]);
    scenario.check();
  });

  test('hibernate/AS-29 an image changed while there is no Pod: the old state goes, told as such, and a fresh VM boots', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const goOn = await podless(set);
    scenario.timeline.giveUp(set.vmName, 'image edited');
    await set.patch({ agent: { image: 'base:2' } });
    await goOn();
    const pod = await set.settles('b');
    await set.hasEvent('SnapshotDiscarded');
    assert.deepEqual(await set.tag(), { state: 'absent' });
    assert.ok(!pod.restore);
    const [, fresh, ...others] = scenario.timeline.entries({ what: 'vm-started', vm: set.vmName });
    assert.ok(fresh?.what === 'vm-started');
    assert.deepEqual(others, []);
    assert.deepEqual([fresh.node, fresh.counter, fresh.restoredFrom], [scenario.node('b'), 0, undefined]);
    assertOrder(scenario.timeline, [
      { what: 'tag-deleted', vm: set.vmName },
      { what: 'pod-created', uid: pod.uid },
    ]);
    scenario.check();
  });

  test('hibernate/AS-37 failures on the way are shown as such, and gone when the agent has managed', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    scenario.agents.configure({ retryFirstMs: 400 });
    const node = scenario.node('b');
    const { faults } = scenario.agents;
    const planned = (
      ['downloadMissing', 'downloadRefused', 'downloadSpoilt', 'createFails', 'downloadRefused'] as const
    ).map((name) => faults.set(name, { vm: set.vmName, node }));
    await set.move('b');
    await set.isPhase('Failed');
    await set.shows('MainAgentFailed');
    await set.hasEvent('MainAgentFailed');
    assert.equal((await set.tag()).state, 'present');
    await set.settles('b');
    assert.ok(planned.every((fault) => fault.struck() === 1));
    assert.deepEqual(await set.tag(), { state: 'absent' });
    assert.equal((await set.migrationResult()).outcome, 'migrated');
    assertOrder(scenario.timeline, [
      { what: 'set-phase', phase: 'Migrating' },
      { what: 'set-phase', phase: 'Failed' },
      { what: 'tag-deleted', vm: set.vmName },
      { what: 'set-phase', phase: 'Running' },
    ]);
    assert.equal(scenario.timeline.entries({ what: 'pod-created' }).length, 2);
    scenario.check();
  });
});
