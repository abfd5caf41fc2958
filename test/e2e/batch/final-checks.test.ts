import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { ResolveAnswer } from '../../../workflows/contracts/batch.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import { assertRefused, type BatchChanges, type SourceVm } from '../../support/batch-scenario.ts';
import { waitFor } from '../../support/wait-for.ts';

const mib = 1024 * 1024;
/** Chooses the project by the size of the VM. */
const byCpus = `function placement(instance) { set_project(instance.cpus > 2 ? 'p2' : 'default'); }`;

describe('what has changed meanwhile, before the target is finished', { concurrency: 4 }, () => {
  let rig: BatchRig;
  before(async () => {
    rig = await BatchRig.start();
    rig.incus.addProject('p2', { 'features.networks': 'false', 'features.storage.volumes': 'true' });
  });
  after(() => rig.stop());

  /** One VM in its last copy, its source off; `meanwhile` happens, then it goes on. */
  async function changed(
    label: string,
    meanwhile: (vm: SourceVm) => Promise<unknown>,
    changes: BatchChanges = {},
  ): Promise<SourceVm> {
    const batch = await rig.batch(changes);
    const vm = await batch.vm(label);
    const held = vm.holdFinalCopy();
    await batch.apply();
    await batch.start();
    await vm.isInFinalCopy();
    await meanwhile(vm);
    held.release();
    return vm;
  }

  async function resolve(vm: SourceVm, decision = 'recheck'): Promise<ResolveAnswer> {
    const { conflict } = await vm.view();
    assert.ok(conflict !== undefined, 'there is a conflict');
    return await vm.update<ResolveAnswer>(messages.resolve, { conflictId: conflict.id, decision });
  }

  test('batch/S28: a source that is switched on behind our back is switched off again, and what it wrote is at the target', async () => {
    const vm = await changed('s28', async ({ ref }) => {
      await rig.control.powerOnVm(ref);
      await rig.control.fillDisk(ref, 0, 3 * mib, 64 * 1024, 4711);
    });
    await vm.becomes('Finished');
    assert.equal(await vm.power(), 'poweredOff');
    await vm.assertSameDisks();
  });

  test('batch/S29: another instance UUID is an Error; the source runs again, the target is kept and stopped, retry needs a cancel', async () => {
    const vm = await changed('s29', ({ ref }) =>
      rig.control.changeVm(ref, { instanceUuid: '11111111-2222-4333-8444-555555555555' }),
    );
    const { reason } = await vm.becomes('Error');
    assert.equal(reason, 'IDENTITY_UUID');
    assert.equal(await vm.power(), 'poweredOn');
    assert.equal(vm.target?.status, 'Stopped');
    await assertRefused(vm.update(messages.retry), /Canceled/);
  });

  test('batch/S30: another name is an Error', async () => {
    const vm = await changed('s30', ({ ref, name }) => rig.control.renameVm(ref, `${name}x`));
    assert.equal((await vm.becomes('Error')).reason, 'IDENTITY_NAME');
    assert.equal(await vm.power(), 'poweredOn');
  });

  test('batch/S30: another folder is none', async () => {
    const folder = await rig.control.createFolder('/DC0/vm', `s30-${rig.id}`);
    assert.ok(folder);
    const vm = await changed('s30b', ({ ref }) => rig.control.moveVm(ref, `/DC0/vm/s30-${rig.id}`));
    await vm.becomes('Finished');
  });

  const disks: readonly (readonly [string, (ref: string) => Promise<unknown>])[] = [
    ['added', (ref) => rig.control.addDisk(ref, { size: mib })],
    ['grown', (ref) => rig.control.growDisk(ref, 0, 16 * mib)],
  ];
  for (const [what, change] of disks)
    test(`batch/S31: a disk that is ${what} before the final checks is an Error`, async () => {
      const vm = await changed(`s31${what}`, ({ ref }) => change(ref));
      assert.equal((await vm.becomes('Error')).reason, 'IDENTITY_DISKS');
      assert.equal(await vm.power(), 'poweredOn');
      assert.equal(vm.target?.status, 'Stopped');
    });

  test('batch/S32 batch/S33: a program that would place it elsewhere now is a Conflict, again and again until the cause is gone', async () => {
    const vm = await changed('s32', ({ ref }) => rig.control.changeVm(ref, { cpus: 4 }), {
      config: { placement_scriptlet: byCpus },
    });
    const { conflict } = await vm.becomes('Conflict');
    assert.equal(conflict?.code, 'PLACEMENT_CHANGED');
    assert.match(conflict.expected, /default/);
    assert.match(conflict.found, /p2/);
    assert.equal(await vm.power(), 'poweredOff', 'the source stays off');
    assert.equal((await resolve(vm)).result, 'conflict');
    assert.equal((await vm.becomes('Conflict')).resolveCount, 1);
    await rig.control.changeVm(vm.ref, { cpus: 1 });
    assert.equal((await resolve(vm)).result, 'finished');
    await vm.becomes('Finished');
  });

  test('batch/S34: the program alone is edited so that it fits, and the resolve sees it', async () => {
    const vm = await changed('s34', ({ ref }) => rig.control.changeVm(ref, { cpus: 4 }), {
      config: { placement_scriptlet: byCpus },
    });
    await vm.becomes('Conflict');
    await vm.batch.edit({ config: { placement_scriptlet: `function placement() { set_project('default'); }` } });
    assert.equal((await resolve(vm)).result, 'finished');
    assert.equal(vm.target?.config['limits.cpu'], '4');
  });

  test('batch/S35: forced, it stays in its project with the new CPUs', async () => {
    const vm = await changed('s35', ({ ref }) => rig.control.changeVm(ref, { cpus: 4 }), {
      config: { placement_scriptlet: byCpus },
      defaults: { force_conflict_resolution: true },
    });
    await vm.becomes('Finished');
    assert.equal(vm.target?.config['limits.cpu'], '4');
  });

  test('batch/S36: a NIC on a network that the target lacks is a Conflict; mapped elsewhere it is finished with both NICs', async () => {
    const vm = await changed('s36', ({ ref }) =>
      rig.control.addNic(ref, { network: '/DC0/network/DC0_DVPG0', mac: '00:50:56:aa:36:01', ips: ['10.1.0.5'] }),
    );
    const { conflict } = await vm.becomes('Conflict');
    assert.equal(conflict?.code, 'NETWORK_GONE');
    await vm.batch.edit({
      network_overrides: { '/DC0/network/DC0_DVPG0': { network: 'VM-Network', nictype: 'managed', vlan_id: '' } },
    });
    const answer = await resolve(vm);
    assert.equal(answer.result, 'finished', answer.conflict?.message);
    const nics = Object.values(vm.target?.devices ?? {}).filter(({ type }) => type === 'nic');
    assert.equal(nics.length, 2);
  });

  test('batch/S37: forced, it is finished with the NIC that it had', async () => {
    const vm = await changed(
      's37',
      ({ ref }) =>
        rig.control.addNic(ref, { network: '/DC0/network/DC0_DVPG0', mac: '00:50:56:aa:37:01', ips: ['10.1.0.6'] }),
      { defaults: { force_conflict_resolution: true } },
    );
    await vm.becomes('Finished');
    const nics = Object.values(vm.target?.devices ?? {}).filter(({ type }) => type === 'nic');
    assert.deepEqual(
      nics.map(({ hwaddr }) => hwaddr),
      [vm.mac],
    );
  });

  test('batch/S38: a NIC on a network that both know is taken along', async () => {
    const vm = await changed('s38', ({ ref }) =>
      rig.control.addNic(ref, { network: '/DC0/network/VM Network', mac: '00:50:56:aa:38:01', ips: ['10.1.0.77'] }),
    );
    await vm.becomes('Finished');
    const nics = Object.values(vm.target?.devices ?? {}).filter(({ type }) => type === 'nic');
    assert.equal(nics.length, 2);
  });

  test('batch/S39: a target that starts at the third try is finished; one that never does is a Conflict until it is repaired', async () => {
    const refuse = (vm: SourceVm, times: number): Promise<void> => {
      rig.incus.faults.add({
        method: 'PUT',
        path: new RegExp(`/instances/${vm.name}/state$`),
        times,
        effect: { kind: 'fail-operation', error: 'Failed to start: qemu exited' },
      });
      return Promise.resolve();
    };
    const twice = await changed('s39', (vm) => refuse(vm, 4));
    await twice.becomes('Finished');
    // Each attempt asks twice before it counts as failed.
    const never = await changed('s39b', (vm) => Promise.resolve(refuse(vm, 4)), {
      config: { post_migration_retries: 1 },
    });
    const { conflict } = await never.becomes('Conflict');
    assert.equal(conflict?.code, 'FINALIZE_FAILED');
    assert.match(conflict.what, /start/);
    assert.equal(await never.power(), 'poweredOff');
    assert.equal((await resolve(never)).result, 'finished');
    assert.equal(never.target?.status, 'Running');
  });

  test('batch/S42: that we have switched it off ourselves doesn’t keep the target from being started', async () => {
    const vm = await changed('s42', () => Promise.resolve());
    const view = await vm.becomes('Finished');
    assert.equal(view.placement?.running, true);
    assert.equal(vm.target?.status, 'Running');
  });

  test('batch/S53: a program that was edited alone moves nobody whose VM is as it was', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('s53');
    const held = vm.holdFinalCopy();
    await batch.apply();
    await batch.start();
    await vm.isInFinalCopy();
    await batch.edit({ config: { placement_scriptlet: `function placement() { set_project('p2'); }` } });
    held.release();
    await vm.becomes('Finished');
    assert.equal(vm.target?.status, 'Running');
    await waitFor('its end', async () => (await batch.view()).status === 'Finished');
  });
});
