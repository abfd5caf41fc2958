import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { waitFor } from '../../support/wait-for.ts';
import type { SourceVm } from './source-rig.ts';
import { mib, sourceRig } from './source-rig.ts';

const rig = sourceRig({ methodDelay: { LockHandoff: 0 } });
let serial = 0;

const vm = async (): Promise<SourceVm & { readonly name: string }> => {
  serial += 1;
  const name = `s${serial}`;
  return { ...(await rig.vm({ name, disks: [{ size: mib }], settings: { tracking: true } })), name };
};

const names = async ({ id }: SourceVm): Promise<readonly string[]> =>
  (await rig.source().snapshots(id)).map(({ name }) => name);

const calls = async (method: string): Promise<number> => (await rig.control.calls()).counts[method] ?? 0;

beforeEach(async () => {
  await rig.control.clearCalls();
});

test('a snapshot is made once and then found again by its name', async () => {
  const one = await vm();
  const source = rig.source();
  const tasks: string[] = [];
  const first = await source.createSnapshot(one.id, 'mm-1', { onTask: (ref) => void tasks.push(ref) });
  assert.match(first.snapshot, /^VirtualMachineSnapshot:snapshot-\d+$/);
  assert.equal(tasks.length, 1);
  assert.match(tasks[0]!, /^Task:task-\d+$/);
  assert.deepEqual(await source.createSnapshot(one.id, 'mm-1'), first);
  assert.equal(await calls('CreateSnapshot_Task'), 1);
  assert.deepEqual(await source.snapshots(one.id), [{ name: 'mm-1', ref: first.snapshot }]);
});

test('a VM without snapshots has none', async () => {
  const one = await vm();
  assert.deepEqual(await names(one), []);
  await rig.source().removeSnapshots(one.id, 'mm-');
  assert.equal(await calls('RemoveSnapshot_Task'), 0);
});

test('what is about a VM that is gone fails, and its snapshots are gone with it', async () => {
  const source = rig.source();
  await assert.rejects(source.createSnapshot('VirtualMachine:vm-999999', 'mm-1'), {
    faultType: 'ManagedObjectNotFound',
  });
  await assert.rejects(source.snapshots('VirtualMachine:vm-999999'), { faultType: 'ManagedObjectNotFound' });
  await source.removeSnapshots('VirtualMachine:vm-999999', 'mm-');
});

test('only the snapshots with the prefix are removed, wherever in the tree; those of others stay', async () => {
  const one = await vm();
  for (const name of ['theirs', 'mm-a-1', 'mm-b-1', 'mm-a-2']) await rig.control.snapshotVm(one.ref, name);
  const source = rig.source();
  await source.removeSnapshots(one.id, 'mm-a-');
  assert.deepEqual(await names(one), ['theirs', 'mm-b-1']);
  await source.removeSnapshots(one.id, 'mm-a-');
  assert.equal(await calls('RemoveSnapshot_Task'), 2);
});

test('several of one name are all removed, and the last of them is adopted', async () => {
  const one = await vm();
  await rig.control.snapshotVm(one.ref, 'mm-1');
  await rig.control.snapshotVm(one.ref, 'mm-1');
  const source = rig.source();
  const [, last] = await source.snapshots(one.id);
  assert.deepEqual(await source.createSnapshot(one.id, 'mm-1'), { snapshot: last?.ref });
  await source.removeSnapshots(one.id, 'mm-1');
  assert.deepEqual(await names(one), []);
});

test('a removal that another attempt has begun is waited for: one snapshot is removed once', async () => {
  const one = await vm();
  await rig.control.snapshotVm(one.ref, 'mm-1');
  await rig.control.addFault({ method: 'RemoveSnapshot_Task', freeze: true, count: 1 });
  const source = rig.source();
  const killed = new AbortController();
  const first = source.removeSnapshots(one.id, 'mm-', { signal: killed.signal });
  await waitFor('the removal', async () => (await calls('RemoveSnapshot_Task')) > 0);
  killed.abort(new Error('killed'));
  await assert.rejects(first, /killed/);
  // It knows nothing of the first one's task, as after a lost answer.
  const second = source.removeSnapshots(one.id, 'mm-');
  await rig.control.clearFaults();
  await second;
  assert.deepEqual(await names(one), []);
  assert.equal(await calls('RemoveSnapshot_Task'), 1);
});

test('two removals at the same time end well', async () => {
  const one = await vm();
  for (const name of ['mm-1', 'mm-2', 'mm-3']) await rig.control.snapshotVm(one.ref, name);
  const source = rig.source();
  await Promise.all([source.removeSnapshots(one.id, 'mm-'), source.removeSnapshots(one.id, 'mm-')]);
  assert.deepEqual(await names(one), []);
});

test('a creation whose answer was lost is found again, and no second snapshot is made', async () => {
  const one = await vm();
  await rig.control.addFault({ method: 'CreateSnapshot_Task', freeze: true, count: 1 });
  const source = rig.source();
  const killed = new AbortController();
  const first = source.createSnapshot(one.id, 'mm-1', { signal: killed.signal });
  await waitFor('the creation', async () => (await calls('CreateSnapshot_Task')) > 0);
  killed.abort(new Error('killed'));
  await assert.rejects(first, /killed/);
  const second = source.createSnapshot(one.id, 'mm-1');
  await rig.control.clearFaults();
  await second;
  assert.deepEqual(await names(one), ['mm-1']);
  assert.equal(await calls('CreateSnapshot_Task'), 1);
});

test('the task of an earlier attempt is waited for by its reference', async () => {
  const one = await vm();
  await rig.control.addFault({ method: 'CreateSnapshot_Task', freeze: true, count: 1 });
  const source = rig.source();
  const killed = new AbortController();
  let taskRef: string | undefined;
  const first = source.createSnapshot(one.id, 'mm-1', { signal: killed.signal, onTask: (ref) => (taskRef = ref) });
  await waitFor('the task', () => Promise.resolve(taskRef !== undefined));
  killed.abort(new Error('killed'));
  await assert.rejects(first, /killed/);
  const second = source.createSnapshot(one.id, 'mm-1', { taskRef: taskRef! });
  await rig.control.clearFaults();
  await second;
  assert.deepEqual(await names(one), ['mm-1']);
});

test('a VM that is busy is waited for', async () => {
  const one = await vm();
  await rig.control.addFault({ method: 'CreateSnapshot_Task', fault: 'TaskInProgress', count: 1 });
  await rig.source().createSnapshot(one.id, 'mm-1');
  assert.deepEqual(await names(one), ['mm-1']);
});

test('a creation that fails is told, and leaves nothing', async () => {
  const one = await vm();
  await rig.control.addFault({
    method: 'CreateSnapshot_Task',
    fault: 'FileFault',
    asTaskError: true,
    objectName: one.name,
  });
  await assert.rejects(rig.source().createSnapshot(one.id, 'mm-1'), { kind: 'task-error', faultType: 'FileFault' });
  await rig.control.clearFaults();
  assert.deepEqual(await names(one), []);
});

test('a lost session in between is replaced', async () => {
  const one = await vm();
  const source = rig.source();
  await source.createSnapshot(one.id, 'mm-1');
  await rig.control.terminateSessions();
  await source.removeSnapshots(one.id, 'mm-');
  assert.deepEqual(await names(one), []);
});
