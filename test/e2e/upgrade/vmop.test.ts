import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { switches } from '../../sim/vm-layer/switches.ts';
import { isOfNextRelease, patchId, provenRelease, type Edit } from '../../support/next-release.ts';
import { VmRig } from '../../support/vm-rig.ts';

const edits: readonly Edit[] = [
  { file: 'workflows/vmop/vm-coordinator.ts', after: 'async run(): Promise<void> {' },
  { file: 'workflows/vmop/vm-operation.ts', after: 'this.#state.signalled(pins);' },
];

describe('a new release under running VM operations', () => {
  let rig: VmRig;
  before(async () => (rig = await VmRig.start({ ownTemporal: true })));
  after(() => rig.stop());

  test('what waits for its proof goes on in it, a newer one takes over what the old one began; one that would break it is found before', async (t) => {
    const scenario = await rig.scenario();
    const blocked = { runPolicy: 'Manual', annotations: { [switches.blockInstanceCreation]: 'true' } } as const;
    for (const name of ['a', 'b']) await scenario.vm(name, blocked);
    const waiting = await scenario.op('Start', 'a');
    const superseded = await scenario.op('Start', 'b');
    await Promise.all([waiting.inProgress(), superseded.inProgress()]);

    const next = await provenRelease(t, rig.temporal, edits, ['vm', 'vmop']);

    const old = rig.workers.splice(0);
    await rig.startWorker({}, { sources: next.dir });
    await Promise.all(old.map((worker) => worker.stop(60_000)));

    const stop = await scenario.op('Stop', 'b', { force: true });
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    assert.equal(await superseded.ends(), 'Completed/Superseded');
    await scenario.annotate('a', { [switches.blockInstanceCreation]: undefined });
    assert.equal(await waiting.ends(), 'Completed/OperationCompleted');
    assert.equal(scenario.look('b')?.phase, 'Stopped');
    await scenario.vm('c', { runPolicy: 'Manual' });
    const fresh = await scenario.op('Start', 'c');
    assert.equal(await fresh.ends(), 'Completed/OperationCompleted');
    assert.ok(await isOfNextRelease(scenario.coordinator('c')), `the new release did what it does more (${patchId})`);
  });
});
