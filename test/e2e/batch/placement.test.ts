import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { BatchLookupAnswer } from '../../../workflows/contracts/batch-lookup.ts';
import type { ResolveAnswer } from '../../../workflows/contracts/batch.ts';
import { lookupId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { Hold } from '../../sim/hold.ts';
import type { FaultProxy } from '../../sim/fault-proxy.ts';
import type { RecordedRequest } from '../../sim/request-log.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import { assertRefused, type BatchChanges, type BatchUnderTest, type SourceVm } from '../../support/batch-scenario.ts';
import { waitFor } from '../../support/wait-for.ts';

const mib = 1024 * 1024;
const portGroup = '/DC0/network/DC0_DVPG0';
const mapped = (network: string): BatchChanges => ({
  network_overrides: { [portGroup]: { network, nictype: 'managed', vlan_id: '' } },
});

describe('where VMs go, and what they are compared with', { concurrency: 1 }, () => {
  let rig: BatchRig;
  before(async () => (rig = await BatchRig.start({ secondSource: {}, secondTarget: true })));
  after(() => rig.stop());

  async function started(batch: BatchUnderTest): Promise<void> {
    await batch.apply();
    await batch.start();
  }

  /** Holds what M4 asks about this VM first, once its last copy is under way. */
  function holdFinalCheck(proxy: FaultProxy, { ref }: SourceVm): Hold {
    return proxy.hold({
      method: 'RetrievePropertiesEx',
      match: ({ body }: RecordedRequest) => body.includes('config.guestFullName') && body.includes(`>${ref}<`),
    });
  }

  async function resolve(vm: SourceVm): Promise<ResolveAnswer> {
    const { conflict } = await vm.view();
    return await vm.update<ResolveAnswer>(messages.resolve, { conflictId: conflict?.id, decision: 'recheck' });
  }

  const nicsOf = (vm: SourceVm): readonly (string | undefined)[] =>
    Object.values(vm.target?.devices ?? {}).flatMap(({ type, network }) => (type === 'nic' ? [network] : []));

  describe('one VM among others', { concurrency: 6 }, () => {
    /** One VM whose source VM is destroyed after its last copy, before the final checks. */
    async function destroyed(label: string, changes: BatchChanges = {}): Promise<SourceVm> {
      const batch = await rig.batch(changes);
      const vm = await batch.vm(label);
      const copy = vm.holdFinalCopy();
      await started(batch);
      await vm.isInFinalCopy();
      const check = holdFinalCheck(rig.proxy, vm);
      copy.release();
      await check.arrived;
      await rig.control.destroyVm(vm.ref);
      check.release();
      return vm;
    }

    test('batch/S41: a VM that is gone from the source before the final checks is a Conflict, and stays one', async () => {
      const vm = await destroyed('s41');
      const { conflict, status } = await vm.becomes('Conflict');
      assert.equal(conflict?.code, 'SOURCE_VM_GONE');
      assert.equal(vm.target?.status, 'Stopped');
      assert.equal((await resolve(vm)).result, 'conflict');
      assert.equal(status, 'Conflict');
      await vm.update(messages.cancel);
      assert.match((await vm.becomes('Canceled', ({ substate }) => substate === undefined)).message, /is gone/);
    });

    test('batch/S41: forced, what was copied of it is finished', async () => {
      const vm = await destroyed('s41b', { defaults: { force_conflict_resolution: true } });
      await vm.becomes('Finished');
      assert.equal(vm.target?.status, 'Running');
    });

    test('batch/S47: a name that a finished VM has at the target blocks the next one, and its clean-up touches nothing', async () => {
      const [first, second] = [await rig.batch(), await rig.batch()];
      const done = await first.vm('web');
      await started(first);
      await done.becomes('Finished');
      const other = await second.vm('web');
      assert.equal(other.name, done.name);
      await started(second);
      assert.match((await other.becomes('Blocked')).message, /^TARGET_INSTANCE_EXISTS: .*not of this entry/);
      const changes = rig.incus.journal.changes().length;
      await other.update(messages.cancel, { cleanup: true });
      await other.becomes('Canceled', ({ substate }) => substate === undefined);
      assert.equal(done.target?.status, 'Running');
      const touched = rig.incus.journal
        .changes()
        .slice(changes)
        .filter(({ path }) => path.includes(done.name));
      assert.deepEqual(touched, []);
      await done.assertSameDisks();
    });

    test('case/75: a network that isn’t mapped blocks the VMs that are on it, until it is', async () => {
      const batch = await rig.batch();
      const [other, vm] = [await batch.vm('c75'), await batch.vm('c75b')];
      await rig.control.addNic(vm.ref, { network: portGroup, mac: '00:50:56:aa:75:01', ips: ['10.1.0.75'] });
      await started(batch);
      await other.becomes('Finished');
      const { message } = await vm.becomes('Blocked');
      assert.match(message, /^NETWORK_GONE: NIC 00:50:56:aa:75:01 .*DC0_DVPG0.*network_overrides/);
      await batch.edit(mapped('VM-Network'));
      await vm.becomes('Finished');
      assert.deepEqual(nicsOf(vm), ['VM-Network', 'VM-Network']);
    });

    test('case/93: the second of two mappings is wrong: it is told, nothing is made, nothing else is taken instead', async () => {
      const batch = await rig.batch(mapped('nosuch'));
      const vm = await batch.vm('c93');
      await rig.control.addNic(vm.ref, { network: portGroup, mac: '00:50:56:aa:93:01', ips: ['10.9.3.1'] });
      await started(batch);
      const { message } = await vm.becomes('Blocked');
      assert.match(
        message,
        /NIC 00:50:56:aa:93:01 .*network "nosuch", which project "default" of target "tgt" doesn't/,
      );
      assert.equal(vm.target, undefined);
      await batch.edit(mapped('incusbr0'));
      await vm.becomes('Blocked', (view) => view.message.startsWith('NETWORK_SUBNET'));
      rig.incus.addNetwork('c93-net', { config: { 'ipv4.address': '10.9.3.254/24' } });
      await batch.edit(mapped('c93-net'));
      await vm.becomes('Finished');
      assert.deepEqual(nicsOf(vm), ['VM-Network', 'c93-net']);
    });

    test('case/91: what can’t begin says why and what to do: a network that doesn’t exist, a target that can’t be reached', async () => {
      const batch = await rig.batch({
        placement_rules: [
          { when: `name startsWith 'c91net'`, set: { network: [{ when_nic: 'true', network: 'missing' }] } },
          { when: `name startsWith 'c91tgt'`, set: { target: 'tgt2' } },
        ],
      });
      const [network, target, other] = [await batch.vm('c91net'), await batch.vm('c91tgt'), await batch.vm('c91')];
      await rig.secondIncus?.down();
      await started(batch);
      const misplaced = await network.becomes('Blocked');
      assert.match(misplaced.message, /network "missing", which .*: create it there, or map/);
      assert.deepEqual(misplaced.next.length > 0, true);
      const unreachable = await target.becomes('Blocked');
      assert.match(unreachable.message, /target tgt2/i);
      await other.becomes('Finished');
      await rig.secondIncus?.up();
      await target.becomes('Finished');
      assert.equal(rig.secondIncus?.instance('default', target.name)?.status, 'Running');
      rig.incus.addNetwork('missing');
      await network.becomes('Finished');
    });

    test('rules choose target, project, pools and networks; each choice is explained', async () => {
      rig.secondIncus?.addProject('p2', { 'features.networks': 'false', 'features.storage.volumes': 'true' });
      const batch = await rig.batch({
        placement_rules: [
          { when: 'true', set: { target: 'tgt2', pool: { default: 'fast' } } },
          {
            when: 'len(disks) == 2',
            set: { project: 'p2', pool: { by_disk: [{ when_disk: `capacity > ${2 * mib}`, pool: 'default' }] } },
          },
        ],
      });
      const vm = await batch.vm('rules', {
        disks: [
          { size: mib, seed: 1 },
          { size: 4 * mib, seed: 2 },
        ],
      });
      await started(batch);
      const { placement, uuid } = await vm.becomes('Finished');
      assert.deepEqual([placement?.target_name, placement?.target_project], ['tgt2', 'p2']);
      const { devices = {} } = rig.secondIncus?.instance('p2', vm.name) ?? {};
      const pools = Object.values(devices).flatMap(({ type, pool }) => (type === 'disk' ? [pool] : []));
      assert.deepEqual(pools.sort(), ['default', 'fast']);
      const answer: unknown = await rig.client.workflow.execute('lookup', {
        taskQueue: rig.taskQueue,
        workflowId: lookupId(randomUUID()),
        args: [{ what: 'placement', batch: batch.name, uuid }],
      });
      const { found } = answer as Extract<BatchLookupAnswer, { what: 'placement' }>;
      assert.equal(found?.reasons.find(({ field }) => field === 'project')?.why, 'placement rule 2');
      assert.equal(found.reasons.find(({ field }) => field === 'target')?.why, 'placement rule 1');
    });

    test('a member that is gone as its batch starts is left out and named; a batch of none but such isn’t started', async () => {
      const batch = await rig.batch();
      const [gone, stays] = [await batch.vm('left'), await batch.vm('stays', { ips: [] })];
      const lone = await rig.batch();
      const only = await lone.vm('only');
      await batch.apply();
      await lone.apply();
      for (const { ref } of [gone, only]) {
        await rig.control.powerOffVm(ref);
        await rig.control.destroyVm(ref);
      }
      const { queued, skipped } = await batch.start();
      assert.equal(queued, 1);
      assert.deepEqual(
        skipped.map(({ name }) => name),
        [gone.name],
      );
      assert.match(skipped[0]?.why ?? '', /source vc1 has no such VM any more/);
      await stays.becomes('Blocked');
      await assertRefused(lone.start(), /no member of .* can get an entry: source vc1 has no such VM/);
      assert.equal((await lone.view()).status, 'Defined');
    });
  });

  describe('a source that can’t be reached', { concurrency: 1 }, () => {
    /** A batch with a VM of each source. */
    async function ofBoth(label: string): Promise<{ batch: BatchUnderTest; here: SourceVm; there: SourceVm }> {
      const batch = await rig.batch();
      await rig.control.createFolder('/DC1/vm', batch.name);
      const folder = `/DC1/vm/${batch.name}`;
      const include_expression = `location startsWith '${batch.folder}/' || location startsWith '${folder}/'`;
      batch.spec = { ...batch.spec, include_expression };
      return { batch, here: await batch.vm(`${label}-1`), there: await batch.vm(`${label}-2`, { folder }) };
    }

    test('batch/S40: one that is down during the final checks of its VM keeps that VM waiting; another one’s is finished', async () => {
      const { batch, here, there } = await ofBoth('s40');
      const copies = [here.holdFinalCopy(), there.holdFinalCopy()];
      await started(batch);
      await here.isInFinalCopy();
      await there.isInFinalCopy();
      const second = rig.secondProxy;
      assert.ok(second !== undefined);
      const check = holdFinalCheck(second, there);
      copies[1]?.release();
      await check.arrived;
      await second.down();
      check.release();
      copies[0]?.release();
      await here.becomes('Finished');
      assert.equal((await there.view()).status, 'Worker tasks complete');
      await waitFor('what it waits for to be told', async () => {
        const { raw } = await (await there.handle()).describe();
        return /connect/.test(raw.pendingActivities?.[0]?.lastFailure?.message ?? '');
      });
      assert.equal(there.target?.status, 'Stopped');
      assert.equal(await there.power(), 'poweredOff');
      await second.up();
      await there.becomes('Finished', () => true, 180_000);
      await there.assertSameDisks();
      await waitFor('the batch', async () => (await batch.view()).status === 'Finished');
    });

    test('case/91: one that is down as a batch starts keeps nobody else; what is missing is told, and made up for', async () => {
      const { batch, here, there } = await ofBoth('down');
      await batch.apply();
      const second = rig.secondProxy;
      assert.ok(second !== undefined);
      await second.down();
      await assertRefused((await rig.batch()).apply(), /source vc2 can't be read: .*connect/);
      const { queued, skippedCount } = await batch.start();
      assert.deepEqual([queued, skippedCount], [2, 0]);
      await here.becomes('Finished');
      assert.match((await batch.view()).message, new RegExp(`${there.name}.*vc2.*connect`));
      await second.up();
      await there.becomes('Finished', () => true, 120_000);
      await batch.becomes('Finished');
    });
  });
});
