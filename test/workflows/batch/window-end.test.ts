import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { CommitGranted, MigrationView } from '../../../workflows/contracts/batch.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { SourceVm } from '../../support/entry-world.ts';
import type { BatchUnderTest, BatchOptions, EntryUnderTest } from './batch-under-test.ts';
import type { ActivityName } from './script.ts';
import { Stage } from './stage.ts';
import { aWindow, hour, minute, second } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

interface Night {
  readonly base: number;
  readonly batch: BatchUnderTest;
  readonly entry: EntryUnderTest;
}

/** A window from the first to the second hour, and one from the fifth to the ninth; it is just before the first. */
async function night(vm: SourceVm, options: Partial<BatchOptions> = {}): Promise<Night> {
  const base = await stage.soon();
  const windows = [aWindow('w1', base, [hour, 2 * hour]), aWindow('w2', base, [5 * hour, 9 * hour])];
  const batch = await stage.batch({ vms: [vm], windows, ...options });
  await batch.start();
  const entry = batch.entry(vm);
  await advanceTo(base, hour - second);
  await entry.reaches('Idle', vm.record.background_import ? 'final' : 'background');
  return { base, batch, entry };
}

interface Overrun extends Night {
  /** A second before the window ended. */
  readonly before: MigrationView;
  readonly heal: () => void;
}

/** Just after the end of the first window, with this call under way for longer than the window lasts. */
async function overrun(vm: SourceVm, activity: ActivityName, ms: number): Promise<Overrun> {
  const found = await night(vm);
  const heal = stage.script.takes(vm, activity, ms);
  await advanceTo(found.base, 2 * hour - second);
  const before = await found.entry.view();
  assert.equal(before.window, 'w1');
  assert.equal(before.deadline, new Date(found.base + 2 * hour).toISOString());
  await advanceTo(found.base, 2 * hour + 5 * second);
  return { ...found, before, heal };
}

async function advanceTo(base: number, ms: number): Promise<void> {
  await stage.advanceTo(base + ms);
}

const inSecondWindow = { withinMs: 8 * hour, stepMs: 10 * minute };

/** What happened to a VM since its source went off for the first time. */
function sinceOff(vm: SourceVm): readonly string[] {
  const story = stage.world.story(vm);
  return story.slice(story.indexOf('source off'));
}

/** When its window ended it was undone, and not at the next look of somebody. */
function assertUndoneAt(vm: SourceVm, base: number): void {
  const on = stage.world.of(vm).find(({ what }) => what === 'source on');
  assert.ok(on !== undefined && on.at >= base + 2 * hour && on.at <= base + 2 * hour + minute);
}

/** It doesn't hold its window any more. */
async function undone(entry: EntryUnderTest): Promise<MigrationView> {
  return await entry.is('without its window', ({ window }) => window === undefined, { withinMs: minute });
}

test('batch/S23 case/68 the window ends in the final copy: it stops, the source is on, the copy is kept for the next window', async () => {
  const vm = stage.world.add('vm01');
  const { base, entry, before, heal } = await overrun(vm, 'copyDisk', 2 * hour);
  assert.deepEqual([before.entryStatus, before.committed], ['Performing final import tasks', true]);

  const { entryStatus, stage: at, message, committed } = await undone(entry);
  assert.deepEqual([entryStatus, at, committed], ['Idle', 'final', false]);
  assert.match(message, /w2/);
  assertUndoneAt(vm, base);
  assert.deepEqual([vm.power, vm.snapshots, vm.openPass], ['on', [], undefined]);
  const statuses = (await entry.timeline()).map((line) => line.message);
  assert.ok(statuses.includes('Migration window ended, waiting for next migration window'));

  heal();
  stage.world.write(vm);
  await entry.reaches('Finished', undefined, inSecondWindow);
  assert.equal(stage.world.story(vm).filter((what) => what === 'all copied').length, 1);
  const offs = stage.world.of(vm).filter(({ what }) => what === 'source off');
  assert.equal(offs.length, 2);
  assert.ok(offs[1]!.at >= base + 5 * hour, 'it began before the next window');
});

test('the window ends while the source is being shut down: it runs again', async () => {
  const vm = stage.world.add('vm01');
  const { entry, before, heal } = await overrun(vm, 'powerOffSource', 2 * hour);
  assert.equal(before.substate, 'powering-off');
  const { entryStatus, stage: at } = await undone(entry);
  assert.deepEqual([entryStatus, at, vm.power], ['Idle', 'final', 'on']);
  assert.ok(!stage.world.story(vm).includes('source off'));
  assert.ok(stage.world.story(vm).includes('source on'), 'whether it is on was not looked at');
  heal();
  await entry.reaches('Finished', undefined, inSecondWindow);
});

test('the window ends in the only copy of a VM without change tracking: it begins anew in the next', async () => {
  const vm = stage.world.add('vm01', { record: { background_import: false } });
  const { entry, heal } = await overrun(vm, 'copyDisk', 2 * hour);
  const { entryStatus, stage: at } = await undone(entry);
  assert.deepEqual([entryStatus, at, vm.power], ['Idle', 'background', 'on']);
  heal();
  await entry.reaches('Finished', undefined, inSecondWindow);
});

test('the window ends in the last copy of a VM that is compared: its copies are kept, and compared in the next', async () => {
  const vm = stage.world.add('vm01', { record: { background_import: false } });
  const base = await stage.soon();
  const windows = [aWindow('w1', base, [hour, 2 * hour]), aWindow('w2', base, [5 * hour, 9 * hour])];
  const batch = await stage.batch({ vms: [vm], windows, config: { without_change_tracking: 'compare' } });
  await batch.start();
  const entry = batch.entry(vm);
  await entry.reaches('Idle', 'final');
  await advanceTo(base, hour - second);
  assert.equal(vm.power, 'on');
  stage.script.takes(vm, 'copyDisk', 2 * hour);
  await advanceTo(base, 2 * hour + 5 * second);
  const { entryStatus, stage: at } = await undone(entry);
  assert.deepEqual([entryStatus, at, vm.power], ['Idle', 'final', 'on']);
  stage.script.clear();
  await entry.reaches('Finished', undefined, inSecondWindow);
  const story = stage.world.story(vm);
  assert.equal(story.filter((what) => what === 'target created').length, 1);
  assert.ok(!story.includes('target deleted'));
});

test('batch/S24 the window ends with the guest being adapted: target stopped, source on, target deleted, all anew', async () => {
  const vm = stage.world.add('vm01', { needsAdapting: true });
  // What it needs is seen after 40 minutes; then it is under way.
  const { base, entry, before, heal } = await overrun(vm, 'adaptGuest', 40 * minute);
  assert.equal(before.entryStatus, 'Performing post-import tasks');
  const { committed } = await undone(entry);
  assert.equal(committed, false);
  assertUndoneAt(vm, base);
  const story = sinceOff(vm);
  assert.deepEqual(story.slice(story.indexOf('target stopped')).slice(0, 4), [
    'target stopped',
    'source on',
    'target deleted',
    'target created',
  ]);
  const ended = 'Migration window ended, waiting for next migration window';
  assert.ok((await entry.timeline()).some(({ status, message }) => status === 'Waiting' && message === ended));

  heal();
  await entry.reaches('Finished', undefined, inSecondWindow);
  assert.equal(stage.world.story(vm).filter((what) => what === 'all copied').length, 2);
});

test('batch/S24 the window ends in post-import before anything is adapted: the copy is kept', async () => {
  const vm = stage.world.add('vm01');
  const { entry, before, heal } = await overrun(vm, 'adaptGuest', 2 * hour);
  assert.equal(before.entryStatus, 'Performing post-import tasks');
  const { entryStatus, stage: at } = await undone(entry);
  assert.deepEqual([entryStatus, at, vm.power], ['Idle', 'final', 'on']);
  assert.ok(!stage.world.story(vm).includes('target deleted'));
  heal();
  await entry.reaches('Finished', undefined, inSecondWindow);
  assert.equal(stage.world.story(vm).filter((what) => what === 'all copied').length, 1);
});

test('the window ends in the final checks: the copy is kept, the source is on', async () => {
  const vm = stage.world.add('vm01');
  const { entry, before, heal } = await overrun(vm, 'finalCheck', 2 * hour);
  assert.deepEqual([before.entryStatus, before.substate], ['Worker tasks complete', 'final-checks']);
  const { entryStatus, stage: at } = await undone(entry);
  assert.deepEqual([entryStatus, at, vm.power], ['Idle', 'final', 'on']);
  heal();
  await entry.reaches('Finished', undefined, inSecondWindow);
});

test('a far side that refuses all the night is waited for until the window ends, then the source is on', async () => {
  const vm = stage.world.add('vm01');
  const { base, entry } = await night(vm);
  const heal = stage.script.fails(vm, 'finalCheck', { type: 'Forbidden', message: 'no right to look' });
  await advanceTo(base, 2 * hour - second);
  assert.match((await entry.view()).message, /no right to look/);
  await advanceTo(base, 2 * hour + 5 * second);
  await undone(entry);
  assertUndoneAt(vm, base);
  assert.doesNotMatch((await entry.view()).message, /no right to look/);
  heal();
  await entry.reaches('Finished', undefined, inSecondWindow);
});

test('a place that it has had and given back is none when it is told of it once more', async () => {
  const vm = stage.world.add('vm01');
  const { base, entry } = await night(vm);
  const heal = stage.script.fails(vm, 'finalCheck', { type: 'Forbidden', message: 'no right to look' });
  await advanceTo(base, 2 * hour + 5 * second);
  await undone(entry);
  heal();
  await entry.is('ready again', ({ substate }) => substate === 'awaiting-window');
  const { events } = await entry.handle.fetchHistory();
  const [told] = (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
    signal?.signalName === messages.commitGranted ? (signal.input?.payloads?.[0]?.data ?? []) : [],
  );
  const grant = JSON.parse(Buffer.from(told ?? []).toString()) as CommitGranted;
  assert.ok(grant.at !== undefined);
  // As it was told, but without the window, which is over anyway.
  await entry.handle.signal<[CommitGranted]>(messages.commitGranted, { token: grant.token, at: grant.at });
  await stage.advance(minute);
  assert.deepEqual([vm.power, (await entry.view()).committed], ['on', false]);
  await entry.reaches('Finished', undefined, inSecondWindow);
});

const finding = { code: 'NETWORK_GONE', message: 'network lan is gone', expected: 'lan', found: 'nothing' } as const;

test('the window ends in Conflict, policy rollback: the source is on, the target kept until it is resolved', async () => {
  const vm = stage.world.add('vm01', { finding });
  const { base, batch, entry } = await night(vm);
  await advanceTo(base, 2 * hour - second);
  const { stage: at, committed } = await entry.reaches('Conflict', 'complete');
  assert.deepEqual([at, committed], ['complete', true]);
  await advanceTo(base, 2 * hour + 5 * second);
  const after = await undone(entry);
  assert.deepEqual([after.entryStatus, after.stage, after.committed], ['Conflict', 'background', false]);
  assert.match(after.message, /window ended/);
  assert.equal(after.conflict?.code, 'NETWORK_GONE');
  assertUndoneAt(vm, base);
  assert.ok(stage.world.target(vm.record) !== undefined, 'its target is not there to be looked at');
  await advanceTo(base, 2 * hour + 10 * second);
  assert.equal((await batch.view()).windows[0]?.held, 0);

  delete vm.finding;
  assert.deepEqual(await entry.resolve(), { result: 'waiting' });
  await entry.reaches('Finished', undefined, inSecondWindow);
  assert.deepEqual(
    stage.world.story(vm).filter((what) => ['target deleted', 'target created', 'all copied'].includes(what)),
    ['target created', 'all copied', 'target deleted', 'target created', 'all copied'],
  );
});

test('the window ends in Conflict, policy hold: the source stays off, a warning every hour, then resolved', async () => {
  const vm = stage.world.add('vm01', { finding });
  const { base, entry } = await night(vm, { config: { window_end_in_conflict: 'hold' } });
  await advanceTo(base, 2 * hour + 5 * second);
  const { stage: at, committed, deadline } = await entry.reaches('Conflict', 'complete');
  assert.deepEqual([at, committed, deadline], ['complete', true, undefined]);
  await advanceTo(base, 4 * hour + 30 * minute);
  assert.equal(vm.power, 'off');

  delete vm.finding;
  assert.deepEqual(await entry.resolve(), { result: 'finished' });
  const said = await stage.eventsOf(vm, 'migration-finished');
  const warnings = said.filter((action) => action === 'source-off');
  assert.equal(warnings.length, 2, 'at three and at four o’clock');
  assert.ok(!stage.world.story(vm).includes('source on'));
});

test('the window ends while the target is being started: that is let go on, and it is Finished', async () => {
  const vm = stage.world.add('vm01');
  const { entry, before } = await overrun(vm, 'startTarget', 90 * minute);
  assert.equal(before.substate, 'starting');
  assert.equal((await entry.view()).substate, 'starting');
  await entry.reaches('Finished', undefined, { withinMs: hour, stepMs: minute });
  assert.deepEqual([vm.power, stage.world.finished(vm)?.isRunning], ['off', true]);
  assert.ok(!stage.world.story(vm).includes('source on'));
});

test('the window ends, the target runs already though nobody was told: it is Finished', async () => {
  const vm = stage.world.add('vm01');
  const { base, entry } = await night(vm, { settings: { finalizePauseMs: 2 * hour } });
  stage.script.fails(vm, 'startTarget', { afterwards: true });
  await advanceTo(base, 2 * hour - second);
  assert.ok(stage.world.story(vm).includes('target started'));
  assert.equal((await entry.view()).entryStatus, 'Worker tasks complete');
  await entry.reaches('Finished');
  assert.deepEqual([vm.power, stage.world.finished(vm)?.isRunning], ['off', true]);
  assert.ok(!stage.world.story(vm).includes('source on'));
});

test('the window ends, the target could not be started: target stopped, source on, target deleted', async () => {
  const vm = stage.world.add('vm01');
  const { base, entry } = await night(vm, { settings: { finalizePauseMs: 20 * minute } });
  const heal = stage.script.fails(vm, 'startTarget');
  await advanceTo(base, 2 * hour - second);
  assert.match((await entry.view()).message, /attempt 3.*startTarget is refused/);
  await advanceTo(base, 2 * hour + 5 * second);
  await undone(entry);
  assertUndoneAt(vm, base);
  const story = stage.world.story(vm);
  assert.deepEqual(story.slice(story.indexOf('target stopped')).slice(0, 3), [
    'target stopped',
    'source on',
    'target deleted',
  ]);
  heal();
  await entry.reaches('Finished', undefined, inSecondWindow);
});

test('batch/C25 no target for hours, nothing configured there: the source is on, what is left there goes once it is back', async () => {
  const vm = stage.world.add('vm01', { needsAdapting: true });
  const { base, entry } = await night(vm);
  const heals = (['finalCheck', 'stopTarget', 'deleteTarget'] as const).map((call) => stage.script.fails(vm, call));
  await advanceTo(base, 2 * hour - second);
  const before = await entry.view();
  assert.deepEqual([before.entryStatus, before.committed], ['Worker tasks complete', true]);
  await advanceTo(base, 3 * hour);
  const on = stage.world.of(vm).find(({ what }) => what === 'source on');
  assert.ok(on !== undefined && on.at >= base + 2 * hour && on.at <= base + 2 * hour + 2 * minute, `on at ${on?.at}`);
  assert.equal((await entry.view()).substate, 'rolling-back');
  assert.ok((await stage.eventsOf(vm, 'target-unreachable')).includes('target-unreachable'));
  assert.ok(stage.world.target(vm.record) !== undefined);
  for (const heal of heals) heal();
  await entry.reaches('Finished', undefined, inSecondWindow);
  assert.equal(stage.world.story(vm).filter((what) => what === 'target deleted').length, 1);
});

test('batch/C25 no target for hours, its configuration sent: the source is on only once it is seen to be stopped', async () => {
  const vm = stage.world.add('vm01');
  const { base, entry } = await night(vm, { settings: { finalizePauseMs: 20 * minute } });
  const healConfigure = stage.script.fails(vm, 'configureTarget', { afterwards: true });
  const healStop = stage.script.fails(vm, 'stopTarget');
  await advanceTo(base, 3 * hour);
  const { substate, committed } = await entry.view();
  assert.deepEqual([substate, committed, vm.power], ['rolling-back', true, 'off']);
  const stuck = (await stage.eventsOf(vm, 'rollback-stuck')).filter((action) => action === 'rollback-stuck');
  assert.equal(stuck.length, 1, 'once, after five minutes');
  healStop();
  healConfigure();
  await stage.until('the source to be on', () => Promise.resolve(vm.power === 'on'));
  const story = sinceOff(vm);
  assert.deepEqual(story.slice(story.indexOf('target stopped')).slice(0, 3), [
    'target stopped',
    'source on',
    'target deleted',
  ]);
  await entry.reaches('Finished', undefined, inSecondWindow);
});

test('batch/C9 a window that ends before the source is touched leaves it alone', async () => {
  const vm = stage.world.add('vm01');
  const { base, batch, entry } = await night(vm);
  const heal = stage.script.takes(vm, 'readSourcePower', 2 * hour);
  await advanceTo(base, 3 * hour + 10 * minute);
  const { entryStatus, stage: at } = await entry.view();
  assert.deepEqual([entryStatus, at, vm.power], ['Idle', 'final', 'on']);
  assert.ok(!stage.world.story(vm).some((what) => what.startsWith('source')));
  assert.equal((await batch.view()).windows[0]?.held, 0);
  heal();
  await entry.reaches('Finished', undefined, inSecondWindow);
});

test('a copy whose snapshot can not be removed does not keep the source off when the window ends', async () => {
  const vm = stage.world.add('vm01');
  const { base, entry } = await night(vm);
  stage.script.takes(vm, 'copyDisk', 2 * hour);
  await advanceTo(base, 2 * hour - second);
  const heal = stage.script.fails(vm, 'endPass');
  await advanceTo(base, 2 * hour + 5 * second);
  await stage.until('the source to be on', () => Promise.resolve(vm.power === 'on'));
  assertUndoneAt(vm, base);
  assert.equal((await entry.view()).substate, 'rolling-back');
  heal();
  await entry.reaches('Idle', 'final');
  assert.deepEqual([vm.snapshots, vm.openPass], [[], undefined]);
});
