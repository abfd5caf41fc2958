import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { messages } from '../../../workflows/contracts/messages.ts';
import { holdTarget, targetCall } from '../../support/batch-holds.ts';
import { assertNeverBoth, snapshotsOf } from '../../support/batch-invariants.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { BatchUnderTest, SourceVm } from '../../support/batch-scenario.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

const mib = 1024 * 1024;
const gib = 1024 * mib;

let rig: BatchRig;
before(async () => {
  rig = await BatchRig.start({ ownSource: true, source: { importLimit: 20 }, target: { createLimit: 20 } });
});
after(() => rig.stop());

async function run(batch: BatchUnderTest): Promise<void> {
  await batch.apply();
  await batch.start();
}

/** Finished, its disks those of the source, nothing of ours left there. */
async function isWhole(vm: SourceVm, disks: number): Promise<void> {
  await vm.becomes('Finished', undefined, 2 * patienceMs);
  await vm.assertSameDisks(disks);
  assert.deepEqual(await snapshotsOf(vm), []);
  await assertNeverBoth(vm);
}

describe('the bytes of a migrated VM', { concurrency: true }, () => {
  test('are those of its disks: random, empty, sparse, a little over a piece, nothing but its last sector', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('shapes', {
      disks: [
        { size: 5 * mib, seed: 1 },
        { size: 6 * mib },
        { size: 40 * mib },
        { size: 4 * mib + 8_192, seed: 2 },
        { size: 9 * mib },
      ],
    });
    for (const start of [mib + 512, 16 * mib - 4_096, 39 * mib])
      await rig.control.fillDisk(vm.ref, 2, start, 8_192, start);
    await rig.control.fillDisk(vm.ref, 4, 9 * mib - 512, 512, 3);
    await run(batch);
    await isWhole(vm, 5);
    assert.equal(rig.incus.received('default', vm.name, 1), 0, 'holes are not sent');
    assert.ok(rig.incus.received('default', vm.name, 2) <= 6 * 64 * 1024);
  });

  test('are written while it runs, to where its first copy had zeros, and over what it had', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('live', { disks: [{ size: 24 * mib }] });
    await rig.control.fillDisk(vm.ref, 0, 0, mib, 4);
    const first = holdTarget(vm, 'disk', { skip: 1 });
    await run(batch);
    await first.arrived();
    await rig.control.fillDisk(vm.ref, 0, 20 * mib, mib, 5);
    await rig.control.writeDisk(vm.ref, 0, 4_096, Buffer.alloc(8_192));
    first.release();
    await isWhole(vm, 1);
  });

  test('of 64 GiB with 100 MiB in them cost what is in them', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('wide', { disks: [{ size: 64 * gib }] });
    const places = [0, 17 * gib + 512, 40 * gib, 64 * gib - 25 * mib];
    for (const start of places) await rig.control.fillDisk(vm.ref, 0, start, 25 * mib, start / 512);
    await run(batch);
    await vm.becomes('Finished', undefined, 2 * patienceMs);
    const received = rig.incus.received('default', vm.name, 0);
    assert.ok(received >= 100 * mib && received <= 101 * mib, `${received} bytes were sent`);
    const same = await rig.control.createVm({
      ...{ name: `like-${rig.id}`, folder: '/DC0/vm', poweredOn: false },
      disks: places.map(() => ({ size: 25 * mib })),
    });
    for (const [disk, start] of places.entries()) {
      await rig.control.fillDisk(same, disk, 0, 25 * mib, start / 512);
      const there = await rig.incus.readDisk('default', vm.name, 0, start, 25 * mib);
      assert.equal(createHash('sha256').update(there).digest('hex'), await rig.control.diskDigest(same, disk));
    }
  });

  test('that are damaged on their way once are sent again', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('flip');
    rig.incus.faults.add({ ...targetCall('disk', vm), skip: 1, effect: { kind: 'nbd-flip' } });
    await run(batch);
    await isWhole(vm, 1);
    assert.match(rig.workers.get('transfer')?.output() ?? '', /don't read as they were written/);
  });

  test('that are damaged again and again make it an Error, with its source running', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('rot');
    rig.incus.faults.add({ ...targetCall('disk', vm), skip: 1, times: Infinity, effect: { kind: 'nbd-flip' } });
    await run(batch);
    const { reason, message } = await vm.becomes('Error', undefined, 3 * patienceMs);
    assert.equal(reason, 'WORKER_FAILED');
    assert.match(message, /don't read as they were written/);
    assert.equal(await vm.power(), 'poweredOn');
    assert.equal(await vm.update(messages.cancel, { cleanup: true }), 'canceled');
  });

  test('of changed areas that the source has kept quiet about are found, and copied as a whole', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('liar');
    const first = holdTarget(vm, 'configure', { skip: 1, times: 1 });
    await run(batch);
    await first.arrived();
    await rig.control.writeDiskInSecret(vm.ref, 0, 3 * mib, Buffer.from('nobody was told'));
    first.release();
    await isWhole(vm, 1);
    assert.match(rig.workers.get('control')?.output() ?? '', /differs from its source/);
  });
});

describe('copies whose worker is killed', () => {
  test('arrive whole wherever it was, and nothing is sent twice', async () => {
    const rounds = Number(process.env['VMFLOW_TEST_KILLS'] ?? 3) / 3;
    const size = 96 * mib;
    for (let round = 0; round < rounds; round += 1) {
      const batch = await rig.batch();
      const vms = await Promise.all([1, 2, 3].map((seed) => batch.vm(`k${round}${seed}`, { disks: [{ size, seed }] })));
      await run(batch);
      const [first] = vms;
      await waitFor('a copy', () => first?.target !== undefined && received(first) > 0);
      await sleep(Math.random() * 1_000);
      await rig.killWorkers(['transfer']);
      await rig.startWorkers(['transfer']);
      for (const vm of vms) {
        await isWhole(vm, 1);
        assert.ok(received(vm) <= size + 4 * mib, `${received(vm)} bytes were sent for ${size}`);
      }
    }
  });
});

function received(vm: SourceVm): number {
  return rig.incus.received('default', vm.name, 0);
}
