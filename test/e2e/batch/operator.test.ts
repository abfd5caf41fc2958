import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import { holdTarget } from '../../support/batch-holds.ts';
import {
  assertNeverBoth,
  assertNoSlots,
  isMigrated,
  powerChanges,
  snapshotsOf,
} from '../../support/batch-invariants.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import { assertRefused, type BatchChanges, type BatchUnderTest, type SourceVm } from '../../support/batch-scenario.ts';
import { stays, waitFor } from '../../support/wait-for.ts';

describe('what operators do to entries and batches', { concurrency: 4 }, () => {
  let rig: BatchRig;
  before(async () => {
    rig = await BatchRig.start({ source: { importLimit: 20 }, target: { createLimit: 20 } });
    rig.incus.addProject('p2', { 'features.networks': 'false', 'features.storage.volumes': 'true' });
  });
  after(() => rig.stop());

  async function oneVm(label: string, changes: BatchChanges = {}): Promise<SourceVm> {
    const batch = await rig.batch(changes);
    return await batch.vm(label);
  }

  async function run(batch: BatchUnderTest): Promise<void> {
    await batch.apply();
    await batch.start();
  }

  async function isOver(vm: SourceVm): Promise<void> {
    const { substate } = await vm.becomes('Canceled');
    assert.equal(substate, undefined, 'nothing is left to do');
    assert.equal(await vm.power(), 'poweredOn');
    assert.deepEqual(await snapshotsOf(vm), []);
    await assertNoSlots(rig, [vm]);
    await assertNeverBoth(vm);
  }

  test('batch/S43: a cancel in the middle of a copy ends it and leaves nothing; a retry goes through', async () => {
    const vm = await oneVm('s43');
    const copy = holdTarget(vm, 'disk', { skip: 1 });
    await run(vm.batch);
    await copy.arrived();
    await vm.becomes('Performing background import tasks');
    assert.equal(await vm.update(messages.cancel, { cleanup: true }), 'canceled');
    await isOver(vm);
    assert.equal(vm.target, undefined);
    assert.equal((await powerChanges(vm)).length, 1, 'its source is as it was made');
    copy.release();
    await vm.update(messages.retry);
    await vm.becomes('Finished');
    await vm.assertSameDisks();
    await assertNeverBoth(vm);
  });

  test('batch/S44: a cancel while the target is being started waits for that, stops it and only then starts the source', async () => {
    const vm = await oneVm('s44');
    const start = holdTarget(vm, 'power', { at: 'operation' });
    await run(vm.batch);
    await start.arrived();
    const canceled = vm.update(messages.cancel);
    await vm.becomes('Canceled', ({ substate }) => substate === 'cleanup-pending');
    await stays('the source off', async () => (await vm.power()) === 'poweredOff', 1_000);
    start.release();
    assert.equal(await canceled, 'canceled');
    await isOver(vm);
    assert.equal(vm.target?.status, 'Stopped', 'it is kept');
  });

  test('batch/S44: with cleanup the target is deleted after the source runs; a finished one is left alone', async () => {
    const vm = await oneVm('s44b');
    const start = holdTarget(vm, 'power', { at: 'answer', times: 1 });
    await run(vm.batch);
    await waitFor('the target to run', () => vm.target?.status === 'Running');
    assert.equal(await vm.update(messages.cancel, { cleanup: true }), 'canceled');
    await isOver(vm);
    const [deleted] = rig.incus.journal.events('instance-deleted', vm.name);
    const last = (await powerChanges(vm)).at(-1);
    assert.equal(last?.side, 'source');
    assert.ok(deleted !== undefined && deleted.at >= last.at, 'first the source runs');
    start.release();
    await vm.update(messages.retry);
    await vm.becomes('Finished');
    await assertRefused(vm.update(messages.cancel, { cleanup: true }), /finished: its target is in production/);
    assert.equal(vm.target?.status, 'Running');
  });

  test('batch/S44: a cancel while the target is handed over comes too late: it is finished, and nothing is undone', async () => {
    const vm = await oneVm('s44c');
    // Two copies and the final configuration have written before.
    const handedOver = holdTarget(vm, 'configure', { skip: 3, at: 'answer', times: 1 });
    await run(vm.batch);
    await waitFor('it to be handed over', () => isMigrated(vm));
    assert.match(await vm.update(messages.cancel, { cleanup: true }), /it is Finished already/);
    handedOver.release();
    await vm.becomes('Finished');
    assert.deepEqual([vm.target?.status, await vm.power()], ['Running', 'poweredOff']);
    await assertNoSlots(rig, [vm]);
    await assertNeverBoth(vm);
  });

  test('batch/S45: a reset is refused while a VM is in its downtime; with force everything but what is finished is undone', async () => {
    const batch = await rig.batch();
    const [done, ahead, busy] = [await batch.vm('s45a'), await batch.vm('s45b'), await batch.vm('s45c')];
    const final = busy.holdFinalCopy();
    const first = holdTarget(ahead, 'disk', { skip: 1 });
    await run(batch);
    await done.becomes('Finished');
    await busy.isInFinalCopy();
    await first.arrived();
    await assertRefused(batch.update(messages.reset, { force: false }), /downtime/);
    assert.equal((await busy.view()).status, 'Performing final import tasks', 'nothing has changed');
    assert.deepEqual(await batch.update(messages.reset, { force: true }), []);
    const view = await batch.becomes('Defined');
    assert.deepEqual(view.counts, { none: 3 });
    assert.equal(view.startDate, undefined);
    for (const vm of [ahead, busy]) {
      assert.equal(vm.target, undefined);
      assert.equal(await vm.power(), 'poweredOn');
      assert.deepEqual(await snapshotsOf(vm), []);
      await assertNeverBoth(vm);
    }
    assert.equal((await powerChanges(ahead)).length, 1, 'nobody has touched it');
    assert.equal(done.target?.status, 'Running');
    assert.equal(await done.power(), 'poweredOff');
    await assertNoSlots(rig, batch.vms);
    for (const held of [final, first]) held.release();
  });

  test('case/73: a reset succeeds although a source VM is gone, and says so', async () => {
    const vm = await oneVm('c73');
    const final = vm.holdFinalCopy();
    await run(vm.batch);
    await vm.isInFinalCopy();
    await rig.control.destroyVm(vm.ref);
    const warnings = await vm.batch.update<string[]>(messages.reset, { force: true });
    assert.match(warnings.join(), new RegExp(`${vm.name}.*its source VM is gone`));
    await vm.batch.becomes('Defined');
    assert.equal(vm.target, undefined);
    final.release();
  });

  test('batch/S46 case/71: the program may be changed once nobody waits to be placed by it, and a retry follows the new one', async () => {
    const vm = await oneVm('s46');
    await rig.incus.addInstance({ name: vm.name, config: { 'user.of': 'somebody' } });
    await run(vm.batch);
    await vm.becomes('Blocked');
    const intoP2 = { config: { placement_scriptlet: `function placement() { set_project('p2'); }` } };
    const { spec } = vm.batch;
    await assertRefused(vm.batch.edit(intoP2), /placement/);
    vm.batch.spec = spec;
    await vm.update(messages.cancel, { cleanup: true });
    await vm.becomes('Canceled');
    await waitFor('its batch to know', async () => (await vm.batch.view()).counts.canceled === 1);
    assert.equal((await vm.batch.edit(intoP2)).result, 'changed');
    await vm.update(messages.retry);
    const { placement } = await vm.becomes('Finished');
    assert.equal(placement?.target_project, 'p2');
    assert.equal(rig.incus.instance('p2', vm.name)?.status, 'Running');
    assert.equal(vm.target?.config['user.of'], 'somebody', 'who had the name keeps it');
  });

  test('batch/S46: the program may be changed while all that wait are in Conflict', async () => {
    const vm = await oneVm('s46b');
    await rig.control.createFolder('/DC0/vm', `s46-${rig.id}`);
    await vm.batch.apply();
    await rig.control.moveVm(vm.ref, `/DC0/vm/s46-${rig.id}`);
    await vm.batch.start();
    await vm.becomes('Conflict');
    const changed = await vm.batch.edit({
      config: { placement_scriptlet: `function placement() { set_project('p2'); }` },
    });
    assert.equal(changed.result, 'changed');
  });

  test('batch/S48: in a stopped batch what is committed goes to its end, nothing else is committed until it goes on', async () => {
    const batch = await rig.batch();
    const [first, second] = [await batch.vm('s48a'), await batch.vm('s48b')];
    const [final, copy] = [first.holdFinalCopy(), holdTarget(second, 'disk', { skip: 1 })];
    await run(batch);
    await first.isInFinalCopy();
    await copy.arrived();
    await batch.update(messages.stop);
    final.release();
    copy.release();
    await first.becomes('Finished');
    await second.becomes('Idle', ({ stage, substate }) => stage === 'final' && substate === 'paused');
    await stays('the source on', async () => (await second.power()) === 'poweredOn', 2_000);
    assert.equal((await batch.view()).status, 'Stopped');
    await batch.update(messages.resume);
    await second.becomes('Finished');
    await batch.becomes('Finished');
  });

  test('case/80: one that is cancelled before it began keeps nobody and does nothing any more', async () => {
    const batch = await rig.batch();
    const [never, other] = [await batch.vm('c80a'), await batch.vm('c80b')];
    await rig.incus.addInstance({ name: never.name });
    const copy = holdTarget(other, 'disk', { skip: 1 });
    await run(batch);
    await never.becomes('Blocked');
    await never.update(messages.cancel);
    await never.becomes('Canceled');
    const length = async (): Promise<number> => (await (await never.handle()).describe()).historyLength;
    const before = await length();
    copy.release();
    await other.becomes('Finished');
    assert.ok((await length()) - before < 10, 'it sleeps');
    await waitFor('its batch to know', async () => (await batch.view()).counts.finished === 1);
    assert.equal((await batch.view()).status, 'Running', 'somebody may retry it');
  });

  test('case/97: a cancel in the middle of a copy is over when nothing is written any more, whatever dies meanwhile', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('c97', {
      disks: [
        { size: 8 * 1024 * 1024, seed: 971 },
        { size: 8 * 1024 * 1024, seed: 972 },
      ],
    });
    const copy = holdTarget(vm, 'secondDisk', { skip: 1 });
    await run(batch);
    await copy.arrived();
    assert.equal(await vm.update(messages.cancel), 'canceled');
    await isOver(vm);
    copy.release();
    const digests = (): Promise<string[]> =>
      Promise.all([0, 1].map((disk) => rig.incus.volumeDigest('default', vm.name, disk)));
    const before = await digests();
    await stays('as it was', async () => (await digests()).join() === before.join(), 2_000);
    assert.equal(vm.target?.status, 'Stopped');
    assert.equal(await vm.update(messages.cleanup), 'what it left at the target is deleted');
    assert.equal(vm.target, undefined);
    assert.ok(!rig.incus.volumes().some(({ name }) => name.startsWith(vm.name)));
  });
});
