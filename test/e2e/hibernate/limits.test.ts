import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { SetRig } from '../../support/set-rig.ts';

suite('VMs that move at the same time', () => {
  let rig: SetRig;
  before(
    async () => (rig = await SetRig.start({ migrations: { limits: { overall: 100, perSource: 2, perTarget: 100 } } })),
  );
  after(() => rig.stop());

  test('hibernate/AS-33 no more than two leave one node at a time, and all of ten arrive', async () => {
    const room = { cpu: '12', memory: '12Gi', 'ephemeral-storage': '100Gi', pods: '20' };
    const scenario = await rig.scenario({ room, agents: { saveMs: 200 } });
    const names = Array.from({ length: 10 }, (_, index) => `web${index}`);
    const sets = await Promise.all(names.map((name) => scenario.set(name)));

    // From S1, the record, to S11, when it is gone again.
    const watch = rig.admin.watch(resources.set);
    await watch.ready;
    const moving = new Set<string>();
    let most = 0;
    const stop = watch.subscribe(({ object: { metadata, status } }) => {
      if (metadata.namespace !== scenario.namespace) return;
      const isMoving = metadata.annotations?.[cocoonKeys.migration] !== undefined || status?.['phase'] === 'Migrating';
      if (isMoving) moving.add(metadata.name);
      else moving.delete(metadata.name);
      most = Math.max(most, moving.size);
    });

    await Promise.all(sets.map((set) => set.move('b')));
    await Promise.all(sets.map((set) => set.settles('b', 180_000)));
    stop();
    assert.equal(most, 2);
    for (const set of sets) {
      assert.equal((await set.migrationResult()).outcome, 'migrated');
      assert.deepEqual(await set.tag(), { state: 'absent' });
    }
    scenario.check();
  });
});
