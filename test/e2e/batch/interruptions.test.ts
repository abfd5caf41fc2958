import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import { assertNeverBoth, snapshotsOf } from '../../support/batch-invariants.ts';
import { holdTarget } from '../../support/batch-holds.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { SourceVm } from '../../support/batch-scenario.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

const mib = 1024 * 1024;

/** One at a time: they concern everybody. */
describe('what interrupts a copy or an operation in the middle', () => {
  let rig: BatchRig;
  before(async () => (rig = await BatchRig.start({ ownSource: true })));
  afterEach(() => rig.incus.revoke(false));
  after(() => rig.stop());

  const received = (vm: SourceVm): number => rig.incus.received('default', vm.name, 0);

  async function finishes(vm: SourceVm): Promise<void> {
    await vm.becomes('Finished', undefined, 2 * patienceMs);
    await vm.assertSameDisks();
    assert.deepEqual(await snapshotsOf(vm), []);
    await assertNeverBoth(vm);
  }

  /** A VM in the middle of its first copy. */
  async function inCopy(label: string): Promise<{ readonly vm: SourceVm; readonly size: number }> {
    const batch = await rig.batch();
    const size = 192 * mib;
    const vm = await batch.vm(label, { disks: [{ size, seed: 5 }] });
    await batch.apply();
    await batch.start();
    await waitFor('some of it to be copied', () => vm.target !== undefined && received(vm) > 16 * mib);
    return { vm, size };
  }

  test('an export whose lease expires is begun anew, and goes on where the copy was', async () => {
    const { vm, size } = await inCopy('lease');
    assert.ok((await rig.control.failLeases('Timedout')) > 0, 'it was copied without a lease');
    assert.ok(received(vm) < size, 'it was copied already');
    await finishes(vm);
    assert.ok(received(vm) <= size + 96 * mib, `${received(vm)} bytes were sent for ${size}`);
  });

  test('a server that is restarted while one VM is copied, one created and one started: all three are whole', async () => {
    const batch = await rig.batch();
    const [created, started] = [await batch.vm('r-create'), await batch.vm('r-start')];
    const holds = [holdTarget(started, 'power', { at: 'operation', times: 1 })] as const;
    const { vm: copied } = await inCopy('r-copy');
    rig.incus.faults.add({ method: 'POST', path: /^\/1.0\/instances$/, effect: { kind: 'delay', ms: 400 } });
    await batch.apply();
    await batch.start();
    await holds[0].arrived();
    await rig.incus.restart();
    holds[0].release();
    for (const vm of [created, started, copied]) await finishes(vm);
  });

  test('a client certificate that is revoked in the last copy: the source is as it was, and a retry goes on once it is trusted', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('revoked');
    const final = vm.holdFinalCopy();
    await batch.apply();
    await batch.start();
    await vm.isInFinalCopy();
    rig.incus.revoke();
    final.release();
    const view = await vm.becomes('Error', ({ substate }) => substate === undefined);
    assert.match(view.message, /not authorized|trust/);
    assert.equal(await vm.power(), 'poweredOn');
    rig.incus.revoke(false);
    await vm.update(messages.cancel);
    await vm.becomes('Canceled', ({ substate }) => substate === undefined);
    await vm.update(messages.retry);
    await finishes(vm);
  });
});
