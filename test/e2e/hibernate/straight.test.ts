import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SetRig } from '../../support/set-rig.ts';
import { assertOrder } from '../../support/set-timeline.ts';

suite('a straight move', () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  test('hibernate/AS-01, hibernate/AS-02 a VM moves with its memory, and every step comes after what proves it', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const before = await set.pod();
    await set.move('b');
    const pod = await set.settles('b');
    assert.notEqual(pod.uid, before?.uid);
    assert.notEqual(pod.vmId, before?.vmId);
    assert.ok(pod.restore);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const result = await set.migrationResult();
    assert.equal(result.outcome, 'migrated');
    console.log(result, await set.historyLength());
    console.log(await set.reasons());
    for (const e of scenario.timeline.entries()) console.log(JSON.stringify(e));
    scenario.check();
    assertOrder(scenario.timeline, [{ what: 'set-phase', phase: 'Migrating' }, { what: 'hibernate-set' }]);
  });
});
