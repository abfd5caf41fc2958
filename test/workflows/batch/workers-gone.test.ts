import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { SourceVm } from '../../support/entry-world.ts';
import type { EntryUnderTest } from './batch-under-test.ts';
import { Stage } from './stage.ts';
import { aWindow, hour, second } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open({ cached: 0 })));
afterEach(() => stage.clear());
after(() => stage.close());

/** Runs until a second before its window ends; then nobody is there for two. */
async function withoutWorkersAtTheEnd(vm: SourceVm, begin: () => void): Promise<EntryUnderTest> {
  const base = await stage.soon();
  const to = async (ms: number): Promise<void> => stage.advanceTo(base + ms);
  const windows = [aWindow('w1', base, [hour, 2 * hour]), aWindow('w2', base, [5 * hour, 9 * hour])];
  const batch = await stage.batch({ vms: [vm], windows, settings: { finalizePauseMs: 3 * hour } });
  await batch.start();
  await to(hour - second);
  begin();
  await to(2 * hour - second);
  await stage.stopWorkers();
  await to(2 * hour + second);
  assert.equal(vm.power, 'off');
  await stage.startWorkers();
  return batch.entry(vm);
}

test('batch/C18 the window ends while no worker is there: it is undone as soon as one is', async () => {
  const vm = stage.world.add('vm01');
  const entry = await withoutWorkersAtTheEnd(vm, () => stage.script.takes(vm, 'copyDisk', 20 * hour));
  await entry.reaches('Idle', 'final');
  assert.deepEqual([vm.power, vm.openPass], ['on', undefined]);
});

test('batch/C18 the window ends while no worker is there and the target runs already: it is Finished', async () => {
  const vm = stage.world.add('vm01');
  const entry = await withoutWorkersAtTheEnd(vm, () => stage.script.fails(vm, 'startTarget', { afterwards: true }));
  await entry.reaches('Finished');
  assert.deepEqual([vm.power, stage.world.finished(vm)?.isRunning], ['off', true]);
});
