import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NextRelease, patchId, type Edit } from '../../support/next-release.ts';
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

    const { address, namespace } = rig.temporal;
    const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
    const [careless, next] = await Promise.all([
      NextRelease.make(edits, 'careless'),
      NextRelease.make(edits, 'patched'),
    ]);
    t.after(() => Promise.all([careless.remove(), next.remove()]));
    const found = await careless.replay(env);
    assert.equal(found.exit, 1, found.text);
    assert.match(found.text, /^cocoonset\/.*Nondeterminism/m);
    assert.match(found.text, /^migrate\/.*Nondeterminism/m);
    const good = await next.replay(env);
    assert.equal(good.exit, 0, good.text);

    const old = rig.workers.splice(0);
    await rig.startWorkers({ sources: next.dir });
    await Promise.all(old.map((worker) => worker.stop(60_000)));

    await scenario.cordon('c', false);
    await storing.settles('b');
    await homeless.settles('c');
    await still.move('b');
    await still.settles('b');
    const { events } = await still.migration.fetchHistory();
    const isPatched = (events ?? []).some(
      ({ markerRecordedEventAttributes: marker }) => marker?.markerName === 'core_patch',
    );
    assert.ok(isPatched, `the new release did what it does more (${patchId})`);
    scenario.check();
  });
});
