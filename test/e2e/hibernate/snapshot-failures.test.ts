import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import { counterOf, migrationsOf } from '../../support/set-givens.ts';
import { SetRig } from '../../support/set-rig.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { waitFor } from '../../support/wait-for.ts';

suite('VMs that can not be stored', { concurrency: 2 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start({ migrations: { quiesceSoftMs: 4_000, quiesceHardMs: 20_000 } })));
  after(() => rig.stop());

  test('hibernate/AS-16 an upload that fails three times leaves the VM running; the fourth moves it', async () => {
    const scenario = await rig.scenario({ agents: { retryFirstMs: 1_000, retryMaxMs: 1_500 } });
    const set = await scenario.set();
    const old = await set.pod();
    const fault = scenario.agents.faults.set('pushFails', { vm: set.vmName, times: 3 });
    await set.move('b');
    const failures = (): number =>
      scenario.timeline.entries({ what: 'lifecycle', state: 'failed', uid: old?.uid }).length;
    for (const tries of [1, 2, 3]) {
      await waitFor(`failure ${tries}`, () => failures() >= tries, { intervalMs: 10 });
      assert.deepEqual(
        set.vms().map(({ id, node }) => [id, node]),
        [[old?.vmId, scenario.node('a')]],
      );
      assert.equal((await set.pod())?.vmId, old?.vmId);
    }
    await set.hasEvent('SnapshotFailed');
    const pod = await set.settles('b');
    assert.equal(fault.struck(), 3);
    assert.notEqual(pod.vmId, old?.vmId);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const told = (await set.events()).find(({ reason }) => reason === 'SnapshotFailed');
    assert.equal(told?.type, 'Warning');
    assert.match(told.message, /the upload broke off/);
    assert.equal(scenario.timeline.entries({ what: 'tag-put' }).length, 1);
    assert.equal(scenario.timeline.entries({ what: 'hibernate-set' }).length, 1);
    assert.deepEqual(scenario.timeline.entries({ what: 'hibernate-cleared' }), [], 'it is not told to stop meanwhile');
    assert.equal(await migrationsOf(set), 1);
    scenario.check();
  });

  test('hibernate/AS-17 a VM that can never be stored is left running after the deadline, until somebody says retry', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const old = await set.pod();
    const fault = scenario.agents.faults.set('pushFails', { vm: set.vmName, times: Infinity });
    await set.move('b');
    const shown = await set.shows('QuiesceTimeout');
    assert.equal(shown.status, 'False');
    await set.is(
      'failed, its VM running as before',
      ({ status }, pod) =>
        status?.['phase'] === 'Failed' && pod?.hibernate === false && pod.vmId === old?.vmId && pod.containerRunning,
    );
    assert.equal((await set.pod())?.uid, old?.uid);
    assert.deepEqual(
      set.vms().map(({ id, node, state }) => [id, node, state]),
      [[old?.vmId, scenario.node('a'), 'running']],
    );
    await set.hasEvent('QuiesceTimeout');
    const { waitingFor, conflict } = await set.migrationStatus();
    assert.equal(waitingFor, 'person');
    assert.equal(conflict?.code, 'QuiesceTimeout');
    assertOrder(scenario.timeline, [{ what: 'hibernate-set' }, { what: 'hibernate-cleared' }]);

    fault.clear();
    await set.grace(1_000);
    assert.equal((await set.pod())?.hibernate, false, 'nothing begins by itself again');
    await set.order(messages.retry);
    const pod = await set.settles('b');
    assert.notEqual(pod.vmId, old?.vmId);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const [, , , put, started] = assertOrder(scenario.timeline, [
      { what: 'hibernate-cleared', uid: old?.uid },
      { what: 'set-phase', phase: 'Failed' },
      { what: 'hibernate-set', uid: old?.uid },
      { what: 'tag-put', tag: 'hibernate' },
      { what: 'vm-started', node: scenario.node('b') },
    ]);
    assert.equal(counterOf(started), counterOf(put));
    assert.equal((await set.migrationResult()).outcome, 'migrated');
    scenario.check();
  });
});
