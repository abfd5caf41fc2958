import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { SourceVm } from '../../support/entry-world.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Stage } from './stage.ts';
import { aWindow, hour, minute, second } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

/** When the source first went off. */
function offAt(vm: SourceVm): number {
  return stage.world.of(vm).find(({ what }) => what === 'source off')?.at ?? Infinity;
}

/** Up to this time after `base`. */
async function advanceTo(base: number, ms: number): Promise<void> {
  await stage.advanceTo(base + ms);
}

test('batch/S18 a window ahead: copied before, the source on until it begins, the window is foreseen', async () => {
  const vm = stage.world.add('vm01');
  const base = await stage.soon();
  const w1 = aWindow('w1', base, [hour, 5 * hour]);
  const batch = await stage.batch({ vms: [vm], windows: [w1] });
  const entry = batch.entry(vm);
  await batch.start();
  const ready = await entry.is('waiting for its window', ({ substate }) => substate === 'awaiting-window');
  assert.match(ready.message, /window w1/);
  assert.equal(ready.deadline, w1.start);
  assert.deepEqual([ready.window, ready.waitingFor, ready.committed], [undefined, 'window', false]);
  await stage.until('the batch to know', async () => (await batch.view()).ready === 1);

  await advanceTo(base, hour - second);
  assert.equal(vm.power, 'on');
  await entry.reaches('Finished');
  assert.ok(offAt(vm) >= base + hour, 'the source was off before its window began');
  assert.ok(offAt(vm) < base + hour + minute, 'the source was off long after its window had begun');
});

test('after its lockout nobody begins in a window, and what is ready then waits for the next', async () => {
  const [early, late] = [stage.world.add('vm01'), stage.world.add('vm02', { blocked: 'no address yet' })];
  const base = await stage.soon();
  const w1 = aWindow('w1', base, [-hour, 2 * hour], { lockout: 30 * minute });
  const w2 = aWindow('w2', base, [4 * hour, 6 * hour]);
  const batch = await stage.batch({ vms: [early, late], windows: [w1, w2] });
  await batch.start();
  await batch.entry(early).reaches('Finished');
  await advanceTo(base, 31 * minute);
  delete late.blocked;
  await batch.entry(late).reaches('Idle', 'final');
  await batch.entry(late).is('told of its window', ({ message }) => /w2/.test(message));
  await advanceTo(base, 4 * hour - second);
  assert.equal(late.power, 'on');
  await batch.entry(late).reaches('Finished');
});

test('a window that is too short for what its constraint needs is left out', async () => {
  const vm = stage.world.add('vm01', { constraint: { name: 'big', minBootMs: 59 * minute } });
  const constraint = { name: 'big', description: '', include_expression: 'true', min_instance_boot_time: 59 * minute };
  const base = await stage.soon();
  const windows = [aWindow('w1', base, [hour, 2 * hour]), aWindow('w2', base, [3 * hour, 5 * hour])];
  const batch = await stage.batch({
    vms: [vm],
    windows,
    constraints: [{ ...constraint, max_concurrent_instances: 0 }],
  });
  await batch.start();
  await batch.entry(vm).reaches('Finished', undefined, { withinMs: 4 * hour, stepMs: minute });
  assert.ok(offAt(vm) >= base + 3 * hour, 'it began in the short window');
});

test('batch/S21 capacity 1: one is committed, the other stays as it is, also after the window', async () => {
  const vms = [stage.world.add('vm01'), stage.world.add('vm02')] as const;
  const base = await stage.soon();
  const batch = await stage.batch({ vms, windows: [aWindow('w1', base, [hour, 2 * hour], { capacity: 1 })] });
  await batch.start();
  for (const vm of vms) await batch.entry(vm).reaches('Idle', 'final');
  await advanceTo(base, hour - second);
  // Whoever is first has its place until it is too late for the other.
  for (const vm of vms) stage.script.takes(vm, 'copyDisk', 59 * minute + 30 * second);
  await advanceTo(base, hour + minute);
  const [window] = (await batch.view()).windows;
  assert.deepEqual([window?.held, window?.state], [1, 'open']);
  const [first, other] = vms[0].power === 'off' ? vms : [vms[1], vms[0]];
  assert.deepEqual([first.power, other.power], ['off', 'on']);
  await batch.entry(first).reaches('Finished', undefined, { withinMs: hour, stepMs: 10 * second });
  await advanceTo(base, 4 * hour);
  assert.equal((await batch.entry(other).view()).entryStatus, 'Idle');
  assert.ok(!stage.world.story(other).includes('source off'));
  assert.equal((await batch.view()).windows[0]?.state, 'over');
});

test('batch/S19 capacity, lockout, boot time and a limit in one night: everybody has the window that it should', async () => {
  const big = { name: 'c2', minBootMs: 45 * minute };
  const few = { name: 'c1', minBootMs: 0 };
  const [a, b, c, d, e] = [
    stage.world.add('a'),
    stage.world.add('b', { constraint: big }),
    stage.world.add('c', { constraint: big }),
    stage.world.add('d', { constraint: few }),
    stage.world.add('e', { constraint: few }),
  ];
  const vms = [a, b, c, d, e];
  const base = await stage.soon();
  const ten = hour;
  const eleven = ten + hour;
  const two = ten + 4 * hour;
  const batch = await stage.batch({
    vms,
    windows: [
      aWindow('w1', base, [ten, eleven], { capacity: 2, lockout: ten + 40 * minute }),
      aWindow('w2', base, [two, two + 3 * hour]),
    ],
    constraints: [
      {
        name: 'c1',
        description: '',
        include_expression: 'true',
        max_concurrent_instances: 1,
        min_instance_boot_time: 0,
      },
      {
        name: 'c2',
        description: '',
        include_expression: 'true',
        max_concurrent_instances: 0,
        min_instance_boot_time: 45 * minute,
      },
    ],
  });
  // They are ready one after the other.
  const copies = vms.map((vm) => stage.script.holds(vm, 'copyDisk'));
  await batch.start();
  for (const [at, copy] of copies.entries()) {
    copy.release();
    await batch.entry(vms[at] as SourceVm).is('ready', ({ substate }) => substate === 'awaiting-window');
  }
  /** The windows of those that have one, at this time. What the clock has set off may still be on its way. */
  const hold = async (ms: number, expected: Readonly<Record<string, string>>): Promise<void> => {
    await advanceTo(base, ms);
    await waitFor('everybody to have the window that it should', async () => {
      const views = await Promise.all(
        vms.map(async (vm) => [vm.record.name, (await batch.entry(vm).view()).window] as const),
      );
      assert.deepEqual(Object.fromEntries(views.filter(([, window]) => window !== undefined)), expected);
      return true;
    });
  };
  await hold(ten - minute, {});
  stage.script.takes(a, 'copyDisk', 12 * minute);
  stage.script.takes(b, 'copyDisk', 31 * minute);
  stage.script.takes(c, 'copyDisk', 59 * minute);
  stage.script.takes(d, 'copyDisk', 21 * minute);
  await hold(ten + minute, { a: 'w1', b: 'w1' });
  await hold(ten + 13 * minute, { b: 'w1', c: 'w1' });
  await hold(ten + 32 * minute, { c: 'w1', d: 'w1' });
  await hold(ten + 41 * minute, { c: 'w1', d: 'w1' });
  await hold(ten + 54 * minute, { c: 'w1' });
  assert.match((await batch.entry(e).view()).message, /w2/);
  await hold(eleven + minute, {});
  const { entryStatus, stage: at } = await batch.entry(c).view();
  assert.deepEqual([entryStatus, at, c.power, e.power], ['Idle', 'final', 'on', 'on']);
  stage.script.clear();
  stage.script.takes(c, 'copyDisk', 5 * minute);
  stage.script.takes(e, 'copyDisk', 5 * minute);
  await hold(two + minute, { c: 'w2', e: 'w2' });
  assert.deepEqual((await batch.view()).constraints[0], { name: 'c1', max: 1, held: 1 });
  await batch.becomes('Finished', { withinMs: hour, stepMs: minute });
});

test('a place that is free again is given to the next while the window still fits', async () => {
  const vms = [stage.world.add('vm01'), stage.world.add('vm02')] as const;
  const base = await stage.soon();
  const batch = await stage.batch({ vms, windows: [aWindow('w1', base, [hour, 2 * hour], { capacity: 1 })] });
  await batch.start();
  for (const vm of vms) await batch.entry(vm).reaches('Idle', 'final');
  await batch.becomes('Finished', { withinMs: 2 * hour, stepMs: minute });
  const [first, other] = offAt(vms[0]) < offAt(vms[1]) ? vms : [vms[1], vms[0]];
  const finishedAt = stage.world.of(first).find(({ what }) => what === 'target released')?.at ?? Infinity;
  assert.ok(offAt(other) >= finishedAt, 'both held the one place');
  assert.ok(offAt(other) < base + 2 * hour, 'the free place was not given');
});

test('batch/S22 constraint max 1: one in Conflict with its source off keeps the other from its downtime', async () => {
  const constraint = { name: 'db', minBootMs: 0 };
  const finding = { code: 'NETWORK_GONE', message: 'network lan is gone', expected: 'lan', found: 'nothing' } as const;
  const first = stage.world.add('vm01', { constraint, finding });
  const other = stage.world.add('vm02', { constraint });
  const most = { name: 'db', description: '', include_expression: 'true', max_concurrent_instances: 1 };
  const batch = await stage.batch({
    vms: [first, other],
    constraints: [{ ...most, min_instance_boot_time: 0 }],
  });
  const held = stage.script.holds(other, 'copyDisk');
  await batch.start();
  await batch.entry(first).reaches('Conflict', 'complete');
  held.release();
  await batch.entry(other).is('ready', ({ substate }) => substate === 'awaiting-window');
  await stage.advance(20 * minute);
  assert.equal(other.power, 'on');
  assert.deepEqual((await batch.view()).constraints, [{ name: 'db', max: 1, held: 1 }]);

  delete first.finding;
  await batch.entry(first).resolve();
  await batch.becomes('Finished');
});
