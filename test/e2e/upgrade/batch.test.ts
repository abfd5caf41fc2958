import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { batchId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { BatchChanges, BatchUnderTest, SourceVm } from '../../support/batch-scenario.ts';
import { isOfNextRelease, patchId, provenRelease, type Edit } from '../../support/next-release.ts';

const hourMs = 3_600_000;
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
/** Chooses the project by the size of the VM. */
const byCpus = `function placement(instance) { set_project(instance.cpus > 2 ? 'p2' : 'default'); }`;

const edits: readonly Edit[] = [
  { file: 'workflows/batch/batch.ts', after: 'this.#alarm.set(this.#nextLook());' },
  { file: 'workflows/batch/batch-shard.ts', after: 'await this.#wake();' },
  { file: 'workflows/batch/migration.ts', after: 'this.#armWindow();' },
];

describe('a new release under running migrations', () => {
  let rig: BatchRig;
  before(async () => {
    rig = await BatchRig.start({ ownTemporal: true, ownSource: true });
    rig.incus.addProject('p2', { 'features.networks': 'false', 'features.storage.volumes': 'true' });
  });
  after(() => rig.stop());

  async function one(label: string, changes: BatchChanges = {}): Promise<{ batch: BatchUnderTest; vm: SourceVm }> {
    const batch = await rig.batch(changes);
    return { batch, vm: await batch.vm(label) };
  }

  async function begin(batch: BatchUnderTest): Promise<void> {
    await batch.apply();
    await batch.start();
  }

  /** Copied, and its window is an hour away. */
  async function idle(): Promise<{ batch: BatchUnderTest; vm: SourceVm }> {
    const found = await one('idle', {
      migration_windows: [{ name: 'w1', start: inMs(hourMs), end: inMs(3 * hourMs), capacity: 0 }],
      config: { background_sync_interval: 2 * hourMs, final_background_sync_limit: 1_000 },
    });
    await begin(found.batch);
    await found.vm.becomes('Idle');
    return found;
  }

  /** Its source is off, its last copy stands still. */
  async function inDowntime(): Promise<{ vm: SourceVm; held: { release(): void } }> {
    const { batch, vm } = await one('down');
    const held = vm.holdFinalCopy();
    await begin(batch);
    await vm.isInFinalCopy();
    return { vm, held };
  }

  async function inConflict(): Promise<SourceVm> {
    const { batch, vm } = await one('conflict', { config: { placement_scriptlet: byCpus } });
    const held = vm.holdFinalCopy();
    await begin(batch);
    await vm.isInFinalCopy();
    await rig.control.changeVm(vm.ref, { cpus: 4 });
    held.release();
    await vm.becomes('Conflict');
    await rig.control.changeVm(vm.ref, { cpus: 1 });
    return vm;
  }

  test('what is under way at every point goes on in it; one that would break it is found before', async (t) => {
    const [waiting, copying, asking] = await Promise.all([idle(), inDowntime(), inConflict()]);
    const next = await provenRelease(t, rig.temporal, edits, ['migration', 'batch']);

    const old = [...rig.workers.values()];
    await rig.startWorkers(['control', 'transfer'], { sources: next.dir });
    await Promise.all(old.map((worker) => worker.stop(60_000)));

    copying.held.release();
    await Promise.all([
      asking.update(messages.resolve, { conflictId: (await asking.view()).conflict?.id, decision: 'recheck' }),
      waiting.vm.update(messages.cutover),
    ]);
    const fresh = await one('fresh');
    await begin(fresh.batch);
    for (const vm of [waiting.vm, copying.vm, asking, fresh.vm]) {
      await vm.becomes('Finished');
      assert.equal(await vm.power(), 'poweredOff');
      assert.equal(vm.target?.status, 'Running');
      await vm.assertSameDisks();
    }
    assert.ok(
      await isOfNextRelease(rig.client.workflow.getHandle(batchId(fresh.batch.name))),
      `the new release did what it does more (${patchId})`,
    );
  });
});
