import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { batchSlotsId, copyPassId, shardId } from '../../../workflows/contracts/ids.ts';
import type { ShardNews } from '../../../workflows/contracts/batch.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Stage } from './stage.ts';
import { aWindow, hour, minute } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

/** Of its last run, where no other is named. */
async function events(workflowId: string, runId?: string): Promise<number> {
  const { events: all } = await stage.server.client.workflow.getHandle(workflowId, runId).fetchHistory();
  return all?.length ?? 0;
}

test('an entry that is topped up again and again goes on in a new run with all it knew', async (t) => {
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
  const length = await events(entry.handle.workflowId, firstRun);
  t.diagnostic(`a new run after ${passes} passes, ${length} events`);
  assert.ok(passes > 50 && passes <= 101, `a new run after ${passes} passes`);
  assert.ok(length < 3_200, `${length} events in one run`);

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

test('batch/C23 a batch goes on in a new run while a resolve is under way: the resolve is answered, the place is kept', async () => {
  const finding = { code: 'NETWORK_GONE', message: 'network lan is gone', expected: 'lan', found: 'nothing' } as const;
  const vm = stage.world.add('vm01', { finding });
  const windows = [aWindow('w1', await stage.server.now(), [-minute, 9 * hour], { capacity: 1 })];
  const batch = await stage.batch({ vms: [vm], windows });
  await batch.start();
  const entry = batch.entry(vm);
  await entry.reaches('Conflict', 'complete');
  const checks = stage.script.holds(vm, 'finalCheck');
  const resolving = entry.resolve();
  await checks.arrived;
  const { counts } = await batch.view();
  const firstRun = (await batch.handle.describe()).runId;
  const news: ShardNews = { shard: 0, counts, members: 1, requests: [], released: [] };
  for (let sent = 0; sent < 3_800; sent += 200)
    await Promise.all(Array.from({ length: 200 }, () => batch.handle.signal(messages.shardNews, news)));
  await waitFor('a new run', async () => (await batch.handle.describe()).runId !== firstRun, { timeoutMs: 60_000 });
  assert.equal((await batch.view()).windows[0]?.held, 1);
  delete vm.finding;
  checks.release();
  assert.deepEqual(await resolving, { result: 'finished' });
  await batch.becomes('Finished');
  assert.equal((await batch.view()).windows[0]?.held, 0);
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
  assert.ok(own <= 170, `${own} events of the migration`);
  for (const pass of passes) assert.ok(pass <= 30, `${pass} events of a pass`);
});

/** Three times slots, each asked for, granted and given back; a dozen news; one place in a window. */
test('outside its own workflows a VM costs less than forty events', async (t) => {
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
  t.diagnostic(JSON.stringify(parts));
  const most = { batch: 6, shard: 16, slots: 18 };
  for (const part of ['batch', 'shard', 'slots'] as const)
    assert.ok(parts[part] / vms.length <= most[part], `${part}: ${parts[part] / vms.length} events per VM`);
});
