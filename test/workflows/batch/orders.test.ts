import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { CommitGranted, MigrationInput } from '../../../workflows/contracts/batch.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { SourceVm } from '../../support/entry-world.ts';
import { networkGone } from './findings.ts';
import type { BatchOptions, EntryUnderTest } from './batch-under-test.ts';
import type { ActivityName } from './script.ts';
import { assertRefused } from './refused.ts';
import { Stage } from './stage.ts';
import { aWindow, hour, minute, second } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

async function started(vm: SourceVm, options: Partial<BatchOptions> = {}): Promise<EntryUnderTest> {
  const batch = await stage.batch({ vms: [vm], ...options });
  await batch.start();
  return batch.entry(vm);
}

/** With this call really under way. */
async function during(vm: SourceVm, activity: ActivityName): Promise<EntryUnderTest> {
  const held = stage.script.holds(vm, activity);
  const entry = await started(vm);
  await held.arrived;
  return entry;
}

const otherVm = { code: 'IDENTITY_UUID', message: 'it is another VM now', expected: 'a', found: 'b' } as const;

interface CancelCase {
  readonly from: string;
  readonly make?: Parameters<Stage['world']['add']>[1];
  /** Brings an entry there. */
  readonly reach: (vm: SourceVm) => Promise<EntryUnderTest>;
  /** What cancelling does, in this order; with `cleanup` the target is deleted after it. */
  readonly does: readonly string[];
  /** There is a target to be deleted. */
  readonly hasTarget: boolean;
}

async function farWindow(vm: SourceVm): Promise<EntryUnderTest> {
  const windows = [aWindow('w1', await stage.soon(), [hour, 9 * hour])];
  return await started(vm, { windows });
}

const cases: readonly CancelCase[] = [
  {
    from: 'Blocked',
    make: { blocked: 'no address' },
    reach: async (vm) => {
      const entry = await started(vm);
      await entry.reaches('Blocked');
      return entry;
    },
    does: [],
    hasTarget: false,
  },
  {
    from: 'Waiting, for a place to be created',
    reach: async (vm) => {
      const other = stage.world.add('other');
      const held = stage.script.holds(other, 'createTarget');
      const batch = await stage.batch({ vms: [other] });
      await batch.start();
      await held.arrived;
      const entry = await started(vm);
      await entry.is('waiting for a slot', ({ substate }) => substate === 'awaiting-create-slot');
      return entry;
    },
    does: [],
    hasTarget: false,
  },
  { from: 'Creating', reach: (vm) => during(vm, 'createTarget'), does: [], hasTarget: false },
  {
    from: 'Idle, for a place to be copied',
    reach: async (vm) => {
      const other = stage.world.add('other');
      const held = stage.script.holds(other, 'copyDisk');
      const batch = await stage.batch({ vms: [other] });
      await batch.start();
      await held.arrived;
      const entry = await started(vm);
      await entry.is('waiting for a slot', ({ substate }) => substate === 'awaiting-import-slot');
      return entry;
    },
    does: ['target stopped'],
    hasTarget: true,
  },
  {
    from: 'background copy (batch/S43)',
    reach: (vm) => during(vm, 'copyDisk'),
    does: ['target stopped', 'pass 1 ended'],
    hasTarget: true,
  },
  {
    from: 'Idle, for its window',
    reach: async (vm) => {
      const entry = await farWindow(vm);
      await entry.is('waiting for its window', ({ substate }) => substate === 'awaiting-window');
      return entry;
    },
    does: ['target stopped'],
    hasTarget: true,
  },
  {
    from: 'final import, the source being shut down',
    reach: (vm) => during(vm, 'powerOffSource'),
    does: ['target stopped', 'source on'],
    hasTarget: true,
  },
  {
    from: 'final import, copying',
    reach: async (vm) => {
      const entry = await farWindow(vm);
      await entry.is('waiting for its window', ({ substate }) => substate === 'awaiting-window');
      const copy = stage.script.holds(vm, 'copyDisk');
      await entry.update(messages.cutover);
      await stage.during(copy.arrived);
      return entry;
    },
    does: ['target stopped', 'source on', 'pass 2 ended'],
    hasTarget: true,
  },
  {
    from: 'post-import (batch/S44)',
    make: { needsAdapting: true },
    reach: (vm) => during(vm, 'adaptGuest'),
    does: ['target stopped', 'source on'],
    hasTarget: true,
  },
  {
    from: 'final checks',
    reach: (vm) => during(vm, 'finalCheck'),
    does: ['target stopped', 'source on'],
    hasTarget: true,
  },
  {
    from: 'starting the target',
    reach: (vm) => during(vm, 'startTarget'),
    does: ['target stopped', 'source on'],
    hasTarget: true,
  },
  {
    from: 'Conflict, not committed',
    reach: async (vm) => {
      const entry = await started(vm, { begins: 'Conflict' });
      await entry.reaches('Conflict');
      return entry;
    },
    does: [],
    hasTarget: false,
  },
  {
    from: 'Conflict, committed',
    make: { finding: networkGone },
    reach: async (vm) => {
      const entry = await started(vm);
      await entry.reaches('Conflict', 'complete');
      return entry;
    },
    does: ['target stopped', 'source on'],
    hasTarget: true,
  },
  {
    from: 'Error',
    make: { finding: otherVm },
    reach: async (vm) => {
      const entry = await started(vm);
      await entry.reaches('Error');
      return entry;
    },
    does: ['target stopped'],
    hasTarget: true,
  },
];

for (const { from, make, reach, does, hasTarget } of cases)
  for (const cleanup of [false, true])
    test(`cancel ${cleanup ? 'with' : 'without'} cleanup from ${from}`, async () => {
      stage.limits.create = stage.limits.import = 1;
      const vm = stage.world.add('vm01', make ?? {});
      const entry = await reach(vm);
      const before = stage.world.story(vm).length;
      const canceling = entry.update(messages.cancel, { cleanup, reason: 'not tonight' });
      assert.equal(await stage.during(canceling), 'canceled');

      const deleted = cleanup && hasTarget ? ['target deleted'] : [];
      assert.deepEqual(withoutNoise(stage.world.story(vm).slice(before)), [...does, ...deleted]);
      const { entryStatus, stage: at, message, committed, window, substate, conflict } = await entry.view();
      assert.deepEqual([entryStatus, at, committed], ['Canceled', 'background', false]);
      assert.deepEqual([window, substate, conflict], [undefined, undefined, undefined]);
      assert.match(message, /canceled by ops: not tonight/);
      assert.deepEqual([vm.power, vm.snapshots, vm.openPass], ['on', [], undefined]);
      assert.equal(stage.world.target(vm.record) !== undefined, hasTarget && !cleanup);
      const holders = await stage.slotHolders();
      assert.ok(!holders.includes(vm.record.uuid), 'it keeps or awaits a slot');

      // And it can be taken up again.
      stage.script.clear();
      delete vm.blocked;
      delete vm.finding;
      Object.assign(stage.limits, { create: 0, import: 0 });
      await entry.update(messages.retry);
      await entry.reaches('Finished', undefined, { withinMs: 10 * hour, stepMs: minute });
      assert.deepEqual([vm.power, stage.world.finished(vm)?.isRunning], ['off', true]);
    });

/** Beginnings and copies that were under way and are of no interest here. */
function withoutNoise(story: readonly string[]): readonly string[] {
  return story.filter((what) => !['target created', 'all copied', 'changes copied', 'guest adapted'].includes(what));
}

test('a cancel is refused in Finished and in Canceled', async () => {
  const [done, ended] = [stage.world.add('vm01'), stage.world.add('vm02', { blocked: 'no address' })];
  const first = await started(done);
  const second_ = await started(ended);
  await first.reaches('Finished');
  await second_.reaches('Blocked');
  await second_.update(messages.cancel);
  for (const entry of [first, second_])
    await assertRefused(
      entry.update(messages.cancel),
      /it is (finished: its target is in production|canceled already)/,
    );
  assert.equal(stage.world.finished(done)?.isRunning, true);
});

test('an order without a name is refused', async () => {
  const vm = stage.world.add('vm01', { blocked: 'no address' });
  const entry = await started(vm);
  await entry.reaches('Blocked');
  for (const order of [messages.cancel, messages.delete, messages.hold, messages.cutover]) {
    for (const by of ['', undefined, 7]) await assertRefused(entry.update(order, { by }), /say who wants it/);
    await assertRefused(entry.handle.executeUpdate(order), /say who wants it/);
  }
  assert.equal((await entry.view()).entryStatus, 'Blocked');
});

test('batch/C19 a cancel that can not reach the source says so, frees its slots, and goes on until it is done', async () => {
  const vm = stage.world.add('vm01', { finding: networkGone });
  stage.limits.import = 1;
  const entry = await started(vm);
  await entry.reaches('Conflict', 'complete');
  const heal = stage.script.fails(vm, 'powerOnSource', { message: 'vCenter does not answer' });
  const answer = await stage.during(entry.update(messages.cancel, { cleanup: true }));
  assert.match(answer, /takes longer/);
  const { entryStatus, substate, waitingFor } = await entry.view();
  assert.deepEqual([entryStatus, substate, waitingFor], ['Canceled', 'cleanup-pending', 'far-side']);
  for (const order of [messages.retry, messages.delete, messages.cleanup])
    await assertRefused(entry.update(order), /still being cleaned up/);
  assert.ok(stage.world.target(vm.record) !== undefined, 'the target was deleted before the source was on');
  assert.deepEqual(await stage.slotHolders(), []);
  heal();
  await entry.is('cleaned up', (view) => view.substate === undefined);
  assert.deepEqual([vm.power, stage.world.target(vm.record)], ['on', undefined]);
  await entry.update(messages.delete);
});

test('what is started is finished or stopped, never both guests run: a cancel while the target is handed over', async () => {
  const vm = stage.world.add('vm01');
  const entry = await during(vm, 'releaseTarget');
  await stage.during(entry.update(messages.cancel)).catch(() => undefined);
  await stage.advance(minute);
  const { entryStatus } = await entry.view();
  assert.ok(entryStatus === 'Finished' || entryStatus === 'Canceled');
  assert.equal(vm.power, entryStatus === 'Finished' ? 'off' : 'on');
});

test('a creation, shut-down or start that does not heed the cancel is over before anything is undone', async () => {
  const does = {
    createTarget: ['target created', 'target stopped'],
    powerOffSource: ['source off', 'target stopped', 'source on'],
    startTarget: ['target started', 'target stopped', 'source on'],
  } as const;
  for (const activity of ['createTarget', 'powerOffSource', 'startTarget'] as const)
    for (const cleanup of [false, true]) {
      const vm = stage.world.add(`vm-${activity.toLowerCase()}-${cleanup}`);
      const held = stage.script.holds(vm, activity, { isStubborn: true });
      const entry = await started(vm);
      await held.arrived;
      const before = stage.world.story(vm).length;
      const canceling = entry.update(messages.cancel, { cleanup });
      await stage.advance(second);
      assert.notEqual((await entry.view()).entryStatus, 'Canceled', 'it was undone while the call was under way');
      held.release();
      assert.equal(await canceling, 'canceled');
      const deleted = cleanup ? ['target deleted'] : [];
      assert.deepEqual(stage.world.story(vm).slice(before), [...does[activity], ...deleted]);
      assert.deepEqual([vm.power, stage.world.target(vm.record) === undefined], ['on', cleanup]);
    }
});

test('somebody cancels the workflow of an entry: as the order, without cleanup', async () => {
  const vm = stage.world.add('vm01');
  const entry = await during(vm, 'finalCheck');
  await entry.handle.cancel();
  await entry.reaches('Canceled');
  assert.equal(vm.power, 'on');
  assert.ok(stage.world.target(vm.record) !== undefined);
  await entry.update(messages.retry);
  await entry.reaches('Finished');
});

test('retry goes on with an intact copy, and begins anew with one that was adapted', async () => {
  const intact = stage.world.add('vm01');
  const entry = await during(intact, 'finalCheck');
  await entry.update(messages.cancel);
  await entry.update(messages.retry);
  await entry.reaches('Finished');
  assert.equal(stage.world.story(intact).filter((what) => what === 'all copied').length, 1);
  assert.ok(stage.world.story(intact).includes('target adopted'));

  const adapted = stage.world.add('vm02', { needsAdapting: true });
  const other = await during(adapted, 'finalCheck');
  await other.update(messages.cancel);
  await other.update(messages.retry);
  await other.reaches('Finished');
  assert.equal(stage.world.story(adapted).filter((what) => what === 'all copied').length, 2);
  assert.ok(stage.world.story(adapted).includes('target deleted'));
});

test('retry of a VM that can not begin now is Blocked with the reason', async () => {
  const vm = stage.world.add('vm01');
  const entry = await during(vm, 'copyDisk');
  await entry.update(messages.cancel);
  vm.blocked = 'its network is gone';
  await entry.update(messages.retry);
  const { message } = await entry.reaches('Blocked');
  assert.equal(message, 'its network is gone');
});

test('a retry that can not be planned now fails with the reason, and is Canceled as before', async () => {
  const vm = stage.world.add('vm01');
  const entry = await during(vm, 'copyDisk');
  await entry.update(messages.cancel);
  const heal = stage.script.fails(vm, 'replanEntry', { type: 'Forbidden', message: 'no right to read' });
  await assertRefused(entry.update(messages.retry), /no right to read/, 'Forbidden');
  assert.equal((await entry.view()).entryStatus, 'Canceled');
  heal();
  await entry.update(messages.retry);
  await entry.reaches('Finished');
});

test('cleanup of what was canceled without it deletes its target', async () => {
  const vm = stage.world.add('vm01');
  const entry = await during(vm, 'finalCheck');
  await assertRefused(entry.update(messages.cleanup), /only what is Canceled or an Error/);
  await entry.update(messages.cancel);
  await entry.update(messages.cleanup);
  assert.equal(stage.world.target(vm.record), undefined);
  assert.equal((await entry.view()).entryStatus, 'Canceled');
});

test('delete is refused while it migrates; what is over is forgotten, its target stays', async () => {
  const vm = stage.world.add('vm01');
  const entry = await during(vm, 'copyDisk');
  await assertRefused(entry.update(messages.delete), /cancel it first/);
  await entry.update(messages.cancel);
  await entry.update(messages.delete);
  await entry.ends();
  assert.ok(stage.world.target(vm.record) !== undefined);
});

test('held: copied and topped up, never committed; unheld: on its way', async () => {
  const vm = stage.world.add('vm01');
  const copy = stage.script.holds(vm, 'copyDisk');
  const entry = await started(vm, { config: { background_sync_interval: hour } });
  await copy.arrived;
  await entry.update(messages.hold);
  copy.release();
  const held = await entry.is('held', ({ message }) => message.startsWith('held'));
  assert.match(held.message, /unhold/);
  await assertRefused(entry.update(messages.cutover), /it is held/);
  await stage.advance(150 * minute);
  assert.equal(vm.power, 'on');
  assert.equal(stage.world.story(vm).filter((what) => what === 'changes copied').length, 2);
  await entry.update(messages.unhold);
  await assertRefused(entry.update(messages.unhold), /it is not held/);
  await entry.reaches('Finished');
});

test('held just as its window begins: its place goes back', async () => {
  const vm = stage.world.add('vm01');
  const base = await stage.soon();
  const batch = await stage.batch({ vms: [vm], windows: [aWindow('w1', base, [hour, 9 * hour], { capacity: 1 })] });
  await batch.start();
  const entry = batch.entry(vm);
  const look = stage.script.holds(vm, 'readSourcePower');
  await entry.is('waiting for its window', ({ substate }) => substate === 'awaiting-window');
  await stage.advanceTo(base + hour + second);
  await stage.during(look.arrived);
  await entry.update(messages.hold);
  look.release();
  await stage.until('the place to be free', async () => (await batch.view()).windows[0]?.held === 0);
  assert.equal(vm.power, 'on');
  await entry.update(messages.unhold);
  await entry.reaches('Finished');
});

test('cutover commits at once, without its window', async () => {
  const vm = stage.world.add('vm01');
  const entry = await farWindow(vm);
  await entry.is('waiting for its window', ({ substate }) => substate === 'awaiting-window');
  await entry.update(messages.cutover);
  await entry.reaches('Finished', undefined, { withinMs: 5 * minute });
  await assertRefused(entry.update(messages.cutover), /it is Finished already/);
});

test('a place that comes when it has said that it is held is none, also when it is not held any more', async () => {
  const vm = stage.world.add('vm01');
  const base = await stage.soon();
  const batch = await stage.batch({
    vms: [vm],
    windows: [aWindow('w1', base, [20 * hour, 30 * hour])],
    config: { background_sync_interval: hour, final_background_sync_limit: minute },
  });
  await batch.start();
  const entry = batch.entry(vm);
  await entry.is('ready', ({ substate }) => substate === 'awaiting-window');
  await entry.update(messages.hold);
  await entry.is('held', ({ message }) => /unhold/.test(message));
  const copy = stage.script.holds(vm, 'copyDisk');
  await stage.during(copy.arrived);
  const { events } = await entry.handle.fetchHistory();
  const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
  const { token } = (JSON.parse(Buffer.from(input ?? []).toString()) as MigrationInput).entry;
  await entry.handle.signal<[CommitGranted]>(messages.commitGranted, { token });
  await entry.update(messages.unhold);
  copy.release();
  await entry.is('ready', ({ substate }) => substate === 'awaiting-window');
  await stage.advance(10 * minute);
  assert.deepEqual([vm.power, (await entry.view()).committed], ['on', false]);
});
