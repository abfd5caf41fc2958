import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { waitFor } from '../../support/wait-for.ts';
import type { SourceVm } from './source-rig.ts';
import { sourceRig } from './source-rig.ts';

const rig = sourceRig();
let serial = 0;

const vm = async (poweredOn: boolean): Promise<SourceVm & { readonly name: string }> => {
  serial += 1;
  const name = `p${serial}`;
  return { ...(await rig.vm({ name, poweredOn, disks: [] })), name };
};

/** Tasks of the VM since the test began, as `PowerOff success`. */
const tasks = async ({ ref }: SourceVm): Promise<readonly string[]> =>
  (await rig.control.finishedTasks())
    .filter(({ object }) => object === ref)
    .map(({ method, state }) => `${method} ${state}`);

const powerOf = async ({ ref }: SourceVm): Promise<string | undefined> =>
  (await rig.control.vms()).find((one) => one.ref === ref)?.powerState;

const calls = async (method: string): Promise<number> => (await rig.control.calls()).counts[method] ?? 0;

beforeEach(async () => {
  await rig.control.clearCalls();
});

test('the power of a VM is read', async () => {
  const one = await vm(true);
  const source = rig.source();
  assert.equal(await source.power(one.id), 'on');
  await rig.control.suspendVm(one.ref);
  assert.equal(await source.power(one.id), 'suspended');
  await rig.control.powerOffVm(one.ref);
  assert.equal(await source.power(one.id), 'off');
});

test('a VM that is already so is left alone: no task is begun, none fails', async () => {
  const [on, off] = [await vm(true), await vm(false)];
  const source = rig.source();
  await rig.control.clearPast();
  await source.powerOn(on.id);
  await source.powerOff(off.id, { graceMs: 1000 });
  assert.deepEqual([await tasks(on), await tasks(off)], [[], []]);
  assert.equal((await calls('PowerOffVM_Task')) + (await calls('PowerOnVM_Task')) + (await calls('ShutdownGuest')), 0);
});

test('off goes by the guest, on by the server; twice is once', async () => {
  const one = await vm(true);
  const source = rig.source();
  await rig.control.clearPast();
  await source.powerOff(one.id, { graceMs: 10_000 });
  assert.equal(await powerOf(one), 'poweredOff');
  await source.powerOff(one.id, { graceMs: 10_000 });
  await source.powerOn(one.id);
  await source.powerOn(one.id);
  assert.equal(await powerOf(one), 'poweredOn');
  assert.deepEqual(await tasks(one), ['ShutdownGuest success', 'PowerOn success']);
});

test('two that ask at the same time are both answered, and no task fails', async () => {
  const one = await vm(false);
  const source = rig.source();
  await Promise.all([source.powerOn(one.id), source.powerOn(one.id)]);
  assert.equal(await powerOf(one), 'poweredOn');
});

test('without tools the VM goes off the hard way, at once', async () => {
  const one = await vm(true);
  await rig.control.clearPast();
  await rig.control.addFault({ method: 'ShutdownGuest', objectName: one.name, fault: 'ToolsUnavailable' });
  await rig.source().powerOff(one.id, { graceMs: 600_000 });
  assert.deepEqual(await tasks(one), ['PowerOff success']);
});

test('a guest that does not listen goes off the hard way when its time is over', async () => {
  const one = await vm(true);
  await rig.control.clearPast();
  await rig.control.addFault({ method: 'ShutdownGuest', objectName: one.name, swallow: true });
  await rig.source().powerOff(one.id, { graceMs: 700 });
  assert.equal(await powerOf(one), 'poweredOff');
  assert.deepEqual(await tasks(one), ['PowerOff success']);
});

test('a guest that takes its time is given it', async () => {
  const one = await vm(true);
  await rig.control.clearPast();
  await rig.control.addFault({ method: 'ShutdownGuest', objectName: one.name, swallow: true });
  const off = rig.source().powerOff(one.id, { graceMs: 60_000 });
  await waitFor('the request to the guest', async () => (await calls('ShutdownGuest')) > 0);
  await waitFor('the wait', async () => (await calls('WaitForUpdatesEx')) > 0);
  await rig.control.powerOffVm(one.ref);
  await off;
  assert.deepEqual(await tasks(one), ['PowerOff success'], 'the one of the guest');
});

test('without a time for the guest it is not asked', async () => {
  const one = await vm(true);
  await rig.source().powerOff(one.id, { graceMs: 0 });
  assert.equal(await calls('ShutdownGuest'), 0);
  assert.equal(await powerOf(one), 'poweredOff');
});

test('a VM that went off meanwhile is off, whatever the server says of the request', async () => {
  const one = await vm(true);
  await rig.control.addFault({
    method: 'ShutdownGuest',
    objectName: one.name,
    fault: 'ToolsUnavailable',
    delayMs: 1_000,
  });
  const off = rig.source().powerOff(one.id, { graceMs: 10_000 });
  await waitFor('the request', async () => (await rig.control.faults()).some(({ fired }) => fired > 0));
  await rig.control.powerOffVm(one.ref);
  await off;
  assert.equal(await calls('PowerOffVM_Task'), 0);
});

test('a suspended VM goes off', async () => {
  const one = await vm(true);
  await rig.control.suspendVm(one.ref);
  await rig.source().powerOff(one.id, { graceMs: 10_000 });
  assert.equal(await powerOf(one), 'poweredOff');
  assert.equal(await calls('ShutdownGuest'), 0);
});

test('a task that fails is told', async () => {
  const one = await vm(false);
  await rig.control.addFault({
    method: 'PowerOnVM_Task',
    objectName: one.name,
    fault: 'InsufficientResourcesFault',
    asTaskError: true,
  });
  await assert.rejects(rig.source().powerOn(one.id), { kind: 'task-error', faultType: 'InsufficientResourcesFault' });
});

test('a VM that is gone can be neither switched on nor off', async () => {
  const source = rig.source();
  await assert.rejects(source.powerOn('VirtualMachine:vm-999999'), { faultType: 'ManagedObjectNotFound' });
  await assert.rejects(source.powerOff('VirtualMachine:vm-999999', { graceMs: 1 }), {
    faultType: 'ManagedObjectNotFound',
  });
});

test('the task of an earlier attempt is waited for instead of beginning another', async () => {
  const one = await vm(false);
  await rig.control.clearPast();
  await rig.control.addFault({ method: 'PowerOnVM_Task', objectName: one.name, freeze: true, count: 1 });
  const killed = new AbortController();
  let taskRef: string | undefined;
  const source = rig.source();
  const first = source.powerOn(one.id, { signal: killed.signal, onTask: (ref) => (taskRef = ref) });
  await waitFor('the task', () => Promise.resolve(taskRef !== undefined));
  killed.abort(new Error('killed'));
  await assert.rejects(first, /killed/);
  const second = source.powerOn(one.id, { taskRef: taskRef! });
  await rig.control.clearFaults();
  await second;
  assert.equal(await calls('PowerOnVM_Task'), 1);
  assert.ok((await tasks(one)).every((task) => task === 'PowerOn success'));
  assert.equal(await powerOf(one), 'poweredOn');
});

test('a task of an earlier attempt that failed, or is forgotten, does not keep this one from its work', async () => {
  const one = await vm(false);
  const source = rig.source();
  await source.powerOn(one.id, { taskRef: 'Task:task-999999' });
  assert.equal(await powerOf(one), 'poweredOn');
  let taskRef: string | undefined;
  await rig.control.addFault({
    method: 'PowerOffVM_Task',
    objectName: one.name,
    fault: 'SystemError',
    asTaskError: true,
    count: 1,
  });
  await assert.rejects(source.powerOff(one.id, { graceMs: 0, onTask: (ref) => (taskRef = ref) }));
  await source.powerOff(one.id, { graceMs: 0, taskRef: taskRef! });
  assert.equal(await powerOf(one), 'poweredOff');
});

test('a VM that is busy is waited for', async () => {
  const one = await vm(false);
  await rig.control.addFault({ method: 'PowerOnVM_Task', objectName: one.name, fault: 'TaskInProgress', count: 1 });
  await rig.source().powerOn(one.id);
  assert.equal(await powerOf(one), 'poweredOn');
});

test('a lost session in between is replaced', async () => {
  const one = await vm(true);
  const source = rig.source();
  await source.power(one.id);
  await rig.control.terminateSessions();
  await source.powerOff(one.id, { graceMs: 10_000 });
  assert.equal(await powerOf(one), 'poweredOff');
});
