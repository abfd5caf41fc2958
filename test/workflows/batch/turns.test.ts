import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { BatchUnderTest } from './batch-under-test.ts';
import { Stage } from './stage.ts';
import { minute } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

/** Its shard lets two be at work at once. Members are in the order in which they were added. */
async function narrow(
  ...names: readonly string[]
): Promise<{ batch: BatchUnderTest; vms: ReturnType<Stage['world']['add']>[] }> {
  const vms = names.map((name) => stage.world.add(name)).toSorted((a, b) => (a.record.uuid < b.record.uuid ? -1 : 1));
  const batch = await stage.batch({ vms });
  return { batch, vms };
}

test('of a large batch some are at work, the others have an entry that waits for its turn; those that are copied make room', async () => {
  const { batch, vms } = await narrow('vm01', 'vm02', 'vm03', 'vm04', 'vm05');
  const [first, , third, fourth, fifth] = vms.map((vm) => batch.entry(vm));
  const held = vms.map((vm) => stage.script.holds(vm, 'copyDisk'));
  const begin = async (...places: readonly number[]): Promise<void> => {
    await stage.during(Promise.all(held.filter((_, at) => places.includes(at)).map(({ arrived }) => arrived)));
  };
  await batch.orderShard({ kind: 'start', startId: 'start/1', places: 2 });
  await begin(0, 1);
  for (const entry of [third, fourth, fifth]) {
    const view = await entry?.is('waiting for its turn', ({ substate }) => substate === 'awaiting-turn');
    assert.deepEqual([view?.waitingFor, view?.entryStatus], ['slot', 'Waiting']);
  }
  const later = (await batch.rows()).map((row) => row.later === true);
  assert.deepEqual(later, [false, false, true, true, true]);
  held[0]?.release();
  await first?.is('copied', ({ substate }) => substate === 'awaiting-window');
  await begin(2, 3);
  assert.equal((await fifth?.view())?.substate, 'awaiting-turn');
  for (const one of held) one.release();
  await fifth?.is('copied', ({ substate }) => substate === 'awaiting-window');
  await batch.start();
  await batch.becomes('Finished');
});

test('who waits for its turn can be canceled and cut over; what holds up those at work holds it up for minutes', async () => {
  const { batch, vms } = await narrow('vm01', 'vm02', 'vm03', 'vm04');
  const [working, canceled, urgent, patient] = vms.map((vm) => batch.entry(vm));
  const [first] = vms;
  assert.ok(first);
  const letGo = stage.script.fails(first, 'assessEntry');
  await batch.orderShard({ kind: 'start', startId: 'start/1', places: 1 });
  await stage.until('all to have an entry', async () => (await batch.rows()).every(({ phase }) => phase !== 'none'));
  for (const entry of [canceled, urgent, patient])
    await entry?.is('waiting for its turn', ({ substate }) => substate === 'awaiting-turn');
  await canceled?.update(messages.cancel);
  await canceled?.reaches('Canceled');
  await urgent?.update(messages.cutover);
  await urgent?.is('copied', ({ substate }) => substate === 'awaiting-window');
  const isPatient = async (): Promise<boolean> => (await patient?.view())?.substate === 'awaiting-turn';
  await stage.advance(9 * minute);
  assert.ok(await isPatient());
  // The one that is canceled has its turn before it, and so has the one that went on without.
  await stage.advance(30 * minute);
  assert.ok(!(await isPatient()));
  letGo();
  await canceled?.update(messages.retry);
  await batch.start();
  await batch.becomes('Finished');
  assert.equal((await working?.view())?.entryStatus, 'Finished');
});

test('while its batch is stopped nobody is given a turn, however long that is', async () => {
  const { batch, vms } = await narrow('vm01', 'vm02', 'vm03');
  const entries = vms.map((vm) => batch.entry(vm));
  const [first] = vms;
  assert.ok(first);
  const letGo = stage.script.fails(first, 'assessEntry');
  await batch.orderShard({ kind: 'start', startId: 'start/1', places: 1 });
  await stage.until('all to have an entry', async () => (await batch.rows()).every(({ phase }) => phase !== 'none'));
  await batch.orderShard({ kind: 'tell', message: 'pause' });
  for (const entry of entries.slice(1)) await entry.is('paused', ({ substate }) => substate === 'paused');
  await stage.advance(60 * minute);
  await batch.orderShard({ kind: 'tell', message: 'unpause' });
  for (const entry of entries.slice(1))
    await entry.is('waiting for its turn', ({ substate }) => substate === 'awaiting-turn');
  letGo();
  for (const entry of entries) await entry.is('copied', ({ substate }) => substate === 'awaiting-window');
  await batch.start();
  await batch.becomes('Finished');
});
