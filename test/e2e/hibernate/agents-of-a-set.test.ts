import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SetRig } from '../../support/set-rig.ts';
import { happened } from '../../support/set-steps.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { stays } from '../../support/wait-for.ts';

suite('the other VMs of a set whose main VM moves', () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  test('hibernate/AS-27 sub-agents stay where they are; one that is asked for meanwhile comes afterwards, beside the main VM', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set('web', { agent: { replicas: 2 } });
    const looksOf = async (slot: number) => {
      const pod = await set.pod(slot);
      return [pod?.uid, pod?.nodeName, pod?.vmId];
    };
    const before = [await looksOf(1), await looksOf(2)];
    assert.deepEqual(
      before.map(([, node]) => node),
      [scenario.node('a'), scenario.node('a')],
    );
    scenario.agents.faults.set('saveStalls', { vm: set.vmName, delayMs: 3_000 });
    await set.move('b');
    await happened(set, { step: 'hibernate-2', vm: set.vmName });
    await set.patch({ agent: { replicas: 3 } });
    await stays(
      'without the new one while the main VM moves',
      async () => (await set.phase()) !== 'Migrating' || (await set.podObject(3)) === undefined,
      2_000,
    );
    await set.settles('b');
    assert.deepEqual([await looksOf(1), await looksOf(2)], before);
    const added = await set.pod(3);
    assert.equal(added?.nodeName, scenario.node('b'));
    assert.notEqual(added.vmId, '');
    assertOrder(scenario.timeline, [
      { what: 'set-phase', phase: 'Migrating' },
      { what: 'tag-deleted', vm: set.vmName },
      { what: 'pod-created', pod: `${set.namespace}/web-3` },
      { what: 'set-phase', phase: 'Running' },
    ]);
    const asked = scenario.timeline.entries({ what: 'hibernate-set' });
    assert.deepEqual(
      asked.map((entry) => 'pod' in entry && entry.pod),
      [`${set.namespace}/web-0`],
    );
    scenario.check();
  });
});
