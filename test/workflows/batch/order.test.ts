import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { SourceVm } from '../../support/entry-world.ts';
import { Stage } from './stage.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
afterEach(() => stage.clear());
after(() => stage.close());

function at(vm: SourceVm, event: string): number {
  return stage.world.of(vm).find(({ what }) => what === event)?.at ?? Infinity;
}

/** The downtime of one begins when the other is handed over. */
function assertAfter(vm: SourceVm, other: SourceVm): void {
  assert.ok(at(vm, 'source off') >= at(other, 'target released'), `${vm.record.name} began before its turn`);
}

test('groups are migrated one after the other, all are copied before', async () => {
  const [a, b, c, x] = ['a', 'b', 'c', 'x'].map((name) => stage.world.add(name)) as [SourceVm, ...SourceVm[]] &
    [SourceVm, SourceVm, SourceVm, SourceVm];
  const overrides = {
    [a.record.uuid]: { group: 1 },
    [b.record.uuid]: { group: 2 },
    [c.record.uuid]: { group: 3 },
  };
  const off = stage.script.holds(a, 'powerOffSource');
  const batch = await stage.batch({ vms: [c, b, a, x], overrides });
  await batch.start();
  await stage.during(off.arrived);
  for (const vm of [b, c]) await batch.entry(vm).is('ready', ({ substate }) => substate === 'awaiting-window');
  await batch.entry(x).reaches('Finished');
  await stage.until('it to be told', async () => (await batch.view()).waitsForOthers?.length === 2);
  const { waitsForOthers = [] } = await batch.view();
  const whyB = waitsForOthers.find(({ name }) => name === 'b')?.why ?? '';
  assert.match(whyB, new RegExp(`^a must be finished before it begins .*vmflow queue cutover ${b.record.uuid}`));
  assert.match(waitsForOthers.find(({ name }) => name === 'c')?.why ?? '', /and 1 more must be finished/);
  assert.deepEqual([b.power, c.power], ['on', 'on']);
  off.release();
  await batch.becomes('Finished');
  assertAfter(b, a);
  assertAfter(c, b);
  assert.deepEqual((await batch.view()).waitsForOthers, []);
});

test('whoever depends on a canceled VM waits until that is retried and finished', async () => {
  const [db, web] = [stage.world.add('db'), stage.world.add('web')];
  const copy = stage.script.holds(db, 'copyDisk');
  const batch = await stage.batch({
    vms: [db, web],
    overrides: { [web.record.uuid]: { depends_on: [db.record.uuid] } },
  });
  await batch.start();
  await copy.arrived;
  await stage.during(batch.entry(db).update('cancel', { cleanup: true }));
  await batch.entry(web).is('ready', ({ substate }) => substate === 'awaiting-window');
  await stage.advance(600_000);
  assert.equal(web.power, 'on');
  await stage.during(batch.entry(db).update('retry'));
  await batch.becomes('Finished');
  assertAfter(web, db);
});

test('a cutover is before its turn', async () => {
  const [db, web] = [stage.world.add('db', { blocked: 'no address yet' }), stage.world.add('web')];
  const batch = await stage.batch({
    vms: [db, web],
    overrides: { [web.record.uuid]: { depends_on: [db.record.uuid] } },
  });
  await batch.start();
  await batch.entry(web).is('ready', ({ substate }) => substate === 'awaiting-window');
  await batch.entry(web).update('cutover');
  await batch.entry(web).reaches('Finished');
  assert.equal(db.power, 'on');
});

test('a batch in which a VM depends on none of its VMs is refused, and nothing of it is left', async () => {
  const web = stage.world.add('web');
  const missing = '00000000-0000-4000-8000-00000000dead';
  const refused = stage.batch({
    name: 'strange',
    vms: [web],
    overrides: { [web.record.uuid]: { depends_on: [missing] } },
  });
  await assert.rejects(refused, (err: { cause?: { message?: string } }) => {
    assert.match(
      err.cause?.message ?? '',
      new RegExp(`depends_on\\[0\\]: ${missing} is the UUID of no VM of the batch`),
    );
    return true;
  });
});
