import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import { holdSource, holdTarget } from '../../support/batch-holds.ts';
import { assertNeverBoth, assertNoSlots, powerChanges, snapshotsOf } from '../../support/batch-invariants.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import { assertRefused, type BatchUnderTest, type SourceVm } from '../../support/batch-scenario.ts';
import { patienceMs, stays, waitFor } from '../../support/wait-for.ts';

/** One at a time: who is out of reach is so for everybody. */
describe('far sides that are out of reach for a while', () => {
  let rig: BatchRig;
  before(async () => {
    rig = await BatchRig.start({
      ownSource: true,
      source: { importLimit: 20 },
      target: { connectionTimeoutMs: 5_000 },
      batches: { shutdownGraceMs: 60_000 },
    });
  });
  after(() => rig.stop());

  async function run(batch: BatchUnderTest): Promise<void> {
    await batch.apply();
    await batch.start();
  }

  async function oneVm(label: string): Promise<SourceVm> {
    return await (await rig.batch()).vm(label);
  }

  async function finishes(vm: SourceVm): Promise<void> {
    await vm.becomes('Finished', undefined, 2 * patienceMs);
    await vm.assertSameDisks();
    assert.deepEqual(await snapshotsOf(vm), []);
    await assertNeverBoth(vm);
  }

  async function isCleanedUp(vm: SourceVm): Promise<void> {
    await vm.becomes('Canceled', ({ substate }) => substate === undefined, 2 * patienceMs);
    assert.equal(await vm.power(), 'poweredOn');
    assert.deepEqual(await snapshotsOf(vm), []);
    await assertNeverBoth(vm);
  }

  const cleanUpPending = ({ substate }: { substate?: string | undefined }): boolean => substate === 'cleanup-pending';

  /** Three VMs: in their first copy, in their last one, and before their final checks. */
  async function threeVms(side: string): Promise<{ readonly vms: readonly SourceVm[]; readonly release: () => void }> {
    const batch = await rig.batch();
    const [first, last, checked] = [await batch.vm(`${side}1`), await batch.vm(`${side}2`), await batch.vm(`${side}3`)];
    const copies = [holdTarget(first, 'disk', { skip: 1 }), last.holdFinalCopy(), checked.holdFinalCopy()] as const;
    await run(batch);
    await copies[0].arrived();
    await Promise.all([last.isInFinalCopy(), checked.isInFinalCopy()]);
    const check = holdSource(checked, 'RetrievePropertiesEx', { property: 'config.instanceUuid' });
    copies[2].release();
    await check.arrived();
    return {
      vms: batch.vms,
      release: () => {
        for (const held of [...copies, check]) held.release();
      },
    };
  }

  const isHeldUp = (vm: SourceVm): Promise<unknown> =>
    waitFor(`${vm.name} to say that it is held up`, async () => (await vm.view()).waitingFor === 'far-side');

  for (const side of ['source', 'target'] as const)
    test(`a ${side} that is out of reach during copies and checks costs time only`, async () => {
      const { vms, release } = await threeVms(side);
      const far = side === 'source' ? rig.proxy : rig.incus;
      await far.down();
      release();
      await stays(
        'in the middle',
        async () => !(await Promise.all(vms.map((vm) => vm.view()))).some((view) => view.status === 'Finished'),
        5_000,
      );
      await far.up();
      for (const vm of vms) await finishes(vm);
    });

  test('a cancel while the source is out of reach is a cancel at once; what is left is done when it is back', async () => {
    const vm = await oneVm('nosource');
    const copy = holdTarget(vm, 'disk', { skip: 1 });
    await run(vm.batch);
    await copy.arrived();
    await rig.proxy.down();
    const canceled = vm.update(messages.cancel, { cleanup: true });
    await vm.becomes('Canceled', cleanUpPending);
    await assertNoSlots(rig, [vm]);
    await assertRefused(vm.update(messages.retry), /still being cleaned up/);
    await assertRefused(vm.update(messages.delete), /still being cleaned up/);
    await isHeldUp(vm);
    await rig.proxy.up();
    copy.release();
    await canceled;
    await isCleanedUp(vm);
    assert.ok(vm.target === undefined);
    await vm.update(messages.retry);
    await finishes(vm);
  });

  test('C25: a target that is out of reach in the last copy keeps no source off', async () => {
    const vm = await oneVm('notarget');
    const final = vm.holdFinalCopy();
    await run(vm.batch);
    await vm.isInFinalCopy();
    await rig.incus.down();
    final.release();
    const canceled = vm.update(messages.cancel, { cleanup: true });
    await vm.becomes('Canceled', cleanUpPending);
    await waitFor('the source to be on', async () => (await vm.power()) === 'poweredOn', { timeoutMs: 3 * patienceMs });
    assert.equal((await vm.view()).substate, 'cleanup-pending');
    await rig.incus.up();
    await canceled;
    await isCleanedUp(vm);
    assert.ok(vm.target === undefined);
  });

  test('a target with its final configuration that is out of reach is stopped before the source is on', async () => {
    const vm = await oneVm('running');
    const start = holdTarget(vm, 'power', { at: 'answer' });
    await run(vm.batch);
    await start.arrived();
    await waitFor('the target to run', () => vm.target?.status === 'Running');
    await rig.incus.down();
    const canceled = vm.update(messages.cancel);
    await vm.becomes('Canceled', cleanUpPending);
    await isHeldUp(vm);
    assert.equal(await vm.power(), 'poweredOff');
    start.release();
    await rig.incus.up();
    await canceled;
    await isCleanedUp(vm);
    const { side, isOn } = (await powerChanges(vm)).at(-1) ?? {};
    assert.deepEqual({ side, isOn }, { side: 'source', isOn: true });
  });

  test('a guest that shuts down after the cancel because it was asked to before is on again', async () => {
    const vm = await oneVm('slow');
    await rig.control.addFault({ method: 'ShutdownGuest', objectName: vm.name, swallow: true });
    await run(vm.batch);
    await waitFor('its guest to be asked', async () =>
      (await rig.control.calls()).mutating.some(
        ({ method, object }) => method === 'ShutdownGuest' && object === vm.ref,
      ),
    );
    const canceled = vm.update(messages.cancel);
    await vm.becomes('Canceled', cleanUpPending);
    await rig.control.powerOffVm(vm.ref);
    await canceled;
    await isCleanedUp(vm);
  });

  test('case/85: a reading of the source outlives lost connections and an outage', async () => {
    await oneVm('c85');
    rig.proxy.addRule({ method: 'RetrievePropertiesEx', action: 'drop-before', times: 3 });
    assert.ok((await rig.sync()).instances > 0);
    await rig.proxy.down();
    const sync = rig.sync();
    let isOver = false;
    void sync.finally(() => (isOver = true));
    await stays('reading', () => !isOver, 3_000);
    await rig.proxy.up();
    assert.ok((await sync).instances > 0);
  });
});
