import { after, before, suite, test } from 'node:test';
import type { WorkflowHandle } from '@temporalio/client';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { SetRig } from '../../support/set-rig.ts';
import type { SetUnderTest } from '../../support/set-scenario.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Nothing is read again for long: what the watches tell has to be enough. */
suite('what changes while a wait looks is not missed', () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start({ migrations: { reReadMs: 600_000 } })));
  after(() => rig.stop());

  /** The agent says something, and the look that follows is held where it asks the registry. */
  async function heldLook(set: SetUnderTest): Promise<{ release(): void }> {
    const hold = rig.registryProxy.hold({
      method: 'get manifests',
      match: ({ path }) => path.includes(`/${set.vmName}/`),
    });
    await set.annotatePod({ [cocoonKeys.lifecycleMessage]: 'a word of the agent' });
    await hold.arrived;
    return hold;
  }

  async function isWaiting(handle: WorkflowHandle, activity: string): Promise<void> {
    await waitFor(`${activity} to wait`, async () =>
      (await handle.describe()).raw.pendingActivities?.some(({ activityType }) => activityType?.name === activity),
    );
  }

  test('of a set that waits for its main VM', async () => {
    const scenario = await rig.scenario();
    const { agents } = scenario;
    agents.kill(scenario.node('a'));
    const set = await scenario.set('web', { unsettled: true });
    await isWaiting(set.entity, 'waitForSetChange');
    const hold = await heldLook(set);
    await agents.restart(scenario.node('a'));
    await set.is('ready', (_, pod) => pod?.lifecycle?.state === 'ready');
    hold.release();
    await set.settles('a', 30_000);
  });

  test('of a migration that waits for the agent', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const stall = scenario.agents.faults.set('restoreStalls', { vm: set.vmName, delayMs: 600_000 });
    await set.move('b');
    await set.shows('Restoring');
    await isWaiting(set.migration, 'waitForChange');
    const hold = await heldLook(set);
    stall.clear();
    await scenario.agents.restart(scenario.node('b'));
    await set.is('ready', (_, pod) => pod?.lifecycle?.state === 'ready' && pod.vmId !== '');
    hold.release();
    await set.settles('b', 30_000);
    scenario.check();
  });
});
