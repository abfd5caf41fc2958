import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { EntryStatus } from '../../../workflows/domain/batch/records.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { holdTarget } from '../../support/batch-holds.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { BatchChanges, BatchUnderTest, SourceVm } from '../../support/batch-scenario.ts';
import { waitFor } from '../../support/wait-for.ts';

const mib = 1024 * 1024;
const hourMs = 3_600_000;
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
const later = (more: { readonly capacity?: number } = {}): BatchChanges => ({
  migration_windows: [{ name: 'w1', start: inMs(hourMs), end: inMs(3 * hourMs), capacity: 0, ...more }],
  config: { background_sync_interval: 2 * hourMs, final_background_sync_limit: 1_000 },
});
const copiedWhileOff: readonly EntryStatus[] = [
  'Waiting',
  'Creating new VM',
  'Idle',
  'Performing final import tasks',
  'Idle',
  'Performing post-import tasks',
  'Worker tasks complete',
  'Finished',
];

/** The second source takes one import at a time. */
describe('limits on imports and windows, and the power of the source', { concurrency: 6 }, () => {
  let rig: BatchRig;
  before(async () => (rig = await BatchRig.start({ secondSource: { importLimit: 1 } })));
  after(() => rig.stop());

  async function started(batch: BatchUnderTest): Promise<void> {
    await batch.apply();
    await batch.start();
  }

  /** A batch with one VM of the second source. */
  async function limited(
    label: string,
    more: { readonly changes?: BatchChanges; readonly poweredOn?: boolean } = {},
  ): Promise<{ batch: BatchUnderTest; vm: SourceVm }> {
    const { changes, poweredOn = true } = more;
    const batch = await rig.batch(changes);
    await rig.control.createFolder('/DC1/vm', batch.name);
    const folder = `/DC1/vm/${batch.name}`;
    batch.spec = { ...batch.spec, include_expression: `location startsWith '${folder}/'` };
    return { batch, vm: await batch.vm(label, { folder, poweredOn }) };
  }

  /** Its window begins now. */
  async function beginWindow(batch: BatchUnderTest): Promise<void> {
    await batch.edit({
      migration_windows: batch.spec.migration_windows.map((one) => ({ ...one, start: inMs(-1_000) })),
    });
  }

  const statusesOf = async (vm: SourceVm): Promise<readonly EntryStatus[]> =>
    (await vm.timeline()).map(({ status }) => status);
  const firstAt = async (vm: SourceVm, status: EntryStatus): Promise<number> =>
    Date.parse((await vm.timeline()).find((line) => line.status === status)?.at ?? '');
  const opened = (vm: SourceVm): readonly number[] =>
    rig.incus.journal.events('nbd-opened', vm.name).map(({ at }) => at);
  async function powerOf(vm: SourceVm): Promise<readonly { readonly state: string; readonly at: number }[]> {
    const events = await rig.control.powerEvents();
    return events.flatMap(({ vm: ref, state, at }) => (ref === vm.ref ? [{ state, at: Date.parse(at) }] : []));
  }

  test('batch/S25 case/82: one import at a time: who waits for it says so, and who is committed never waits behind', async () => {
    const [one, other] = [await limited('s25a'), await limited('s25b')];
    const held = one.vm.holdFinalCopy();
    await started(one.batch);
    await one.vm.isInFinalCopy();
    await started(other.batch);
    const waits = await other.vm.becomes('Idle', ({ substate }) => substate === 'awaiting-import-slot');
    assert.equal(waits.waitingFor, 'slot');
    assert.match(waits.message, /Waiting for other instances to finish importing/);
    await waitFor('its batch to know', async () => (await other.batch.view()).counts.queued === 1);
    assert.deepEqual((await statusesOf(other.vm)).slice(-1), ['Idle'], 'nothing was copied');
    held.release();
    for (const { vm } of [one, other]) await vm.becomes('Finished');
    const done = await firstAt(one.vm, 'Worker tasks complete');
    const began = await firstAt(other.vm, 'Performing background import tasks');
    assert.ok(done <= began, 'the place was kept until nothing was imported any more');
  });

  test('case/66: of 20 VMs that are ready at the same moment, one gets the last place of a window', async () => {
    const batch = await rig.batch(later({ capacity: 1 }));
    const vms: SourceVm[] = [];
    for (let at = 0; at < 20; at += 1) vms.push(await batch.vm(`c66-${at}`, { disks: [{ size: mib }] }));
    await started(batch);
    await waitFor('all to be ready', async () => (await batch.view()).ready === 20, { timeoutMs: 120_000 });
    let open = (): void => undefined;
    const until = new Promise<void>((resolve) => (open = resolve));
    rig.incus.faults.add({ path: /virtual-machine\/c66-.*\/nbd$/, times: Infinity, effect: { kind: 'hold', until } });
    await beginWindow(batch);
    const off = async (): Promise<readonly SourceVm[]> => {
      const refs = (await rig.control.vms()).filter(({ powerState }) => powerState === 'poweredOff');
      return vms.filter((vm) => refs.some(({ ref }) => ref === vm.ref));
    };
    await waitFor('one to be off', async () => (await off()).length > 0);
    // Everybody is decided about again.
    await batch.edit({ config: { sync_limit: 9 } });
    const { windows, ready } = await waitFor('the others to wait', async () => {
      const view = await batch.view();
      return view.ready === 19 ? view : undefined;
    });
    assert.deepEqual([windows[0]?.held, ready], [1, 19]);
    const [first, ...more] = await off();
    assert.deepEqual(more, []);
    open();
    assert.ok(first !== undefined);
    await first.becomes('Finished');
    const second = await waitFor('the next one', async () => (await off()).find((vm) => vm !== first));
    const finishedAt = (await first.timeline()).at(-1)?.at ?? '';
    const offAt = (await powerOf(second)).find(({ state }) => state === 'poweredOff')?.at ?? 0;
    assert.ok(offAt >= Date.parse(finishedAt), 'it began when the first was done');
    await batch.update(messages.reset, { force: true });
  });

  test('batch/S26: without change tracking, and allowed, all is copied once, with the source off', async () => {
    const batch = await rig.batch({
      config: {
        instance_restriction_overrides: {
          allow_unknown_os: false,
          allow_no_ipv4: false,
          allow_no_background_import: true,
        },
      },
    });
    const vm = await batch.vm('s26');
    await rig.control.changeVm(vm.ref, { tracking: false });
    await started(batch);
    const { copyPass } = await vm.becomes('Finished');
    assert.equal(copyPass, 1);
    assert.deepEqual(await statusesOf(vm), copiedWhileOff);
    const offAt = (await powerOf(vm)).find(({ state }) => state === 'poweredOff')?.at ?? Infinity;
    const [made, ...copies] = opened(vm);
    assert.ok(made !== undefined && copies.length > 0);
    assert.ok(copies.every((at) => at >= offAt));
    await vm.assertSameDisks();
  });

  test('without change tracking, compared: it is copied while it runs, and what has changed by its window is found and sent', async () => {
    const batch = await rig.batch({
      migration_windows: later().migration_windows ?? [],
      config: {
        without_change_tracking: 'compare',
        background_sync_interval: 2 * hourMs,
        final_background_sync_limit: 1_000,
      },
    });
    const size = 16 * mib;
    const vm = await batch.vm('compared', { disks: [{ size, seed: 77 }] });
    await rig.control.changeVm(vm.ref, { tracking: false });
    await started(batch);
    await vm.becomes('Idle', ({ substate }) => substate === 'awaiting-window');
    const sent = (): number => rig.incus.received('default', vm.name, 0);
    assert.equal(await vm.power(), 'poweredOn');
    const first = sent();
    assert.ok(first >= size);
    await rig.control.writeDisk(vm.ref, 0, 5 * mib + 512, Buffer.alloc(70_000, 'changed'));
    await beginWindow(batch);
    const { copyPass } = await vm.becomes('Finished');
    assert.equal(copyPass, 2);
    await vm.assertSameDisks();
    assert.ok(
      sent() > first && sent() - first <= 256 * 1024,
      `${sent() - first} bytes were sent for 70 000 that changed`,
    );
  });

  test('batch/S26: without change tracking, and not allowed, it is Blocked and told why', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('s26b');
    await rig.control.changeVm(vm.ref, { tracking: false });
    await started(batch);
    const { message } = await vm.becomes('Blocked');
    assert.match(message, /background import is not supported: switch change tracking on/);
    assert.deepEqual(opened(vm), []);
  });

  test('case/64: a restriction that is lifted and tracking that can’t be verified: the VM is migrated, nothing repeats for ever', async () => {
    const batch = await rig.batch({
      config: {
        instance_restriction_overrides: {
          allow_unknown_os: false,
          allow_no_ipv4: true,
          allow_no_background_import: true,
        },
      },
    });
    const vm = await batch.vm('c64', { ips: [] });
    await rig.control.setTrackingFiles(vm.ref, false);
    await started(batch);
    await vm.becomes('Finished');
    assert.deepEqual(await statusesOf(vm), copiedWhileOff);
    await vm.assertSameDisks();
  });

  test('batch/S27: a VM that was off as its batch started and is on as it is committed runs at the target', async () => {
    const batch = await rig.batch(later());
    const vm = await batch.vm('s27', { poweredOn: false });
    await started(batch);
    assert.equal((await vm.becomes('Idle', ({ stage }) => stage === 'final')).placement?.running, false);
    await rig.control.powerOnVm(vm.ref);
    await beginWindow(batch);
    assert.equal((await vm.becomes('Finished')).placement?.running, true);
    assert.equal(vm.target?.status, 'Running');
    assert.equal(await vm.power(), 'poweredOff');
  });

  test('batch/S27: one that is switched on while it waits for its last copy runs at the target, and again after a cancel', async () => {
    const first = await limited('s27c');
    const held = first.vm.holdFinalCopy();
    await started(first.batch);
    await first.vm.isInFinalCopy();
    const allow = { allow_unknown_os: false, allow_no_ipv4: false, allow_no_background_import: true };
    const changes = { config: { instance_restriction_overrides: allow } };
    const { batch, vm } = await limited('s27d', { changes, poweredOn: false });
    await rig.control.changeVm(vm.ref, { tracking: false });
    await started(batch);
    await vm.becomes('Idle', ({ substate }) => substate === 'awaiting-import-slot');
    await rig.control.powerOnVm(vm.ref);
    const copy = holdTarget(vm, 'disk', { skip: 1 });
    held.release();
    await copy.arrived();
    assert.deepEqual([await vm.power(), (await vm.view()).placement?.running], ['poweredOff', true]);
    const canceled = vm.update(messages.cancel, { cleanup: false });
    await vm.becomes('Canceled');
    copy.release();
    await canceled;
    assert.equal(await vm.power(), 'poweredOn');
    await vm.update(messages.retry);
    await vm.becomes('Finished');
    assert.equal(vm.target?.status, 'Running');
    assert.equal(await vm.power(), 'poweredOff');
    await first.vm.becomes('Finished');
  });

  test('batch/S27: where its owner wants it stopped, it is stopped at the target', async () => {
    const batch = await rig.batch(later());
    const vm = await batch.vm('s27b', { poweredOn: false });
    await batch.apply();
    const [row] = await batch.rows();
    await batch.edit({ overrides: { [row?.uuid ?? '']: { stopped_after_migration: true } } });
    await batch.start();
    await vm.becomes('Idle', ({ stage }) => stage === 'final');
    await rig.control.powerOnVm(vm.ref);
    await beginWindow(batch);
    await vm.becomes('Finished');
    assert.equal(vm.target?.status, 'Stopped');
    assert.equal(await vm.power(), 'poweredOff');
  });

  test('case/95: a VM that is off stays off, here and there, without a task that fails', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('c95', { poweredOn: false });
    await started(batch);
    await vm.becomes('Finished');
    await vm.assertSameDisks();
    assert.equal(vm.target?.status, 'Stopped');
    assert.deepEqual(await powerOf(vm), []);
    const tasks = (await rig.control.finishedTasks()).filter(({ object }) => object === vm.ref);
    assert.ok(tasks.length > 0);
    assert.deepEqual(
      tasks.filter(({ state, method }) => state === 'error' || method.startsWith('Power')),
      [],
    );
  });
});
