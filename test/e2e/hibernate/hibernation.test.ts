import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, suite, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { SetRig } from '../../support/set-rig.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { hibernationOf } from './hibernation-hand.ts';

suite('a VM that a CocoonHibernation has put to sleep', { concurrency: 3 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  test('hibernate/AS-28 it does not move while it sleeps; woken, it runs where it was and then moves', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const hibernation = await hibernationOf(set, 'Hibernate');
    await hibernation.is('Hibernated');
    const asleep = await set.pod();
    await set.move('b');
    await set.shows('HibernationOwnsPod');
    await stays(
      'left where it is',
      async () => {
        const [pod, tag] = [await set.pod(), await set.tag()];
        return pod?.uid === asleep?.uid && pod?.hibernate === true && tag.state === 'present';
      },
      2_000,
    );
    await hibernation.wants('Wake');
    await set.settles('b');
    await hibernation.is('Active');
    assert.deepEqual(await set.tag(), { state: 'absent' });
    assertOrder(scenario.timeline, [
      { what: 'vm-stopped', why: 'hibernated', node: scenario.node('a') },
      { what: 'vm-started', node: scenario.node('a') },
      { what: 'tag-deleted', vm: set.vmName },
      { what: 'set-phase', phase: 'Migrating' },
      { what: 'vm-stopped', why: 'hibernated', node: scenario.node('a') },
      { what: 'vm-started', node: scenario.node('b') },
      { what: 'tag-deleted', vm: set.vmName },
    ]);
    scenario.check();
  });

  for (const [name, gapMs] of [
    ['at once', 0],
    ['after 300 ms', 300],
    ['after 1 s', 1_000],
    ['after 3 s', 3_000],
  ] as const)
    test(`case/23 a wish that is turned round ${name} and back again is carried out in order`, async () => {
      const scenario = await rig.scenario({ agents: { saveMs: 400, pushMs: 400, restoreMs: 400, removeMs: 200 } });
      const set = await scenario.set();
      const hibernation = await hibernationOf(set, 'Hibernate');
      for (const wish of ['Wake', 'Hibernate', 'Wake', 'Hibernate'] as const) {
        await sleep(gapMs);
        await hibernation.wants(wish);
      }
      await hibernation.is('Hibernated');
      assert.equal((await set.tag()).state, 'present');
      assert.deepEqual(set.vms(), []);
      await hibernation.wants('Wake');
      await hibernation.is('Active');
      await set.settles('a');
      assert.deepEqual(await set.tag(), { state: 'absent' });
      scenario.check();
    });

  test('case/24 the Pod of a sleeping VM is deleted: its successor restores it and lets it sleep again', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const hibernation = await hibernationOf(set, 'Hibernate');
    await hibernation.is('Hibernated');
    const { uid } = (await set.pod()) ?? assert.fail('there is no Pod');
    await rig.admin.remove(resources.pod, set.namespace, set.podName);
    const pod = await waitFor('another Pod', async () => {
      const now = await set.pod();
      return now === undefined || now.uid === uid ? undefined : now;
    });
    assert.ok(pod.restore);
    await waitFor('the VM to be restored', () => scenario.timeline.entries({ what: 'vm-started' }).length === 2);
    await waitFor('it to sleep again', async () => {
      const [now, tag] = [await set.pod(), await set.tag()];
      return now?.hibernate === true && now.lifecycle?.state === 'hibernated' && tag.state === 'present';
    });
    assert.deepEqual(set.vms(), []);
    await hibernation.is('Hibernated');
    await hibernation.wants('Wake');
    await hibernation.is('Active');
    await set.settles();
    assert.deepEqual(await set.tag(), { state: 'absent' });
    scenario.check();
  });

  test('case/24 the Pod of a sleeping VM is deleted while the registry is silent: no proof, no Pod', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    await set.patch({ suspend: true });
    await set.isPhase('Suspended');
    const { uid } = (await set.pod()) ?? assert.fail('there is no Pod');
    const silent = rig.registryProxy.faults.readsFail({ repository: set.vmName });
    await rig.admin.remove(resources.pod, set.namespace, set.podName);
    await waitFor('the Pod to be gone', async () => (await set.pod())?.uid !== uid);
    await stays('without a Pod', async () => (await set.podObject()) === undefined, 2_000);
    silent.remove();
    await waitFor('a Pod that restores', async () => (await set.pod())?.restore);
    await set.isPhase('Suspended');
    await set.patch({ suspend: undefined });
    await set.settles();
    await waitFor('the tag to be dropped', async () => (await set.tag()).state === 'absent');
    scenario.check();
  });
});
