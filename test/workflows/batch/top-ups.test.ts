import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { SourceVm } from '../../support/entry-world.ts';
import { Stage } from './stage.ts';
import { aWindow, hour, minute, second } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

/** When its background passes began, the first copy left out. */
function topUps(vm: SourceVm): number[] {
  const passes = stage.world.of(vm).filter(({ what }) => what.endsWith('(background)'));
  return passes.slice(1).map(({ at }) => at);
}

interface Evening {
  /** When the first copy ended. */
  readonly copied: number;
  /** When the window begins. */
  readonly start: number;
}

/**
 * A first copy that is done so long before a window begins, then this time with top-ups that take two minutes, until the VM is
 * Finished in it.
 */
async function evening(
  vm: SourceVm,
  { intervalMs, limitMs, aheadMs }: { intervalMs: number; limitMs: number; aheadMs: number },
): Promise<Evening> {
  const config = { background_sync_interval: intervalMs, final_background_sync_limit: limitMs };
  const base = await stage.server.now();
  const batch = await stage.batch({ vms: [vm], config, windows: [aWindow('far', base, [20 * hour, 30 * hour])] });
  await batch.start();
  const { lastSync = '' } = await batch.entry(vm).reaches('Idle', 'final');
  const copied = Date.parse(lastSync);
  const start = copied + aheadMs;
  stage.script.takes(vm, 'copyDisk', 2 * minute);
  await batch.edit({ migration_windows: [aWindow('w1', start, [0, 4 * hour])] });
  await batch.entry(vm).reaches('Finished', undefined, { withinMs: 2 * hour, stepMs: minute });
  return { copied, start };
}

/** Within seconds: the clock of the server also runs by itself. */
function assertTimes(found: readonly number[], expected: readonly number[]): void {
  const isNear = (time: number, at: number): boolean => Math.abs(time - (expected[at] ?? Infinity)) < 5 * second;
  const shown = (times: readonly number[]): string => times.map((time) => new Date(time).toISOString()).join(', ');
  const isRight = found.length === expected.length && found.every(isNear);
  assert.ok(isRight, `top-ups at ${shown(found)}, expected at ${shown(expected)}`);
}

test('batch/S20 example B: one after the interval, one in the last limit before the window, then the commit', async () => {
  const vm = stage.world.add('vm01');
  const { copied, start } = await evening(vm, { intervalMs: 30 * minute, limitMs: 10 * minute, aheadMs: 55 * minute });
  assertTimes(topUps(vm), [copied + 30 * minute, start - 10 * minute]);
  const off = stage.world.of(vm).find(({ what }) => what === 'source off');
  assert.ok(off !== undefined && off.at >= start && off.at < start + minute);
});

test('batch/S20 example C: the interval is longer than what is left, so exactly one', async () => {
  const vm = stage.world.add('vm01');
  const { start } = await evening(vm, { intervalMs: hour, limitMs: 10 * minute, aheadMs: 55 * minute });
  assertTimes(topUps(vm), [start - 10 * minute]);
});

test('batch/S20 example D: copied a quarter of an hour before, one in the last limit and none after', async () => {
  const vm = stage.world.add('vm01');
  const { start } = await evening(vm, { intervalMs: 10 * minute, limitMs: 10 * minute, aheadMs: 15 * minute });
  assertTimes(topUps(vm), [start - 10 * minute]);
});

test('batch/S20 copied within the last limit before the window: none', async () => {
  const vm = stage.world.add('vm01');
  await evening(vm, { intervalMs: 10 * minute, limitMs: 10 * minute, aheadMs: 9 * minute });
  assertTimes(topUps(vm), []);
});

test('without a window ahead it is copied once more after each interval', async () => {
  const vm = stage.world.add('vm01');
  const batch = await stage.batch({ vms: [vm], config: { background_sync_interval: hour } });
  const held = stage.script.holds(vm, 'copyDisk');
  await batch.start();
  const entry = batch.entry(vm);
  await held.arrived;
  await entry.update('hold');
  held.release();
  const { lastSync = '' } = await entry.reaches('Idle', 'final');
  await stage.advance(3 * hour + 30 * minute);
  assertTimes(
    topUps(vm),
    [1, 2, 3].map((n) => Date.parse(lastSync) + n * hour),
  );
});

test('a top-up that runs when the window begins is finished, and the commit follows', async () => {
  const vm = stage.world.add('vm01');
  const config = { background_sync_interval: hour, final_background_sync_limit: 10 * minute };
  const base = await stage.server.now();
  const batch = await stage.batch({ vms: [vm], config, windows: [aWindow('w1', base, [hour, 9 * hour])] });
  await batch.start();
  await batch.entry(vm).reaches('Idle', 'final');
  stage.script.takes(vm, 'copyDisk', 25 * minute);
  await batch.entry(vm).reaches('Finished', undefined, { withinMs: 3 * hour, stepMs: minute });
  const story = stage.world.of(vm);
  const ended = story.find(({ what }) => what === 'pass 2 ended')?.at ?? Infinity;
  const off = story.find(({ what }) => what === 'source off')?.at ?? Infinity;
  assert.ok(ended > base + hour, 'the top-up was over before the window began');
  assert.ok(off >= ended && off < ended + minute, 'the commit did not follow the top-up');
  assert.deepEqual(topUps(vm).length, 1);
});
