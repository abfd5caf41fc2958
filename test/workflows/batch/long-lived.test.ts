import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { batchSlotsId, copyPassId, shardId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { Stage } from './stage.ts';
import { hour, minute } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

async function events(workflowId: string): Promise<number> {
  const { events: all } = await stage.server.client.workflow.getHandle(workflowId).fetchHistory();
  return all?.length ?? 0;
}

/** The same as `events`, with those of the runs before. */
test('an entry that was topped up more than a hundred times goes on in a new run with all it knew', async (t) => {
  const vm = stage.world.add('vm01');
  const copy = stage.script.holds(vm, 'copyDisk');
  const config = { background_sync_interval: minute, final_background_sync_limit: minute };
  const batch = await stage.batch({ vms: [vm], config });
  await batch.start();
  const entry = batch.entry(vm);
  await copy.arrived;
  await entry.update(messages.hold);
  copy.release();
  await entry.reaches('Idle', 'final');
  const firstRun = (await entry.handle.describe()).runId;
  const before = await entry.view();
  await stage.until('a new run', async () => (await entry.handle.describe()).runId !== firstRun, {
    withinMs: 12 * hour,
    stepMs: 5 * minute,
  });
  const passes = stage.world.story(vm).filter((what) => what.endsWith('(background)')).length;
  t.diagnostic(`a new run after ${passes} passes`);
  assert.ok(passes > 100);

  const { entryStatus, stage: at, placement, copyPass, lastSync, message } = await entry.view();
  assert.deepEqual([entryStatus, at, placement], ['Idle', 'final', before.placement]);
  assert.match(message, /held/);
  assert.ok((copyPass ?? 0) >= passes - 1);
  assert.ok(Date.parse(lastSync ?? '') > Date.parse(before.lastSync ?? ''));
  assert.equal((await entry.timeline()).length, 60);
  assert.equal(stage.world.story(vm).filter((what) => what === 'all copied').length, 1);
  stage.world.write(vm);
  await entry.update(messages.unhold);
  await entry.reaches('Finished');
  assert.equal(stage.world.story(vm).filter((what) => what === 'all copied').length, 1);
});

test('the histories of an ordinary migration are short', async (t) => {
  const vm = stage.world.add('vm01', { needsAdapting: true });
  const batch = await stage.batch({ vms: [vm] });
  await batch.start();
  const entry = batch.entry(vm);
  await entry.reaches('Finished');
  const own = await events(entry.handle.workflowId);
  const passes = [await events(copyPassId(vm.record.uuid, 1)), await events(copyPassId(vm.record.uuid, 2))];
  t.diagnostic(`migration: ${own} events; its two passes: ${passes.join(' and ')}`);
  assert.ok(own <= 160, `${own} events of the migration`);
  for (const pass of passes) assert.ok(pass <= 30, `${pass} events of a pass`);
});

test('outside its own workflows a VM costs a few events', async (t) => {
  const vms = Array.from({ length: 50 }, (_, at) => stage.world.add(`vm${at}`));
  Object.assign(stage.limits, { create: 10, import: 20 });
  const batch = await stage.batch({ vms });
  await batch.start();
  await batch.becomes('Finished', { withinMs: hour });
  const parts = {
    batch: await events(batch.handle.workflowId),
    shard: await events(shardId(batch.name, 0)),
    slots: await events(batchSlotsId(stage.taskQueue)),
  };
  const perVm = (parts.batch + parts.shard + parts.slots) / vms.length;
  t.diagnostic(`${JSON.stringify(parts)}: ${perVm.toFixed(1)} events per VM`);
  assert.ok(perVm <= 12, `${perVm} events per VM`);
});
