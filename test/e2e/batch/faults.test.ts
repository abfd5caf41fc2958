import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { copyPassId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type { MigrationView, ResolveAnswer } from '../../../workflows/contracts/batch.ts';
import { about, holdSource, holdTarget, targetCall } from '../../support/batch-holds.ts';
import { assertNeverBoth, assertNoSlots, powerChanges, snapshotsOf } from '../../support/batch-invariants.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { BatchChanges, BatchUnderTest, SourceVm } from '../../support/batch-scenario.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

const mib = 1024 * 1024;
const twoDisks = (seed: number) => ({
  disks: [
    { size: 8 * mib, seed },
    { size: 8 * mib, seed: seed + 1 },
  ],
});

let rig: BatchRig;
before(async () => {
  rig = await BatchRig.start({
    ownSource: true,
    source: { importLimit: 20 },
    // Late answers are late soon, agents are slow.
    target: { createLimit: 20, connectionTimeoutMs: 5_000 },
    incus: { agentMs: 40_000 },
  });
});
after(() => rig.stop());

async function oneVm(label: string, changes: BatchChanges = {}, more: object = {}): Promise<SourceVm> {
  const batch = await rig.batch(changes);
  return await batch.vm(label, more);
}

async function run(batch: BatchUnderTest): Promise<void> {
  await batch.apply();
  await batch.start();
}

async function finishes(vm: SourceVm, disks = 1): Promise<MigrationView> {
  const view = await vm.becomes('Finished', undefined, 2 * patienceMs);
  await vm.assertSameDisks(disks);
  await assertAtRest(vm);
  assert.equal(await vm.power(), 'poweredOff');
  assert.equal(vm.target?.status, 'Running');
  return view;
}

async function assertAtRest(vm: SourceVm): Promise<void> {
  assert.deepEqual(
    (await snapshotsOf(vm)).filter((name) => name.startsWith('mm-')),
    [],
  );
  await assertNeverBoth(vm);
  await assertNoSlots(rig, [vm]);
}

async function resolve(vm: SourceVm): Promise<ResolveAnswer> {
  const { conflict } = await vm.view();
  assert.ok(conflict !== undefined, 'there is a conflict');
  return await vm.update<ResolveAnswer>(messages.resolve, { conflictId: conflict.id, decision: 'recheck' });
}

function created({ name }: SourceVm): number {
  return rig.incus.journal.events('instance-created', name).length;
}

describe('what far sides do to a migration', { concurrency: 4 }, () => {
  test('batch/S51: a target that did not start at first is started again, and nobody waits for its agent', async () => {
    const vm = await oneVm('s51');
    rig.incus.faults.add({ ...targetCall('power', vm), effect: { kind: 'no-effect' } });
    await run(vm.batch);
    await finishes(vm);
  });

  test('batch/S52: an instance whose creation was answered by nobody is the one instance', async () => {
    const vm = await oneVm('s52');
    const effect = { kind: 'drop', when: 'after' } as const;
    rig.incus.faults.add({ method: 'POST', path: /^\/1.0\/instances$/, name: vm.name, effect });
    await run(vm.batch);
    await finishes(vm);
    assert.equal(created(vm), 1);
  });

  test('case/87: a creation that is late and succeeds is looked at, not repeated', async () => {
    const vm = await oneVm('c87', {}, twoDisks(870));
    const effect = { kind: 'slow-operation', ms: 8_000 } as const;
    rig.incus.faults.add({ method: 'POST', path: /^\/1.0\/instances$/, name: vm.name, effect });
    await run(vm.batch);
    await finishes(vm, 2);
    assert.equal(created(vm), 1);
  });

  test('case/87: of a creation that fails half-way nothing is left, and the next one is whole', async () => {
    const vm = await oneVm('c87b', {}, twoDisks(873));
    const effect = { kind: 'status', status: 500, error: 'Failed to create the volume' } as const;
    rig.incus.faults.add({ method: 'POST', path: /volumes\/custom$/, name: `${vm.name}-disk1`, times: 9, effect });
    await run(vm.batch);
    await vm.becomes('Waiting', ({ message }) => /attempt 1/.test(message));
    assert.ok(vm.target === undefined, 'what was made of it is gone');
    await finishes(vm, 2);
    assert.equal(created(vm), 2);
    assert.equal(rig.incus.volumes().filter(({ name }) => name.startsWith(vm.name)).length, 1);
  });

  test('every change is carried out and its answer lost, once each: the VM is migrated as if nothing were', async () => {
    const vm = await oneVm('lost', {}, twoDisks(600));
    const drop = { kind: 'drop', when: 'after' } as const;
    const calls = ['configure', 'power'] as const;
    for (const call of calls) rig.incus.faults.add({ ...targetCall(call, vm), effect: drop });
    // Its configuration as it is to stay, and the handing over.
    rig.incus.faults.add({ ...targetCall('configure', vm), skip: 1, effect: drop });
    rig.incus.faults.add({ ...targetCall('configure', vm), skip: 2, effect: drop });
    rig.incus.faults.add({ method: 'POST', path: /volumes\/custom$/, name: `${vm.name}-disk1`, effect: drop });
    const lost = ['CreateSnapshot_Task', 'ShutdownGuest', 'PowerOffVM_Task'].map((method) =>
      rig.proxy.addRule({ method, match: about(vm), action: 'drop-after' }),
    );
    await run(vm.batch);
    await finishes(vm, 2);
    assert.equal(created(vm), 1);
    assert.ok(lost.filter((rule) => rule.fired() === 1).length >= 2, 'answers of the source were lost');
    const snapshots = (await rig.control.finishedTasks()).filter(
      ({ method, object }) => method.startsWith('CreateSnapshot') && object === vm.ref,
    );
    assert.equal(snapshots.length, 2, 'one for each copy');
  });

  test('operations that fail at their end are begun again, whichever it is', async () => {
    const vm = await oneVm('fails');
    const effect = { kind: 'fail-operation', error: 'disk I/O error' } as const;
    for (const call of ['configure', 'power', 'delete'] as const)
      rig.incus.faults.add({ ...targetCall(call, vm), skip: call === 'configure' ? 2 : 0, effect });
    for (const method of ['CreateSnapshot_Task', 'PowerOffVM_Task'])
      await rig.control.addFault({ method, objectName: vm.name, fault: 'SystemError', asTaskError: true, count: 1 });
    await run(vm.batch);
    await finishes(vm);
  });

  test('a full pool ends the creation as an Error after its attempts; nothing is left, the source runs on', async () => {
    rig.incus.addPool('tiny', { capacity: 4 * mib });
    const placement = { target: 'tgt', target_project: 'default', storage_pool: 'tiny' };
    const vm = await oneVm('full', { defaults: { placement }, config: { create_retries: 1 } });
    await run(vm.batch);
    const { reason, message } = await vm.becomes('Error', undefined, 2 * patienceMs);
    assert.equal(reason, 'CREATE_FAILED');
    assert.match(message, /space|room/i);
    assert.ok(vm.target === undefined);
    await assertAtRest(vm);
    assert.equal((await powerChanges(vm)).length, 1);
    rig.incus.setCapacity('tiny', 64 * mib);
    await vm.update(messages.cancel);
    await vm.update(messages.retry);
    await finishes(vm);
  });

  test('a pool that is full in the last copy is an Error: the source runs again, the target is kept', async () => {
    const vm = await oneVm('full2');
    rig.incus.faults.add({ ...targetCall('disk', vm), skip: 2, effect: { kind: 'nbd-error', errno: 28 } });
    const final = holdTarget(vm, 'disk', { skip: 2 });
    await run(vm.batch);
    await vm.becomes('Performing final import tasks', ({ substate }) => substate === 'copying');
    await rig.control.fillDisk(vm.ref, 0, 2 * mib, mib, 4711);
    final.release();
    assert.equal((await vm.becomes('Error')).reason, 'WORKER_FAILED');
    assert.equal(await vm.power(), 'poweredOn');
    assert.equal(vm.target?.status, 'Stopped');
    await assertAtRest(vm);
    await vm.update(messages.cancel);
    await vm.update(messages.retry);
    await finishes(vm);
  });

  test('a snapshot that somebody removes in the middle of a copy is made anew, and the copy is right', async () => {
    const vm = await oneVm('snap', {}, twoDisks(640));
    const copy = holdTarget(vm, 'secondDisk', { skip: 1 });
    await run(vm.batch);
    await copy.arrived();
    const [ours] = await snapshotsOf(vm);
    assert.ok(ours !== undefined);
    await rig.control.removeSnapshot(vm.ref, ours);
    await rig.control.fillDisk(vm.ref, 0, 0, mib, 4712);
    copy.release();
    await finishes(vm, 2);
  });

  test('a VM that was renamed is an Error; cancelled with cleanup and retried, it is migrated under its new name', async () => {
    const vm = await oneVm('old');
    const final = vm.holdFinalCopy();
    await run(vm.batch);
    await vm.isInFinalCopy();
    const renamed = `new-${rig.id}`;
    await rig.control.renameVm(vm.ref, renamed);
    final.release();
    assert.equal((await vm.becomes('Error')).reason, 'IDENTITY_NAME');
    assert.equal(await vm.power(), 'poweredOn');
    await vm.update(messages.cancel, { cleanup: true });
    await vm.update(messages.retry);
    await vm.becomes('Finished');
    assert.equal(rig.incus.instance('default', renamed)?.status, 'Running');
    assert.ok(vm.target === undefined, 'nothing has its old name');
  });

  test('a VM that is gone when its turn comes is a Conflict again and again; a cancel ends it', async () => {
    const vm = await oneVm('gone');
    const copy = holdTarget(vm, 'disk', { skip: 1 });
    await run(vm.batch);
    await copy.arrived();
    await vm.update(messages.hold);
    copy.release();
    await vm.becomes('Idle', ({ stage }) => stage === 'final');
    await rig.control.powerOffVm(vm.ref);
    await rig.control.destroyVm(vm.ref);
    await vm.update(messages.unhold);
    const { conflict } = await vm.becomes('Conflict');
    assert.equal(conflict?.code, 'SOURCE_VM_GONE');
    await resolve(vm);
    await vm.becomes('Conflict', ({ resolveCount }) => resolveCount === 1);
    assert.equal(await vm.update(messages.cancel, { cleanup: true }), 'canceled');
    assert.ok(vm.target === undefined);
    await assertNoSlots(rig, [vm]);
  });

  test('a NIC that was removed is not at the target either', async () => {
    const vm = await oneVm('nonic');
    const final = vm.holdFinalCopy();
    await run(vm.batch);
    await vm.isInFinalCopy();
    await rig.control.removeNic(vm.ref, vm.mac);
    final.release();
    await finishes(vm);
    assert.ok(!Object.values(vm.target?.devices ?? {}).some(({ type }) => type === 'nic'));
  });

  test('a network that is gone from the target is a Conflict until it is back', async () => {
    const network = `net${rig.id.slice(-4)}`;
    rig.incus.addNetwork(network);
    const vm = await oneVm('net', {
      network_overrides: { '/DC0/network/VM Network': { network, nictype: 'managed', vlan_id: '' } },
    });
    const final = vm.holdFinalCopy();
    await run(vm.batch);
    await vm.isInFinalCopy();
    rig.incus.removeNetwork(network);
    final.release();
    const { conflict } = await vm.becomes('Conflict');
    assert.equal(conflict?.code, 'NETWORK_GONE');
    assert.equal((await resolve(vm)).result, 'conflict');
    rig.incus.addNetwork(network);
    assert.equal((await resolve(vm)).result, 'finished');
    await finishes(vm);
  });

  test('a name that a stranger takes at the last moment stays his; the VM waits until it is free', async () => {
    const vm = await oneVm('taken');
    const [hold, release] = gate();
    const effect = { kind: 'hold', until: hold } as const;
    rig.incus.faults.add({ method: 'POST', path: /^\/1.0\/instances$/, name: vm.name, effect });
    await run(vm.batch);
    await vm.becomes('Creating new VM');
    await rig.incus.addInstance({ name: vm.name, running: true, config: { 'user.of': 'somebody' } });
    release();
    await vm.becomes('Blocked', ({ message }) => /TARGET_INSTANCE_EXISTS/.test(message), 2 * patienceMs);
    assert.equal(vm.target?.status, 'Running');
    await assertNoSlots(rig, [vm]);
    await rig.incus.removeInstance('default', vm.name);
    await finishes(vm);
  });

  test('a stranger in the place of our instance is a Conflict, and a cancel with cleanup leaves him alone', async () => {
    const vm = await oneVm('swapped');
    const final = vm.holdFinalCopy();
    const check = holdSource(vm, 'RetrievePropertiesEx', { property: 'config.instanceUuid' });
    check.release();
    await run(vm.batch);
    await vm.isInFinalCopy();
    const verify = holdSource(vm, 'RetrievePropertiesEx', { property: 'config.instanceUuid' });
    final.release();
    await verify.arrived();
    await rig.incus.removeInstance('default', vm.name);
    await rig.incus.addInstance({ name: vm.name, running: true, config: { 'user.of': 'somebody' } });
    verify.release();
    assert.equal((await vm.becomes('Conflict')).conflict?.code, 'TARGET_INSTANCE_GONE');
    assert.equal(await vm.update(messages.cancel, { cleanup: true }), 'canceled');
    assert.equal((await vm.becomes('Canceled')).substate, undefined);
    assert.equal(await vm.power(), 'poweredOn');
    assert.equal(vm.target?.status, 'Running');
    assert.equal(vm.target.config['user.of'], 'somebody');
  });

  test('what an entry before has left is no beginning for a new one', async () => {
    const vm = await oneVm('left');
    const copy = holdTarget(vm, 'disk', { skip: 1 });
    await run(vm.batch);
    await copy.arrived();
    await vm.update(messages.cancel);
    copy.release();
    await rig.incus.writeDisk('default', vm.name, 0, 4 * mib, Buffer.alloc(mib, 'old'));
    await vm.batch.update(messages.stop);
    await vm.batch.update(messages.delete);
    await rig.control.fillDisk(vm.ref, 0, 4 * mib, mib, 0);
    await run(vm.batch);
    await vm.becomes('Blocked', ({ message }) => /has left/.test(message));
    await rig.incus.removeInstance('default', vm.name);
    await finishes(vm);
  });

  test('case/98: a failed cut-over goes on from the last good point: only what has changed is copied again', async () => {
    const vm = await oneVm('c98');
    const final = vm.holdFinalCopy();
    await run(vm.batch);
    await vm.isInFinalCopy();
    const wholeReads = async (): Promise<number> =>
      (await rig.control.transfers()).filter(({ file }) => file.includes(vm.name)).length;
    assert.equal(await wholeReads(), 1, 'the first copy');
    await vm.update(messages.cancel);
    assert.equal(await vm.power(), 'poweredOn');
    await rig.control.fillDisk(vm.ref, 0, 5 * mib, 64 * 1024, 98);
    final.release();
    await vm.update(messages.retry);
    await finishes(vm);
    assert.equal(await wholeReads(), 1, 'its disk was not read as a whole again');
  });

  test('case/101: another host, a lost series of changes and a snapshot of somebody else: the bytes are right', async () => {
    const vm = await oneVm('c101');
    const copy = holdTarget(vm, 'disk', { skip: 1 });
    await run(vm.batch);
    await copy.arrived();
    await vm.update(messages.hold);
    copy.release();
    await vm.becomes('Idle', ({ stage }) => stage === 'final');
    await rig.control.relocateVm(vm.ref, '/DC0/host/DC0_C0/DC0_C0_H1');
    await rig.control.resetTracking(vm.ref);
    await rig.control.snapshotVm(vm.ref, 'nightly');
    await rig.control.fillDisk(vm.ref, 0, 3 * mib, mib, 101);
    await vm.update(messages.unhold);
    await finishes(vm);
    assert.deepEqual(await snapshotsOf(vm), ['nightly'], 'what isn’t ours is left alone');
    assert.match(rig.workers.get('control')?.output() ?? '', /somebody else has snapshots of this VM/);
  });

  test('case/103: each failed attempt is in the log with its cause, and in the status while it lasts', async () => {
    const vm = await oneVm('c103');
    const final = vm.holdFinalCopy();
    await run(vm.batch);
    await vm.isInFinalCopy();
    const effect = { kind: 'status', status: 500, error: `no quorum for ${vm.name}` } as const;
    rig.incus.faults.add({ ...targetCall('look', vm), times: 2, effect });
    final.release();
    const pass = rig.client.workflow.getHandle(copyPassId(await vm.uuid(), 2));
    await waitFor('the failure in the status', async () => {
      const { pendingActivities } = (await pass.describe()).raw;
      return pendingActivities?.some(({ lastFailure }) => lastFailure?.message?.includes('no quorum'));
    });
    await finishes(vm);
    const log = rig.workers.get('transfer')?.output() ?? '';
    assert.ok(log.split('\n').some((line) => /no quorum for/.test(line) && line.includes('copyDisk')));
  });
});

function gate(): [Promise<void>, () => void] {
  let open = (): void => undefined;
  return [new Promise<void>((resolve) => (open = resolve)), () => open()];
}
