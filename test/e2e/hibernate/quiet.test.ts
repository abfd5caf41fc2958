import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, suite, test } from 'node:test';
import { SetRig } from '../../support/set-rig.ts';
import { podless } from '../../support/set-steps.ts';
import { waitFor } from '../../support/wait-for.ts';

/** How often a settled set is probed here; 10 min otherwise. */
const probeMs = 5_000;

suite('sets with nothing to do, and migrations that wait', { concurrency: true }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start({ migrations: { probeMs, resyncMs: 500 } })));
  after(() => rig.stop());

  test('hibernate/AS-39 a settled set is asked for a leftover tag now and then, and nothing is written', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const requests = (): number => rig.registryProxy.requests(set.vmName).length;
    const executions = async (): Promise<string> => (await set.entity.describe()).runId;
    await waitFor('its workflow to close', async () => (await set.entity.describe()).status.name !== 'RUNNING');
    // From one probe to the next but one.
    const first = await executions();
    await waitFor('a probe', async () => (await executions()) !== first);
    await waitFor('it to be over', async () => (await set.entity.describe()).status.name !== 'RUNNING');
    const [settled, asked, second] = [(await set.read())?.metadata, requests(), await executions()];
    const writes = (await set.writes()).length;
    await waitFor('the next probe', async () => (await executions()) !== second);
    await waitFor('it to be over', async () => (await set.entity.describe()).status.name !== 'RUNNING');
    const spent = requests() - asked;
    assert.ok(spent >= 1 && spent <= 2, `${spent} requests`);
    assert.equal((await set.writes()).length, writes);
    assert.equal((await set.read())?.metadata.resourceVersion, settled?.resourceVersion);
    scenario.check();
  });

  test('hibernate/AS-40 a Pod that changes every moment while it waits for room costs a migration next to nothing', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const goOn = await podless(set);
    await scenario.cordon('b');
    await goOn();
    await waitFor('the new Pod to find no node', async () => (await set.pod())?.unschedulable);
    await set.shows('MigrateNoCapacity');
    const before = await set.historyLength();
    const changes = 120;
    for (let change = 1; change <= changes; change++) {
      await set.annotatePod({ 'example.org/tick': String(change) });
      await sleep(100);
    }
    const grown = (await set.historyLength()) - before;
    // An hour with a change each second, on top of what was there.
    assert.ok(before + (grown / changes) * 3_600 < 5_000, `${grown} events for ${changes} changes`);
    await scenario.cordon('b', false);
    await set.settles('b');
    assert.equal((await set.migrationResult()).outcome, 'migrated');
    assert.deepEqual(await set.tag(), { state: 'absent' });
    scenario.check();
  });
});
