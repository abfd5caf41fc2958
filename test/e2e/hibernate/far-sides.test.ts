import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SetRig } from '../../support/set-rig.ts';
import { podless } from '../../support/set-steps.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { hibernationOf } from './hibernation-hand.ts';

suite('far sides that are slow, silent or forbid', { concurrency: 3 }, () => {
  let rig: SetRig;
  before(
    async () =>
      (rig = await SetRig.start({
        migrations: { stuckPodMs: 1_000, cleanupSoftMs: 500, cleanupHardMs: 3_000, hibernateMs: 2_000 },
      })),
  );
  after(() => rig.stop());

  test('hibernate/AS-21 a Pod that hangs in deletion is waited for: no second one, and nothing is thrown away', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const before = await set.pod();
    const hanging = scenario.agents.faults.set('deletionHangs', { vm: set.vmName, times: Infinity });
    await set.move('b');
    await set.shows('OldPodStuck');
    await set.hasEvent('OldPodStuck');
    await stays(
      'one Pod, its snapshot kept',
      async () => {
        const [pod, tag] = [await set.pod(), await set.tag()];
        return pod?.uid === before?.uid && pod?.deletedAt !== undefined && tag.state === 'present';
      },
      1_500,
    );
    assert.equal(await set.phase(), 'Migrating');
    assert.equal((await set.writes({ verb: 'create', resource: 'pods' })).length, 1);
    hanging.clear();
    const pod = await set.settles('b');
    assert.notEqual(pod.uid, before?.uid);
    assert.equal((await set.writes({ verb: 'create', resource: 'pods' })).length, 2);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const { status, reason } = (await set.condition('Migrating')) ?? {};
    assert.deepEqual([status, reason], ['False', 'Succeeded']);
    scenario.check();
  });

  test('hibernate/AS-22 with the registry down nothing begins; once it answers the VM moves', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const silent = rig.registryProxy.faults.readsFail({ repository: set.vmName });
    await set.move('b');
    await set.shows('RegistryUnavailable');
    await stays('left as it is', async () => (await set.pod())?.hibernate === false, 1_500);
    assert.equal(await set.phase(), 'Running');
    assert.deepEqual(scenario.timeline.entries({ what: 'hibernate-set' }), []);
    silent.remove();
    await set.settles('b');
    assert.deepEqual(await set.tag(), { state: 'absent' });
    scenario.check();
  });

  test('hibernate/AS-23 with the registry down and no Pod nothing is created until it answers', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const answerAgain = await podless(set);
    await set.shows('RegistryUnavailable');
    await stays('without a Pod', async () => (await set.podObject()) === undefined, 1_500);
    assert.equal(await set.phase(), 'Migrating');
    await answerAgain();
    const pod = await set.settles('b');
    assert.ok(pod.restore);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    assertOrder(scenario.timeline, [
      { what: 'pod-gone' },
      { what: 'pod-created', uid: pod.uid },
      { what: 'tag-deleted' },
    ]);
    scenario.check();
  });

  test('hibernate/AS-24, case/29 a snapshot that may not be deleted is a debt that everybody sees; the set goes on', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const forbidden = rig.registryProxy.faults.deleteForbidden({ repository: set.vmName });
    await set.move('b');
    await set.is(
      'live on b',
      (_, pod) => pod?.nodeName === scenario.node('b') && pod.vmId !== '' && pod.lifecycle?.state === 'ready',
    );
    await set.hasEvent('RegistryForbidden');
    await set.hasEvent('SnapshotCleanupPending');
    await set.isPhase('Running');
    assert.equal((await set.tag()).state, 'present');
    const { message } = await waitFor('the debt to be shown', async () => {
      const condition = await set.condition('Migrating');
      return condition?.reason === 'RegistryForbidden' || condition?.reason === 'SnapshotCleanupPending'
        ? condition
        : undefined;
    });
    assert.notEqual(message, '');
    const debt = await set.migrationStatus();
    assert.equal(debt.status, 'CleaningUp');
    assert.equal(debt.waitingFor, 'far-side');
    assert.match(debt.message, /403|may not|forbid|refus/i);
    assert.equal(scenario.agents.vms(set.vmName).length, 1);
    forbidden.remove();
    await waitFor('the tag to be dropped', async () => (await set.tag()).state === 'absent');
    await set.settles('b');
    assert.equal((await set.migrationResult()).outcome, 'migrated');
    scenario.check();
  });

  test('case/27 a running VM that still carries the mark of sleep loses it before it counts as woken', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const before = await set.pod();
    const unsaved = scenario.agents.faults.set('saveFails', { vm: set.vmName, times: Infinity });
    const hibernation = await hibernationOf(set, 'Hibernate');
    await hibernation.is('Failed');
    assert.ok((await set.pod())?.hibernate);
    assert.equal(set.vms().length, 1);
    await hibernation.wants('Wake');
    await hibernation.is('Active');
    assert.equal((await set.pod())?.hibernate, false);
    unsaved.clear();
    await stays('awake', async () => (await set.pod())?.hibernate === false && set.vms().length === 1, 1_500);
    const pod = await set.pod();
    assert.deepEqual([pod?.uid, pod?.vmId], [before?.uid, before?.vmId]);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    scenario.check();
  });
});
