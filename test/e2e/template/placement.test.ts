import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { assertClean } from '../../support/guarantees.ts';
import { Rig } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const cluster = '/DC0/host/DC0_C0';

let rig: Rig;
let ova: BuiltOva;
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova();
});
beforeEach(() => rig.vcsim.control.setMaintenance(`${cluster}/*`, false));
after(() => rig.stop());

const referenceOf = async (path: string): Promise<string> => (await rig.vcsim.control.find(path))?.ref ?? '';
const uploads = (): unknown[] => rig.proxy.requests().filter(({ kind }) => kind === 'nfc');

test('template/40 a host in maintenance mode is passed over', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  await rig.vcsim.control.setMaintenance(`${cluster}/DC0_C0_H0`, true);
  assert.equal((await scenario.swap({ ova })).outcome, 'swapped');
  await assertClean(scenario);
  const [vm] = await scenario.vms();
  assert.equal(vm?.host, await referenceOf(`${cluster}/DC0_C0_H1`));
});

test('template/40 without a usable host the swap says why of each, and goes on when one comes back', async () => {
  const scenario = await rig.scenario();
  const old = await scenario.template(scenario.names.prod, '416.94.1');
  await rig.vcsim.control.setMaintenance(`${cluster}/*`, true);
  const swap = await scenario.start({ ova });
  const failure = await waitFor('the failure of an attempt', async () => {
    const { raw } = await swap.handle.describe();
    return raw.pendingActivities?.[0]?.lastFailure;
  });
  assert.equal(failure.applicationFailureInfo?.nonRetryable, false);
  assert.match(failure.message ?? '', /no host of the cluster can take the import/);
  for (const host of ['DC0_C0_H0', 'DC0_C0_H1', 'DC0_C0_H2'])
    assert.match(failure.message ?? '', new RegExp(`${host} is in maintenance mode`));
  assert.deepEqual(rig.proxy.mutating(), []);

  await rig.vcsim.control.setMaintenance(`${cluster}/DC0_C0_H2`, false);
  const result = await swap.result();
  assert.equal(result.outcome, 'swapped');
  assert.equal(result.previous?.moRef, old);
  const [vm] = await scenario.vms();
  assert.equal(vm?.host, await referenceOf(`${cluster}/DC0_C0_H2`));
});

for (const [network, path] of [
  ['/DC0/network/VM Network', '/DC0/network/VM Network'],
  ['VM Network', '/DC0/network/VM Network'],
  ['DC0_DVPG0', '/DC0/network/DC0_DVPG0'],
] as const) {
  test(`template/41, case/48 the network given as "${network}" is the one the template is on`, async () => {
    const scenario = await rig.scenario();
    await scenario.template(scenario.names.prod, '416.94.1');
    const result = await scenario.swap({ ova, placement: { network } });
    assert.equal(result.outcome, 'swapped');
    await assertClean(scenario);
    const [vm] = await scenario.vms();
    assert.deepEqual(vm?.networks, [await referenceOf(path)]);
  });
}

test('template/42 an unknown tag fails before the OVA is read', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const before = await scenario.inventory();
  await rig.vcsim.control.ensureTag('os', 'rhcos');
  for (const tag of ['os/rhcso', 'urn:vmomi:InventoryServiceTag:00000000-0000-0000-0000-000000000000:GLOBAL']) {
    const swap = await scenario.start({ ova, options: { tags: ['os/rhcos', tag] } });
    const failure = await swap.failure();
    assert.equal(failure.type, 'NotFound');
    assert.equal(failure.details?.code, 'TAG_NOT_FOUND');
    assert.ok(failure.message.includes(`"${tag}"`), failure.message);
    assert.ok(failure.message.includes('os/rhcos'), failure.message);
    const { events } = await swap.handle.fetchHistory();
    const started = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
    assert.ok(!started.includes('ensureSource'));
  }
  assert.deepEqual(uploads(), []);
  assert.deepEqual(rig.proxy.mutating(), []);
  assert.deepEqual(await scenario.inventory(), before);
});

test('a datastore of another datacenter is refused before anything is sent to it', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const swap = await scenario.start({ ova, placement: { datastore: '/DC1/datastore/LocalDS_0' } });
  const failure = await swap.failure();
  assert.equal(failure.type, 'InvalidRequest');
  assert.equal(failure.details?.code, 'DATASTORE_FOREIGN');
  assert.deepEqual(rig.proxy.mutating(), []);
  assert.equal((await scenario.swap({ ova })).outcome, 'swapped');
});
