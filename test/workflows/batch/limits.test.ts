import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { copyPassId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { SourceVm } from '../../support/entry-world.ts';
import type { BatchUnderTest } from './batch-under-test.ts';
import { Stage } from './stage.ts';
import { minute } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

async function started(...vms: readonly SourceVm[]): Promise<BatchUnderTest> {
  const batch = await stage.batch({ vms });
  await batch.start();
  return batch;
}

test('batch/S25 a final import keeps its slot to its end; a first copy waits for it, and keeps nobody from finishing', async () => {
  const [first, other] = [stage.world.add('vm01'), stage.world.add('vm02')];
  stage.limits.import = 1;
  const off = stage.script.holds(first, 'powerOffSource');
  const one = (await started(first)).entry(first);
  await off.arrived;
  const two = (await started(other)).entry(other);
  const { waitingFor } = await two.is('waiting', ({ substate }) => substate === 'awaiting-import-slot');
  assert.equal(waitingFor, 'slot');
  assert.ok(!stage.world.story(other).includes('pass 1 (background)'));

  const copy = stage.script.holds(other, 'copyDisk');
  off.release();
  await stage.during(copy.arrived);
  await one.reaches('Finished');
  assert.deepEqual(await stage.slotHolders(), [other.record.uuid]);
  copy.release();
  await two.reaches('Finished');
});

test('a final import goes before first copies that asked earlier', async () => {
  const [first, other, last] = [stage.world.add('vm01'), stage.world.add('vm02'), stage.world.add('vm03')];
  const batch = await started(last);
  const entry = batch.entry(last);
  const look = stage.script.holds(last, 'readSourcePower');
  await stage.during(look.arrived);
  stage.limits.import = 1;
  const copy = stage.script.holds(first, 'copyDisk');
  await started(first);
  await copy.arrived;
  const waiting = (await started(other)).entry(other);
  await waiting.is('waiting', ({ substate }) => substate === 'awaiting-import-slot');
  look.release();
  await entry.is('waiting', ({ substate }) => substate === 'awaiting-import-slot');
  copy.release();
  await entry.reaches('Finished');
  await waiting.reaches('Finished');
  const order = stage.world.journal.map(({ vm, what }) => `${vm} ${what}`);
  assert.ok(order.indexOf('vm03 source off') < order.indexOf('vm02 pass 1 (background)'));
});

test('batch/C20 somebody terminates an entry that holds a slot: who waits for it has it within minutes', async () => {
  const [first, other] = [stage.world.add('vm01'), stage.world.add('vm02')];
  stage.limits.import = 1;
  const copy = stage.script.holds(first, 'copyDisk');
  const one = (await started(first)).entry(first);
  await copy.arrived;
  const two = (await started(other)).entry(other);
  await two.is('waiting', ({ substate }) => substate === 'awaiting-import-slot');
  await one.handle.terminate('by mistake');
  // As other servers do with the children of one that is terminated.
  await stage.server.client.workflow.getHandle(copyPassId(first.record.uuid, 1)).cancel();
  await two.reaches('Finished', undefined, { withinMs: 6 * minute, stepMs: minute });
  assert.deepEqual(await stage.slotHolders(), []);
});

test('targets are created so many at a time as their limit says', async () => {
  const vms = ['vm01', 'vm02', 'vm03'].map((name) => stage.world.add(name));
  stage.limits.create = 1;
  const held = vms.map((vm) => stage.script.holds(vm, 'createTarget'));
  const batch = await started(...vms);
  const created = (): number => stage.world.journal.filter(({ what }) => what === 'target created').length;
  for (let done = 0; done < vms.length; done += 1) {
    const at = await stage.during(Promise.race(held.map(({ arrived }, index) => arrived.then(() => index))));
    const creating = await Promise.all(vms.map(async (vm) => (await batch.entry(vm).view()).entryStatus));
    assert.equal(creating.filter((status) => status === 'Creating new VM').length, 1);
    assert.equal(created(), done);
    held[at]!.release();
    held[at] = { ...held[at]!, arrived: new Promise(() => undefined) };
  }
  await batch.becomes('Finished');
  assert.deepEqual(await stage.slotHolders(), []);
});

test('a batch that is stopped holds no slot that another waits for', async () => {
  const [copying, paused, other] = [stage.world.add('vm01'), stage.world.add('vm02'), stage.world.add('vm03')];
  stage.limits.import = 1;
  const copy = stage.script.holds(copying, 'copyDisk');
  await started(copying);
  await copy.arrived;
  const stopped = await started(paused);
  await stopped.entry(paused).is('waiting', ({ substate }) => substate === 'awaiting-import-slot');
  await stopped.update(messages.stop);
  const third = (await started(other)).entry(other);
  await third.is('waiting', ({ substate }) => substate === 'awaiting-import-slot');
  copy.release();
  await third.reaches('Finished');
  assert.equal((await stopped.entry(paused).view()).substate, 'paused');
  await stopped.update(messages.resume);
  await stopped.becomes('Finished');
});
