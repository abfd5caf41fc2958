import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { BatchLookupAnswer } from '../../../workflows/contracts/batch-lookup.ts';
import type { MigrationRecord, SourceView } from '../../../workflows/contracts/batch.ts';
import { lookupId, sourceId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { InstanceRecord } from '../../../workflows/domain/batch/records.ts';
import type { FaultProxy } from '../../sim/fault-proxy.ts';
import type { RecordedRequest } from '../../sim/request-log.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import { assertRefused, type BatchUnderTest, type SourceVm } from '../../support/batch-scenario.ts';
import { waitFor } from '../../support/wait-for.ts';

const mib = 1024 * 1024;
/** Without an address it stays Blocked: only such entries hear of syncs. */
const blocked = { ips: [] } as const;

/** A read of whole VMs, of this one among others or alone. */
const reads = ({ body }: RecordedRequest, ref: string): boolean =>
  body.includes('config.guestFullName') && body.includes(`>${ref}<`);
/** The begin of an inventory. */
const lists = ({ method, body }: RecordedRequest): boolean =>
  method === 'CreateContainerView' && body.includes('>VirtualMachine<');

describe('syncs of sources', { concurrency: 2 }, () => {
  let rig: BatchRig;
  before(async () => {
    rig = await BatchRig.start({ ownSource: true, source: { syncTimeoutMs: 1_000 }, secondSource: {} });
  });
  after(() => rig.stop());

  const sourceView = async (name: string): Promise<SourceView> =>
    await rig.client.workflow.getHandle(sourceId(name)).query<SourceView>(messages.status);
  const recordOf = async (vm: SourceVm): Promise<InstanceRecord> =>
    (await (await vm.handle()).query<MigrationRecord>(messages.record)).record;
  const verifiedOf = async (vm: SourceVm): Promise<readonly boolean[]> =>
    (await recordOf(vm)).disks.map((disk) => disk.background_import_verified);

  /** As `vmflow source vms` has it. */
  async function seen(vm: SourceVm): Promise<{ readonly memory: number } | undefined> {
    const answer: unknown = await rig.client.workflow.execute('lookup', {
      taskQueue: rig.taskQueue,
      workflowId: lookupId(randomUUID()),
      args: [{ what: 'source-vms', source: rig.source, filter: `name == '${vm.name}'` }],
    });
    const { items } = answer as Extract<BatchLookupAnswer, { what: 'source-vms' }>;
    return items[0];
  }

  /** Started, its VMs Blocked. */
  async function waiting(...labels: string[]): Promise<{ batch: BatchUnderTest; vms: SourceVm[] }> {
    const batch = await rig.batch();
    const vms = [];
    for (const label of labels) vms.push(await batch.vm(label, blocked));
    await batch.apply();
    await batch.start();
    for (const vm of vms) await vm.becomes('Blocked');
    return { batch, vms };
  }

  async function forget(batch: BatchUnderTest): Promise<void> {
    await batch.update(messages.reset, { force: true });
    await batch.update(messages.delete);
  }

  /** One after the other: a sync is of the whole source. */
  describe('what they change', { concurrency: 1 }, () => {
    test('batch/S11: while its batch is Defined, a VM is shown and taken as the source has it now', async () => {
      const batch = await rig.batch();
      const vm = await batch.vm('s11', blocked);
      await batch.apply();
      assert.equal((await seen(vm))?.memory, 64 * mib);
      await rig.control.changeVm(vm.ref, { memoryMiB: 256 });
      await rig.sync();
      assert.equal((await seen(vm))?.memory, 256 * mib);
      await batch.start();
      assert.equal((await recordOf(vm)).memory, 256 * mib);
      await forget(batch);
    });

    test('batch/S12: while its batch runs, a VM on its way keeps its record; one that can’t migrate, and all others, are updated', async () => {
      const batch = await rig.batch({
        migration_windows: [{ name: 'w1', start: new Date(Date.now() + 3_600_000).toISOString(), capacity: 0 }],
      });
      const [going, stuck] = [await batch.vm('s12'), await batch.vm('s12b', blocked)];
      const elsewhere = await (await rig.batch()).vm('s12c');
      await batch.apply();
      await batch.start();
      await going.becomes('Idle', ({ stage }) => stage === 'final');
      await stuck.becomes('Blocked');
      for (const { ref } of [going, stuck, elsewhere]) await rig.control.changeVm(ref, { memoryMiB: 256 });
      const { updated } = await rig.sync();
      assert.equal(updated, 1);
      await waitFor('the update', async () => (await recordOf(stuck)).memory === 256 * mib);
      assert.equal((await recordOf(going)).memory, 64 * mib);
      assert.equal((await seen(elsewhere))?.memory, 256 * mib);
      await batch.update(messages.stop);
      await rig.control.changeVm(stuck.ref, { memoryMiB: 512 });
      assert.equal((await rig.sync()).updated, 0, 'nor does an entry of a batch that is stopped');
      assert.equal((await recordOf(stuck)).memory, 256 * mib);
      await forget(batch);
    });

    test('batch/S14: a disk that is added doesn’t take from the others what was found out about them', async () => {
      const batch = await rig.batch();
      const vm = await batch.vm('s14', { ...blocked, disks: [{ size: mib }, { size: mib }] });
      await batch.apply();
      await batch.start();
      assert.deepEqual(await verifiedOf(vm), [true, true]);
      await rig.control.addDisk(vm.ref, { size: mib });
      await rig.sync();
      await waitFor('three disks', async () => (await verifiedOf(vm)).length === 3);
      assert.deepEqual(await verifiedOf(vm), [true, true, false]);
      await rig.control.setTrackingFiles(vm.ref, true);
      await rig.sync();
      await waitFor('all to be verified', async () => (await verifiedOf(vm)).every((isVerified) => isVerified));
      await forget(batch);
    });

    test('batch/S15: tracking that was off in between makes all that was found out worthless', async () => {
      const { batch, vms } = await waiting('s15');
      const [vm] = vms as [SourceVm];
      assert.deepEqual(await verifiedOf(vm), [true]);
      await rig.control.changeVm(vm.ref, { tracking: false });
      await rig.sync();
      await waitFor('the update', async () => !(await recordOf(vm)).background_import);
      // Otherwise it would be looked at again at once.
      await rig.control.setTrackingFiles(vm.ref, false);
      await rig.control.changeVm(vm.ref, { tracking: true });
      await rig.sync();
      await vm.becomes('Blocked');
      assert.deepEqual(await verifiedOf(vm), [false]);
      await forget(batch);
    });

    test('batch/S16: a VM that can’t be read in time keeps its record and is named; the others are updated', async () => {
      const { batch, vms } = await waiting('s16', 's16b');
      const [slow, quick] = vms as [SourceVm, SourceVm];
      for (const { ref } of vms) await rig.control.changeVm(ref, { memoryMiB: 256 });
      const isAlone = (request: RecordedRequest): boolean => !reads(request, quick.ref);
      const together = rig.proxy.addRule({
        method: 'RetrievePropertiesEx',
        match: (request) => reads(request, slow.ref) && !isAlone(request),
        times: Infinity,
        action: 'fault',
        fault: 'SystemError',
      });
      const alone = rig.proxy.addRule({
        method: 'RetrievePropertiesEx',
        match: (request) => reads(request, slow.ref) && isAlone(request),
        times: Infinity,
        action: 'delay',
        delayMs: 10_000,
      });
      const { warnings, updated, missing } = await rig.sync();
      assert.deepEqual([updated, missing], [1, 0]);
      assert.match(
        warnings.flatMap((warning) => warning.messages).join('\n'),
        new RegExp(`VirtualMachine:${slow.ref}:`),
      );
      await waitFor('the update of the other', async () => (await recordOf(quick)).memory === 256 * mib);
      const view = await slow.view();
      assert.equal(view.status, 'Blocked');
      assert.equal((await recordOf(slow)).memory, 64 * mib);
      together.remove();
      alone.remove();
      assert.equal((await rig.sync()).updated, 2);
      await waitFor('its update', async () => (await recordOf(slow)).memory === 256 * mib);
      await forget(batch);
    });

    test('a Blocked VM that the source has no more is a Conflict; one that was moved is found', async () => {
      const { batch, vms } = await waiting('gone', 'moved');
      const [gone, moved] = vms as [SourceVm, SourceVm];
      await rig.control.powerOffVm(gone.ref);
      await rig.control.destroyVm(gone.ref);
      const { folder } = await rig.batch();
      await rig.control.moveVm(moved.ref, folder);
      const first = await rig.joinSync();
      assert.deepEqual([first.missing, first.updated], [1, 1]);
      const { conflict } = await gone.becomes('Conflict');
      assert.equal(conflict?.code, 'SOURCE_VM_GONE');
      await waitFor('its new place', async () => (await recordOf(moved)).location.startsWith(folder));
      assert.equal((await moved.view()).status, 'Blocked', 'the expression is not looked at again');
      await forget(batch);
    });

    test('case/105: wrong credentials are tried once, not again and again, and told as what they are', async () => {
      const before = await rig.sync();
      const refused = rig.proxy.addRule({ method: 'Login', times: Infinity, action: 'fault', fault: 'InvalidLogin' });
      await rig.control.terminateSessions();
      rig.proxy.clearRequests();
      for (let sync = 0; sync < 3; sync += 1)
        await assertRefused(rig.joinSync(), /refuses the login of .*Check user and password/);
      const logins = rig.proxy.requests().filter(({ method }) => method === 'Login');
      assert.ok(logins.length <= 2, `${logins.length} logins`);
      const view = await sourceView(rig.source);
      assert.deepEqual([view.syncing, view.last], [false, before], 'the last result stays');
      assert.match(view.lastError ?? '', /refuses the login of .*Check user and password/);
      refused.remove();
    });
  });

  describe('how they are done', { concurrency: 1 }, () => {
    let secondProxy: FaultProxy;
    before(() => {
      assert.ok(rig.secondProxy !== undefined);
      secondProxy = rig.secondProxy;
    });
    test('batch/S13: whoever asks while a sync runs joins it; it is shown until its result is there, also when the worker is killed in the middle', async () => {
      await rig.joinSync(rig.secondSource);
      assert.equal((await sourceView(rig.secondSource)).syncing, false);
      const held = secondProxy.hold({ method: 'CreateContainerView', match: lists });
      const both = Promise.all([rig.joinSync(rig.secondSource), rig.joinSync(rig.secondSource)]);
      await held.arrived;
      assert.equal((await sourceView(rig.secondSource)).syncing, true);
      await rig.killWorkers(['control']);
      held.release();
      await rig.startWorkers(['control']);
      assert.equal((await sourceView(rig.secondSource)).syncing, true, 'the killed one is repeated');
      const [one, other] = await both;
      assert.deepEqual(one, other);
      const view = await sourceView(rig.secondSource);
      assert.deepEqual([view.syncing, view.last], [false, one]);
      const { events } = await rig.client.workflow.getHandle(sourceId(rig.secondSource)).fetchHistory();
      const begun = events?.filter((event) => event.activityTaskScheduledEventAttributes !== null) ?? [];
      assert.equal(begun.length, 2, 'the one before, and one for both');
    });
  });
});
