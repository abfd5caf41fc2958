import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isOfNextRelease, patchId, provenRelease, type Edit } from '../../support/next-release.ts';
import { SetRig } from '../../support/set-rig.ts';
import { happened } from '../../support/set-steps.ts';

const edits: readonly Edit[] = [
  { file: 'workflows/hibernate/cocoon-set.ts', after: 'const step = this.#decide();' },
  { file: 'workflows/hibernate/migrate-main.ts', after: 'const outcome = await this.#turn();' },
];

describe('a new release under sets and their migrations', () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start({ ownTemporal: true })));
  after(() => rig.stop());

  test('what is being stored, what finds no node and what stands still go on in it; one that would break it is found before', async (t) => {
    const scenario = await rig.scenario();
    const [storing, homeless, still] = await Promise.all(
      ['store', 'homeless', 'still'].map((name) => scenario.set(name)),
    );
    assert.ok(storing !== undefined && homeless !== undefined && still !== undefined);
    scenario.agents.faults.set('saveStalls', { vm: storing.vmName, delayMs: 40_000 });
    await scenario.cordon('c');
    await storing.move('b');
    await homeless.move('c');
    await happened(storing, { step: 'hibernate-2', vm: storing.vmName });
    await homeless.shows('TargetUnschedulable');

    const next = await provenRelease(t, rig.temporal, edits, ['cocoonset', 'migrate']);

    const old = rig.workers.splice(0);
    await rig.startWorkers({ sources: next.dir });
    await Promise.all(old.map((worker) => worker.stop(60_000)));

    await scenario.cordon('c', false);
    await storing.settles('b');
    await homeless.settles('c');
    await still.move('b');
    await still.settles('b');
    assert.ok(await isOfNextRelease(still.migration), `the new release did what it does more (${patchId})`);
    scenario.check();
  });
});
