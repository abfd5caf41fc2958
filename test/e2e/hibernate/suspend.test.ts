import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SetRig } from '../../support/set-rig.ts';
import { setStops } from '../../support/set-steps.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { waitFor } from '../../support/wait-for.ts';

suite('a set that is suspended while its VM moves', { concurrency: 3 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  for (const { step, after: when, reach } of setStops)
    test(`hibernate/AS-26 suspended at ${step}, when ${when}, and woken: the VM ends where it was wanted`, async () => {
      const scenario = await rig.scenario();
      const set = await scenario.set();
      const goOn = await reach(set);
      await set.patch({ suspend: true });
      await goOn();
      await set.isPhase('Suspended');
      assert.equal((await set.tag()).state, 'present');
      assert.deepEqual(set.vms(), []);
      await set.patch({ suspend: undefined });
      const pod = await set.settles('b');
      await waitFor('the tag to be dropped', async () => (await set.tag()).state === 'absent');
      assert.deepEqual(
        set.vms().map(({ id, node }) => [id, node]),
        [[pod.vmId, scenario.node('b')]],
      );
      // A VM that is wanted elsewhere isn't woken where it was.
      assert.equal(scenario.timeline.entries({ what: 'vm-started', node: scenario.node('a') }).length, 1);
      assertOrder(scenario.timeline, [
        { what: 'set-phase', phase: 'Suspended' },
        { what: 'set-phase', phase: 'Running' },
      ]);
      scenario.check();
    });
});
