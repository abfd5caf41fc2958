import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Stage } from './stage.ts';
import { day, hour, minute } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

test('batch/S17 without windows a VM goes all the way at once, its events in order', async () => {
  const vm = stage.world.add('vm-s17');
  const batch = await stage.batch({ vms: [vm] });
  const entry = batch.entry(vm);
  await batch.start();
  await entry.reaches('Finished');

  assert.deepEqual(await entry.statuses(), [
    'Waiting',
    'Creating new VM',
    'Idle',
    'Performing background import tasks',
    'Idle',
    'Performing final import tasks',
    'Idle',
    'Performing post-import tasks',
    'Worker tasks complete',
    'Finished',
  ]);
  assert.deepEqual(stage.world.story(vm), [
    'target created',
    'pass 1 (background)',
    'all copied',
    'pass 1 ended',
    'source off',
    'pass 2 (final)',
    'changes copied',
    'pass 2 ended',
    'target configured',
    'target started',
    'target released',
  ]);
  assert.deepEqual(await stage.eventsOf(vm, 'migration-finished'), [
    'migration-created',
    'migration-sync-started',
    'migration-sync-completed',
    'migration-final-started',
    'migration-final-completed',
    'migration-finished',
  ]);
  const { counts, progress } = await batch.becomes('Finished');
  assert.deepEqual([counts, progress], [{ finished: 1 }, 1]);
  const { committed, window, progress: done } = await entry.view();
  assert.deepEqual([committed, window, done], [false, undefined, 1]);
});

test('a guest that has to be adapted is, after its final pass', async () => {
  const vm = stage.world.add('vm-adapt', { needsAdapting: true });
  const batch = await stage.batch({ vms: [vm] });
  await batch.start();
  await batch.entry(vm).reaches('Finished');
  assert.deepEqual(stage.world.story(vm).slice(5), [
    'pass 2 (final)',
    'changes copied',
    'pass 2 ended',
    'guest adapted',
    'target configured',
    'target started',
    'target released',
  ]);
});

test('batch/S26 without change tracking its only copy happens with the source off', async () => {
  const vm = stage.world.add('vm-s26', { record: { background_import: false } });
  const base = await stage.soon();
  const start = new Date(base + 2 * hour).toISOString();
  const batch = await stage.batch({ vms: [vm], windows: [{ name: 'w1', start, capacity: 0 }] });
  await batch.start();
  await batch.entry(vm).reaches('Idle', 'background');
  await batch.entry(vm).reaches('Finished', undefined, { withinMs: 3 * hour, stepMs: minute });
  assert.deepEqual(stage.world.story(vm), [
    'target created',
    'source off',
    'pass 1 (final)',
    'all copied',
    'pass 1 ended',
    'target configured',
    'target started',
    'target released',
  ]);
  assert.ok(stage.world.of(vm)[1]!.at >= base + 2 * hour, 'the source was off before its window');
});

for (const { title, overrides, isOnBefore, runs } of [
  { title: 'switched on by its owner before the commit: its target runs', overrides: {}, isOnBefore: true, runs: true },
  { title: 'never on: its target stays off', overrides: {}, isOnBefore: false, runs: false },
  {
    title: 'switched on, but wanted off after the migration: its target stays off',
    overrides: { stopped_after_migration: true },
    isOnBefore: true,
    runs: false,
  },
])
  test(`batch/S27 a VM that was off at the start, ${title}`, async () => {
    const vm = stage.world.add('vm-s27', { record: { running: false }, overrides });
    const batch = await stage.batch({ vms: [vm] });
    const beforeCommit = stage.script.holds(vm, 'copyDisk');
    await batch.start();
    await beforeCommit.arrived;
    if (isOnBefore) vm.power = 'on';
    beforeCommit.release();
    await batch.entry(vm).reaches('Finished');
    assert.equal(stage.world.finished(vm)?.isRunning, runs);
    assert.equal(vm.power, 'off');
  });

test('what is finished is archived seven days later, whatever is asked of it meanwhile', async () => {
  const vm = stage.world.add('vm-archive');
  const batch = await stage.batch({ vms: [vm] });
  const entry = batch.entry(vm);
  await batch.start();
  const { since } = await entry.reaches('Finished');
  await batch.becomes('Finished');
  await stage.advance(5 * day);
  await entry.handle.signal('reportNews');
  await stage.advanceTo(Date.parse(since) + 7 * day - minute);
  assert.equal((await entry.handle.describe()).status.name, 'RUNNING');
  await stage.advance(2 * minute);
  assert.equal((await entry.handle.describe()).status.name, 'COMPLETED');
  assert.deepEqual(
    (await batch.rows()).map(({ phase }) => phase),
    ['none'],
  );
  assert.ok(stage.world.finished(vm) !== undefined, 'its target was touched');
});
