import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import { counterOf, leftOverTag, migrationsOf, olderVm } from '../../support/set-givens.ts';
import { SetRig } from '../../support/set-rig.ts';
import type { SetUnderTest } from '../../support/set-scenario.ts';
import { happened } from '../../support/set-steps.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { waitFor } from '../../support/wait-for.ts';

suite('what proves that a VM may be removed and its snapshot dropped', { concurrency: 3 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  test('hibernate/AS-03 the tag alone is not enough: the Pod stays until the agent says that the VM is gone', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const old = await set.pod();
    scenario.agents.faults.set('removalDelay', { vm: set.vmName, delayMs: 5_000 });
    await set.move('b');
    await happened(set, { what: 'tag-put', tag: 'hibernate', vm: set.vmName });
    await seesTag(set);
    assert.equal((await set.pod())?.uid, old?.uid);
    assert.deepEqual(
      set.vms().map(({ id, node }) => [id, node]),
      [[old?.vmId, scenario.node('a')]],
      'the tag was seen while the VM was still there',
    );

    await set.settles('b');
    assertOrder(scenario.timeline, [
      { what: 'tag-put', tag: 'hibernate' },
      { what: 'vm-stopped', why: 'hibernated', id: old?.vmId },
      { what: 'lifecycle', state: 'hibernated', uid: old?.uid },
      { what: 'pod-deleting', uid: old?.uid },
    ]);
    const [put] = scenario.timeline.entries({ what: 'tag-put' });
    const [deleting] = scenario.timeline.entries({ what: 'pod-deleting' });
    assert.ok((deleting?.at ?? 0) - (put?.at ?? 0) >= 4_900, 'not within the time between upload and removal');
    scenario.check();
  });

  test('hibernate/AS-04 a tag that the agent takes back is no reason to delete the Pod; its next try completes it', async () => {
    const scenario = await rig.scenario({ agents: { retryFirstMs: 1_000 } });
    const set = await scenario.set();
    const old = await set.pod();
    scenario.agents.faults.set('removalDelay', { vm: set.vmName, delayMs: 3_000 });
    scenario.agents.faults.set('removalFails', { vm: set.vmName });
    await set.move('b');
    await happened(set, { what: 'tag-put', tag: 'hibernate', vm: set.vmName });
    await seesTag(set);
    await set.settles('b');
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const [first, , second, , , , started] = assertOrder(scenario.timeline, [
      { what: 'tag-put', tag: 'hibernate' },
      { what: 'tag-deleted', reference: 'hibernate', by: scenario.node('a') },
      { what: 'tag-put', tag: 'hibernate' },
      { what: 'vm-stopped', why: 'hibernated', id: old?.vmId },
      { what: 'lifecycle', state: 'hibernated', uid: old?.uid },
      { what: 'pod-deleting', uid: old?.uid },
      { what: 'vm-started', node: scenario.node('b') },
    ]);
    assert.equal(scenario.timeline.entries({ what: 'tag-put' }).length, 2);
    assert.equal(scenario.timeline.entries({ what: 'pod-deleting' }).length, 1);
    assert.equal(
      scenario.timeline.entries({ what: 'hibernate-cleared' }).length,
      0,
      'it is not told to stop meanwhile',
    );
    assert.ok(counterOf(second) > counterOf(first));
    assert.equal(counterOf(started), counterOf(second), 'nothing is rolled back');
    assert.equal((await set.reasons()).filter((reason) => reason === 'MigrationStarted').length, 1);
    assert.equal((await set.migrationResult()).outcome, 'migrated');
    assert.equal(await migrationsOf(set), 1);
    scenario.check();
  });

  test('hibernate/AS-06 a set that is new has its Pod made for the node it asks for; that is no migration', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set('web', { spec: { nodeName: scenario.node('b') } });
    const pod = await set.settles('b');
    assert.equal(pod.restore, false);
    assert.deepEqual(pod.pinnedTo, [scenario.node('b')]);
    const [created, ...more] = await waitFor('the audit to have the Pod', async () => {
      const found = await set.writes({ verb: 'create', resource: 'pods' });
      return found.length > 0 && found;
    });
    assert.deepEqual(more, []);
    const { spec } = created?.request as { spec: { nodeName?: string } };
    assert.equal(spec.nodeName, undefined, 'the scheduler decides whether it fits');
    const phases = scenario.timeline.entries({ what: 'set-phase' }).map((entry) => 'phase' in entry && entry.phase);
    assert.deepEqual(phases, ['Pending', 'Running']);
    assert.equal(await migrationsOf(set), 0);
    scenario.check();
  });

  test('hibernate/AS-07 a tag older than the running VM is dropped before the VM is stored anew', async () => {
    const scenario = await rig.scenario();
    olderVm(scenario, 900);
    const set = await scenario.set();
    const old = await set.pod();
    const digest = await leftOverTag(set, 5);
    await set.move('b');
    await set.settles('b');
    const [, , , put, started] = assertOrder(scenario.timeline, [
      { what: 'tag-put', digest, by: 'the past' },
      { what: 'tag-deleted', by: 'vmflow' },
      { what: 'hibernate-set', uid: old?.uid },
      { what: 'tag-put', by: scenario.node('a') },
      { what: 'vm-started', node: scenario.node('b') },
    ]);
    assert.ok(counterOf(started) >= 900);
    assert.equal(counterOf(started), counterOf(put));
    assert.ok((await set.reasons()).includes('StaleSnapshotDropped'));
    assert.deepEqual(await set.tag(), { state: 'absent' });
    scenario.check();
  });

  test('hibernate/AS-08 an old tag under an unfinished suspend is not taken for the snapshot that it will make', async () => {
    const scenario = await rig.scenario();
    olderVm(scenario, 700);
    const set = await scenario.set();
    const old = await set.pod();
    await leftOverTag(set, 5);
    scenario.agents.faults.set('saveStalls', { vm: set.vmName, delayMs: 4_000 });
    await set.patch({ suspend: true });
    await happened(set, { what: 'step', step: 'hibernate-2', vm: set.vmName });
    await set.patch({ suspend: false, nodeName: scenario.node('b') });
    const { generation } = (await set.read())?.metadata ?? {};
    const seen = await waitFor('the migration to wait for the agent', async () => {
      const status = await set.migrationStatus();
      return status.row === 'D12' && status;
    });
    assert.equal(seen.snapshot?.state, 'present', 'it sees the old tag');

    await set.settles('b');
    const [put, , started] = assertOrder(scenario.timeline, [
      { what: 'tag-put', by: scenario.node('a') },
      { what: 'pod-deleting', uid: old?.uid },
      { what: 'vm-started', node: scenario.node('b') },
    ]);
    assertOrder(scenario.timeline, [
      { what: 'lifecycle', state: 'hibernated', generation, uid: old?.uid },
      { what: 'pod-deleting', uid: old?.uid },
    ]);
    assert.ok(counterOf(put) >= 700);
    assert.equal(counterOf(started), counterOf(put), 'the newest state goes on');
    assert.deepEqual(await set.tag(), { state: 'absent' });
    scenario.check();
  });
});

/** The migration has seen the tag, and waits for the agent nevertheless. */
async function seesTag(set: SetUnderTest): Promise<void> {
  const { row } = await waitFor('the migration to see the tag', async () => {
    await set.migration.signal(messages.poke);
    const status = await set.migrationStatus();
    return status.snapshot?.state === 'present' && status;
  });
  assert.equal(row, 'D12');
}
