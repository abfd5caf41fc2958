import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SetRig } from '../../support/set-rig.ts';
import { setStops } from '../../support/set-steps.ts';
import { waitFor } from '../../support/wait-for.ts';

suite('a set that is deleted while its VM moves', { concurrency: 3 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  for (const { step, after: when, reach } of setStops)
    test(`hibernate/AS-25 deleted at ${step}, when ${when}: nothing of it is left`, async () => {
      const scenario = await rig.scenario();
      const set = await scenario.set();
      const goOn = await reach(set);
      await set.remove();
      await goOn();
      await set.isGone();
      assert.equal((await set.migrationResult()).outcome, 'setDeleted');
      const { message, steps } = await set.migrationStatus();
      assert.match(message, /set is gone/);
      assert.ok(steps.some(({ state }) => state === 'skipped') && !steps.some(({ state }) => state === 'active'));
      const tag = await waitFor('the registry to answer', async () => {
        const facts = await set.tag();
        return facts.state === 'unknown' ? undefined : facts;
      });
      assert.deepEqual(tag, { state: 'absent' });
      assert.equal(await set.podObject(), undefined);
      await waitFor('the VM to be gone', () => set.vms().length === 0);
      assert.ok(!(await set.reasons()).includes('SnapshotLeaked'));
      scenario.check();
    });
});
