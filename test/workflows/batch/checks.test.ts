import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { copyPassId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { SourceVm } from '../../support/entry-world.ts';
import { networkGone } from './findings.ts';
import type { BatchOptions, BatchUnderTest, EntryUnderTest } from './batch-under-test.ts';
import { by } from './batch-under-test.ts';
import { assertRefused } from './refused.ts';
import { Stage } from './stage.ts';
import { aWindow, hour, minute, second } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

async function started(
  vm: SourceVm,
  options: Partial<BatchOptions> = {},
): Promise<{ batch: BatchUnderTest; entry: EntryUnderTest }> {
  const batch = await stage.batch({ vms: [vm], ...options });
  await batch.start();
  return { batch, entry: batch.entry(vm) };
}

/** Its source is switched on behind our back while its final checks are under way. */
async function switchedOn(
  vm: SourceVm,
  { writes }: { readonly writes: boolean },
  options: Partial<BatchOptions> = {},
): Promise<EntryUnderTest> {
  const checks = stage.script.holds(vm, 'finalCheck');
  const { entry } = await started(vm, options);
  await checks.arrived;
  vm.power = 'on';
  if (writes) stage.world.write(vm);
  checks.release();
  return entry;
}

function count(vm: SourceVm, what: string): number {
  return stage.world.story(vm).filter((line) => line === what).length;
}

test('batch/S39 starting the target fails for a while: it is tried again, and Finished', async () => {
  const vm = stage.world.add('vm01');
  // Each try calls it twice.
  stage.script.fails(vm, 'startTarget', { times: 4 });
  const { entry } = await started(vm);
  await entry.reaches('Finished');
  assert.equal(count(vm, 'target configured'), 3);
  assert.equal(count(vm, 'target started'), 1);
});

test('batch/S39 starting the target always fails: Conflict with the source off; repaired and resolved: Finished', async () => {
  const vm = stage.world.add('vm01');
  const heal = stage.script.fails(vm, 'startTarget', { message: 'no KVM on the host' });
  const { entry } = await started(vm);
  const { conflict, committed } = await entry.reaches('Conflict', 'complete');
  assert.equal(conflict?.code, 'FINALIZE_FAILED');
  assert.match(conflict.what, /FINALIZE_FAILED\(start\).*no KVM on the host/);
  assert.deepEqual([committed, vm.power], [true, 'off']);
  assert.equal(count(vm, 'target configured'), 6, 'one try and five repeats');

  const again = await entry.resolve<{ result: string; conflict?: { code: string } }>();
  assert.deepEqual([again.result, (await entry.view()).resolveCount], ['revalidating', 1]);
  await entry.reaches('Conflict', 'complete');
  heal();
  assert.deepEqual(await entry.resolve(), { result: 'finished' });
  assert.equal(stage.world.finished(vm)?.isRunning, true);
  assert.ok(!stage.world.story(vm).includes('source on'));
});

test('batch/S39 what is refused for good is a Conflict at once', async () => {
  const vm = stage.world.add('vm01');
  const heal = stage.script.fails(vm, 'configureTarget', { type: 'Forbidden', message: 'no right to change it' });
  const { entry } = await started(vm);
  const { conflict } = await entry.reaches('Conflict', 'complete');
  assert.match(conflict?.what ?? '', /FINALIZE_FAILED\(configure\).*no right to change it/);
  heal();
  assert.deepEqual(await entry.resolve(), { result: 'finished' });
});

test('an unchanged world conflicts again when it is resolved, with another id', async () => {
  const vm = stage.world.add('vm01', { finding: networkGone });
  const { entry } = await started(vm);
  const first = await entry.reaches('Conflict', 'complete');
  const answer = await entry.resolve<{ result: string; conflict?: { code: string } }>();
  assert.deepEqual([answer.result, answer.conflict?.code], ['conflict', 'NETWORK_GONE']);
  const second_ = await entry.view();
  assert.notEqual(second_.conflict?.id, first.conflict?.id);
  assert.equal(second_.resolveCount, 1);
  delete vm.finding;
  assert.deepEqual(await entry.resolve(), { result: 'finished' });
});

test('a signal resolve with a stale or unknown conflict or choice is ignored, the right one is taken', async () => {
  const vm = stage.world.add('vm01', { finding: networkGone });
  const { entry } = await started(vm);
  const { conflict } = await entry.reaches('Conflict', 'complete');
  const stale = { conflictId: conflict?.id, decision: 'recheck', by };
  await entry.resolve();
  const { conflict: open } = await entry.reaches('Conflict', 'complete');
  for (const ignored of [
    stale,
    { conflictId: 'NETWORK_GONE/somebody/0', decision: 'recheck', by },
    { conflictId: open?.id, decision: 'force', by },
    { conflictId: open?.id, decision: 'recheck', by: '' },
    {},
    undefined,
  ])
    await entry.handle.signal(messages.resolve, ignored);
  await stage.advance(minute);
  const { entryStatus, conflict: same, resolveCount } = await entry.view();
  assert.deepEqual([entryStatus, same?.id, resolveCount], ['Conflict', open?.id, 1]);
  delete vm.finding;
  await entry.handle.signal(messages.resolve, { conflictId: open?.id, decision: 'recheck', by });
  await entry.reaches('Finished');
});

test('the decision cancel of a conflict ends it: the source is on, the target stopped and left', async () => {
  const vm = stage.world.add('vm01', { finding: networkGone });
  const { entry } = await started(vm);
  await entry.reaches('Conflict', 'complete');
  assert.deepEqual(await entry.resolve('cancel'), { result: 'canceled' });
  assert.deepEqual([vm.power, stage.world.target(vm.record)?.isRunning], ['on', false]);
});

test('M3: the VM is gone at its commit: Conflict, its place is free; back and resolved: Finished', async () => {
  const vm = stage.world.add('vm01');
  const base = await stage.soon();
  const windows = [aWindow('w1', base, [hour, 9 * hour], { capacity: 1 })];
  const { batch, entry } = await started(vm, { windows });
  await entry.reaches('Idle', 'final');
  await stage.advanceTo(base + hour - second);
  vm.isGone = true;
  const { conflict, stage: at, committed } = await entry.reaches('Conflict');
  assert.deepEqual([conflict?.code, at, committed], ['SOURCE_VM_GONE', 'final', false]);
  await stage.until('the place to be free', async () => (await batch.view()).windows[0]?.held === 0);
  vm.isGone = false;
  assert.deepEqual(await entry.resolve(), { result: 'waiting' });
  await entry.reaches('Finished');
  assert.equal(count(vm, 'all copied'), 1);
});

test('batch/S28 the source was switched on behind our back and wrote nothing: off again, Finished', async () => {
  const vm = stage.world.add('vm01');
  const entry = await switchedOn(vm, { writes: false });
  await entry.reaches('Finished');
  assert.equal(count(vm, 'source off'), 2);
  assert.equal(count(vm, 'pass 3 (final)'), 0);
});

test('batch/S28 it wrote data meanwhile: all is copied again in what is left of the window', async () => {
  const vm = stage.world.add('vm01');
  const entry = await switchedOn(vm, { writes: true });
  await entry.reaches('Finished');
  // Off at once, and looked at once more before the pass.
  assert.deepEqual(stage.world.story(vm).slice(8), [
    'source off',
    'source off',
    'pass 3 (final)',
    'all copied',
    'pass 3 ended',
    'target configured',
    'target started',
    'target released',
  ]);
});

test('batch/S28 an adapted guest whose source wrote data is adapted again after the full copy', async () => {
  const vm = stage.world.add('vm01', { needsAdapting: true });
  const entry = await switchedOn(vm, { writes: true });
  await entry.reaches('Finished');
  assert.equal(count(vm, 'all copied'), 2);
  assert.equal(count(vm, 'guest adapted'), 2);
});

test('batch/S28 it wrote data and its window is too short to copy again: rolled back, done in the next', async () => {
  const vm = stage.world.add('vm01');
  const base = await stage.soon();
  const windows = [aWindow('w1', base, [2 * hour, 3 * hour]), aWindow('w2', base, [5 * hour, 9 * hour])];
  const heal = stage.script.takes(vm, 'copyDisk', 70 * minute);
  const { entry } = await started(vm, { windows });
  await entry.reaches('Idle', 'final', { withinMs: 2 * hour, stepMs: minute });
  heal();
  await stage.advanceTo(base + 2 * hour - second);
  const checks = stage.script.holds(vm, 'finalCheck');
  await stage.until('the final checks', async () => {
    await stage.advance(second);
    return (await entry.view()).substate === 'final-checks';
  });
  await checks.arrived;
  vm.power = 'on';
  stage.world.write(vm);
  checks.release();
  await entry.reaches('Finished', undefined, { withinMs: 8 * hour, stepMs: minute });
  assert.ok((await entry.timeline()).some(({ message }) => message.includes('too short to copy again')));
  assert.ok(stage.world.story(vm).includes('source on'));
});

test('what is written late is given up where the batch says so', async () => {
  const vm = stage.world.add('vm01', { isOldCopyFine: true });
  const entry = await switchedOn(vm, { writes: true }, { config: { stale_source: 'accept' } });
  await entry.reaches('Finished');
  assert.equal(count(vm, 'pass 3 (final)'), 0);
});

for (const code of ['IDENTITY_UUID', 'IDENTITY_NAME', 'IDENTITY_DISKS'] as const)
  test(`batch/S29 ${code}: Error, the source on again, the target stopped and kept; canceled and retried: Finished`, async () => {
    const finding = { code, message: 'it is another VM now', expected: 'a', found: 'b' };
    const vm = stage.world.add('vm01', { finding });
    const { entry } = await started(vm);
    const { reason, waitingFor, committed } = await entry.reaches('Error');
    assert.deepEqual([reason, waitingFor, committed], [code, 'person', false]);
    assert.deepEqual(stage.world.story(vm).slice(-2), ['target stopped', 'source on']);
    assert.ok(stage.world.target(vm.record) !== undefined);
    await assertRefused(entry.update(messages.retry), /it is Error/);
    delete vm.finding;
    await entry.update(messages.cancel);
    await entry.update(messages.retry);
    await entry.reaches('Finished');
  });

test('batch/S31 the disks have changed before a copy: Error before anything is written, the source untouched', async () => {
  const vm = stage.world.add('vm01');
  const first = stage.script.holds(vm, 'createTarget');
  const { entry } = await started(vm);
  await first.arrived;
  const [disk] = vm.record.disks;
  vm.record = { ...vm.record, disks: [{ ...disk!, capacity: disk!.capacity * 2 }] };
  first.release();
  const { reason } = await entry.reaches('Error');
  assert.equal(reason, 'DISKS_CHANGED');
  const story = stage.world.story(vm);
  assert.ok(!story.includes('all copied') && !story.some((what) => what.startsWith('source')));
  assert.deepEqual([vm.snapshots, vm.openPass], [[], undefined]);
});

for (const { title, activity, at, power } of [
  { title: 'the first copy', activity: 'copyDisk', at: 'before', power: 'untouched' },
  { title: 'the final copy', activity: 'copyDisk', at: 'after', power: 'on again' },
  { title: 'adapting the guest', activity: 'adaptGuest', at: 'after', power: 'on again' },
] as const)
  test(`${title} fails for good: Error, no snapshot left, no slot held, the source ${power}`, async () => {
    const vm = stage.world.add('vm01', { needsAdapting: true });
    stage.limits.import = 1;
    const off = stage.script.holds(vm, 'powerOffSource');
    const fail = (): void => void stage.script.fails(vm, activity, { type: 'NoSpace', message: 'the pool is full' });
    if (at === 'before') fail();
    const { entry } = await started(vm);
    if (at === 'after') {
      await off.arrived;
      fail();
      off.release();
    }
    const { reason, message } = await entry.reaches('Error');
    assert.equal(reason, 'WORKER_FAILED');
    assert.match(message, /the pool is full/);
    assert.deepEqual([vm.power, vm.snapshots, vm.openPass], ['on', [], undefined]);
    assert.equal(stage.world.story(vm).includes('source on'), at === 'after');
    assert.deepEqual(await stage.slotHolders(), []);
  });

test('creating the target fails again and again: Error after the configured attempts, nothing left', async () => {
  const vm = stage.world.add('vm01');
  stage.limits.create = 1;
  stage.script.fails(vm, 'createTarget', { type: 'NoSpace', message: 'the pool is full' });
  const { entry } = await started(vm, { config: { create_retries: 2 } });
  const { reason, message } = await entry.reaches('Error', undefined, { withinMs: hour, stepMs: 10 * second });
  assert.equal(reason, 'CREATE_FAILED');
  assert.match(message, /3 attempts.*the pool is full/);
  assert.equal(stage.world.target(vm.record), undefined);
  assert.deepEqual(await stage.slotHolders(), []);
});

test('batch/S47 somebody else has an instance of its name: that is never touched', async () => {
  const vm = stage.world.add('web');
  stage.world.occupy('web');
  const { entry } = await started(vm, { config: { create_retries: 1 } });
  const { message } = await entry.reaches('Error', undefined, { withinMs: hour, stepMs: 10 * second });
  assert.match(message, /another instance web/);
  await entry.update(messages.cancel, { cleanup: true });
  assert.deepEqual(stage.world.story(vm), []);
});

test('a blocked VM begins once nothing is against it any more', async () => {
  const vm = stage.world.add('vm01', { blocked: 'no address is known' });
  const { entry } = await started(vm);
  const { message } = await entry.reaches('Blocked');
  assert.equal(message, 'no address is known');
  vm.blocked = 'no such pool';
  await entry.is('blocked by another reason', (view) => view.message === 'no such pool');
  delete vm.blocked;
  await entry.reaches('Finished');
  assert.ok((await entry.timeline()).some((line) => line.message === 'Instance has been unblocked'));
});

test('a blocked VM that a sync no longer finds is a Conflict, also while it is being looked at', async () => {
  const vm = stage.world.add('vm01', { blocked: 'no address is known' });
  const { entry } = await started(vm);
  await entry.reaches('Blocked');
  const look = stage.script.holds(vm, 'assessEntry');
  await stage.during(look.arrived);
  await entry.handle.signal(messages.sourceUpdated, { missing: true });
  await entry.reaches('Conflict');
  look.release();
  await stage.advance(minute);
  const { entryStatus, conflict } = await entry.view();
  assert.deepEqual([entryStatus, conflict?.code], ['Conflict', 'SOURCE_VM_GONE']);
  delete vm.blocked;
  await entry.resolve();
  await entry.reaches('Finished');
});

test('batch/S07 a VM that left the expression is a Conflict until somebody agrees, then it migrates', async () => {
  const vm = stage.world.add('vm01');
  const { entry } = await started(vm, { begins: 'Conflict' });
  const { conflict, committed } = await entry.reaches('Conflict', 'background');
  assert.deepEqual([conflict?.code, committed], ['EXPRESSION_MISMATCH', false]);
  await stage.advance(hour);
  assert.deepEqual(stage.world.story(vm), []);
  assert.deepEqual(await entry.resolve(), { result: 'waiting' });
  await entry.reaches('Finished');
});

test('somebody cancels the workflow of a copy pass: the entry is an Error that can be taken up again', async () => {
  const vm = stage.world.add('vm01');
  const copy = stage.script.holds(vm, 'copyDisk');
  const { entry } = await started(vm);
  await copy.arrived;
  await stage.server.client.workflow.getHandle(copyPassId(vm.record.uuid, 1)).cancel();
  const { reason } = await entry.reaches('Error');
  assert.equal(reason, 'WORKER_FAILED');
  assert.deepEqual([vm.power, vm.snapshots, vm.openPass], ['on', [], undefined]);
  assert.equal((await entry.handle.describe()).status.name, 'RUNNING');
  await entry.update(messages.cancel);
  await entry.update(messages.retry);
  await entry.reaches('Finished');
});
