import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { WorkflowHandle } from '@temporalio/client';
import { searchKeys } from '../../../workflows/contracts/attributes.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { MigrationWindow } from '../../../workflows/domain/batch/records.ts';
import { networkGone } from './findings.ts';
import { assertRefused } from './refused.ts';
import { Stage } from './stage.ts';
import { aWindow, hour, minute, second } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

async function far(): Promise<readonly MigrationWindow[]> {
  return [aWindow('w1', await stage.soon(), [20 * hour, 30 * hour])];
}

test('batch/S48 stopped: what is committed runs to its end, nobody else is committed; resumed: all go on', async () => {
  const [committed, idle] = [stage.world.add('vm01'), stage.world.add('vm02')];
  const adapting = stage.script.holds(committed, 'adaptGuest');
  const copying = stage.script.holds(idle, 'copyDisk');
  const batch = await stage.batch({ vms: [committed, idle] });
  await batch.start();
  await stage.during(Promise.all([adapting.arrived, copying.arrived]));
  await batch.update(messages.stop);
  adapting.release();
  copying.release();
  await batch.entry(committed).reaches('Finished');
  const paused = await batch.entry(idle).is('paused', ({ substate }) => substate === 'paused');
  assert.deepEqual([paused.entryStatus, paused.stage], ['Idle', 'final'], 'its pass was not finished');
  await stage.advance(hour);
  assert.equal(idle.power, 'on');
  assert.equal((await batch.view()).batchStatus, 'Stopped');
  await batch.update(messages.resume);
  await batch.becomes('Finished');
});

test('a stop just before the window keeps the source on, and a resume within the window commits', async () => {
  const vm = stage.world.add('vm01');
  const base = await stage.soon();
  const batch = await stage.batch({ vms: [vm], windows: [aWindow('w1', base, [hour, 9 * hour])] });
  await batch.start();
  await batch.entry(vm).is('waiting', ({ substate }) => substate === 'awaiting-window');
  await stage.advanceTo(base + hour - second);
  await batch.update(messages.stop);
  await stage.advance(2 * hour);
  assert.equal(vm.power, 'on');
  await batch.update(messages.resume);
  await batch.entry(vm).reaches('Finished');
});

test('batch/S05 all windows over: a start is refused, nothing is begun', async () => {
  const vm = stage.world.add('vm01');
  const windows = [aWindow('w1', await stage.server.now(), [-2 * hour, -hour])];
  const batch = await stage.batch({ vms: [vm], windows });
  await assertRefused(batch.start(), /windows of .* are over/);
  const { batchStatus, counts } = await batch.view();
  assert.deepEqual([batchStatus, counts], ['Defined', { none: 1 }]);
});

test('batch/S02 a VM of two batches gets one entry; a batch whose members are all taken is not started', async () => {
  const [shared, own] = [stage.world.add('vm01'), stage.world.add('vm02')];
  const first = await stage.batch({ vms: [shared], windows: await far() });
  const mixed = await stage.batch({ vms: [shared, own], windows: await far() });
  const taken = await stage.batch({ vms: [shared] });
  assert.deepEqual(await first.start(), { queued: 1, skipped: [], skippedCount: 0 });
  const answer = await mixed.start();
  assert.deepEqual([answer.queued, answer.skippedCount, answer.skipped[0]?.name], [1, 1, 'vm01']);
  await assertRefused(taken.start(), /no member/);
  assert.equal((await taken.view()).batchStatus, 'Defined');
  assert.equal((await first.entry(shared).view()).batch, first.name);
});

test('what a batch may do depends on its status', async () => {
  const vm = stage.world.add('vm01');
  const batch = await stage.batch({ vms: [vm], windows: await far() });
  const refused = async (why: RegExp, ...orders: readonly string[]): Promise<void> => {
    for (const order of orders) await assertRefused(batch.update(order), why);
  };
  await refused(/the batch is Defined/, messages.stop, messages.resume);
  await batch.start();
  await refused(/the batch is Running/, messages.start, messages.resume, messages.delete);
  await batch.update(messages.stop);
  await refused(/the batch is Stopped/, messages.stop);
  await batch.delete();
});

test('batch/S45 reset without force is refused while a source is off, and changes nothing', async () => {
  const vm = stage.world.add('vm01', { finding: networkGone });
  const batch = await stage.batch({ vms: [vm] });
  await batch.start();
  await batch.entry(vm).reaches('Conflict', 'complete');
  await assertRefused(batch.update(messages.reset, { force: false }), /in its downtime/);
  await batch.update(messages.stop);
  await assertRefused(batch.update(messages.delete), /in its downtime/);
  assert.deepEqual([(await batch.view()).batchStatus, vm.power], ['Stopped', 'off']);
});

test('batch/S45 reset with force: every source on again, targets gone but the finished one, the batch Defined', async () => {
  const [done, down, copying, blocked] = [
    stage.world.add('vm01'),
    stage.world.add('vm02', { finding: networkGone }),
    stage.world.add('vm03'),
    stage.world.add('vm04', { blocked: 'no address' }),
  ];
  const vms = [done, down, copying, blocked];
  const copy = stage.script.holds(copying, 'copyDisk');
  const batch = await stage.batch({ vms });
  await batch.start();
  await batch.entry(done).reaches('Finished');
  await batch.entry(down).reaches('Conflict', 'complete');
  await copy.arrived;
  await batch.update(messages.reset, { force: true });

  const { batchStatus, counts, startDate, windows } = await batch.view();
  assert.deepEqual([batchStatus, counts, startDate, windows], ['Defined', { none: 4 }, undefined, []]);
  assert.deepEqual(
    vms.map(({ power }) => power),
    ['off', 'on', 'on', 'on'],
  );
  assert.deepEqual(
    vms.map((vm) => stage.world.target(vm.record) !== undefined),
    [false, false, false, false],
  );
  assert.equal(stage.world.finished(done)?.isRunning, true);
  for (const vm of vms) await batch.entry(vm).ends();
});

test('a batch that was reset starts anew', async () => {
  const vm = stage.world.add('vm01', { finding: networkGone });
  const batch = await stage.batch({ vms: [vm] });
  await batch.start();
  await batch.entry(vm).reaches('Conflict', 'complete');
  await batch.update(messages.reset, { force: true });
  delete vm.finding;
  await batch.start();
  await batch.becomes('Finished');
});

test('deleting a stopped batch ends its entries and leaves their targets; at once applied again it has its members', async () => {
  const vm = stage.world.add('vm01');
  const batch = await stage.batch({ vms: [vm], windows: await far() });
  await batch.start();
  const entry = batch.entry(vm);
  await entry.reaches('Idle', 'final');
  await batch.update(messages.stop);
  await batch.delete();
  await entry.ends();
  assert.ok(stage.world.target(vm.record) !== undefined);

  const again = await stage.batch({ name: batch.name, vms: [vm, stage.world.add('vm02')] });
  assert.equal((await again.view()).members, 2);
  await again.start();
  const { message } = await again.entry(vm).reaches('Blocked');
  assert.match(message, /an earlier migration has left an instance "vm01"/);
  stage.world.clearAway(vm);
  await again.becomes('Finished');
});

test('a batch is Finished once all entries that are left are', async () => {
  const [done, ended] = [stage.world.add('vm01'), stage.world.add('vm02', { blocked: 'no address' })];
  const batch = await stage.batch({ vms: [done, ended] });
  await batch.start();
  await batch.entry(done).reaches('Finished');
  await batch.entry(ended).update(messages.cancel);
  await stage.advance(minute);
  const { batchStatus, counts } = await batch.view();
  assert.deepEqual([batchStatus, counts], ['Running', { finished: 1, canceled: 1 }]);
  await batch.entry(ended).update(messages.delete);
  await batch.becomes('Finished');
});

test('an entry in Error or Conflict is counted as one that needs a person', async () => {
  const finding = { code: 'IDENTITY_NAME', message: 'renamed', expected: 'a', found: 'b' } as const;
  const vms = [stage.world.add('vm01', { finding }), stage.world.add('vm02', { finding: networkGone })];
  const batch = await stage.batch({ vms });
  await batch.start();
  await stage.until('both to need somebody', async () => {
    const { counts } = await batch.view();
    return counts.error === 1 && counts.conflict === 1;
  });
  const { batchStatus, waitingFor, message } = await batch.view();
  assert.deepEqual([batchStatus, waitingFor], ['Running', 'person']);
  assert.match(message, /0 finished, 2 need attention/);
});

test('the lists have a batch among what waits for a person, beside its VM, until nobody in it does any more', async () => {
  const vm = stage.world.add('vm01', { finding: networkGone });
  const batch = await stage.batch({ vms: [vm] });
  await batch.start();
  const entry = batch.entry(vm);
  await entry.reaches('Conflict');
  const waitFor = async ({ handle }: { readonly handle: WorkflowHandle }): Promise<string | undefined> =>
    (await handle.describe()).typedSearchAttributes.get(searchKeys.waitingFor);
  assert.equal(await waitFor(entry), 'person');
  await stage.until('the batch to be listed', async () => (await waitFor(batch)) === 'person');
  await entry.update(messages.cancel);
  await stage.until(
    'neither to be listed',
    async () => (await waitFor(entry)) === undefined && (await waitFor(batch)) === undefined,
  );
});

test('apply of the same is nothing, of something else an edit', async () => {
  const vms = [stage.world.add('vm01')];
  const batch = await stage.batch({ vms, windows: await far() });
  assert.deepEqual(await batch.apply(), { members: 1, result: 'unchanged', etag: '1' });
  const answer = await batch.edit({ migration_windows: [] });
  assert.deepEqual([answer.result, answer.etag], ['changed', '2']);
});

test('an edit that was made from an older state is refused', async () => {
  const batch = await stage.batch({ vms: [stage.world.add('vm01')] });
  const spec = { ...batch.spec, migration_windows: await far() };
  await assertRefused(batch.update(messages.edit, { spec, etag: '7' }), /it is at 1, not 7/, 'Conflict');
  assert.equal((await batch.view()).etag, '1');
});

test('a window that is added while it runs is used by those that wait', async () => {
  const vm = stage.world.add('vm01');
  const batch = await stage.batch({ vms: [vm], windows: await far() });
  await batch.start();
  await batch.entry(vm).is('waiting', ({ substate }) => substate === 'awaiting-window');
  const base = await stage.server.now();
  await batch.edit({ migration_windows: [...batch.spec.migration_windows, aWindow('w0', base, [-minute, 5 * hour])] });
  await batch.entry(vm).reaches('Finished', undefined, { withinMs: 10 * minute });
});

test('a batch that nothing belongs to is refused and does not stay', async () => {
  const empty = stage.batch({ name: `empty-${process.pid}`, vms: [] });
  await assertRefused(empty, /no VM matches/, 'InvalidRequest');
  const handle = stage.server.client.workflow.getHandle(`batch/empty-${process.pid}`);
  await stage.until('its end', async () => (await handle.describe()).status.name === 'COMPLETED');
});

test('an archived entry is nobody’s: its VM can be migrated again', async () => {
  const vm = stage.world.add('vm01');
  const batch = await stage.batch({ vms: [vm], settings: { archiveAfterMs: hour } });
  await batch.start();
  await batch.becomes('Finished');
  await stage.advance(2 * hour);
  await stage.until('the row to be free', async () => (await batch.rows())[0]?.phase === 'none');
});
