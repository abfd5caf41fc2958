import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';

import { rawVim, type RawVim } from '../../sim/raw-vim.ts';
import { startVcsim, type Vcsim } from '../../stack/vcsim.ts';
import { waitFor } from '../../support/wait-for.ts';

const mib = 1024 * 1024;
let vcsim: Vcsim;
let vim: RawVim;

before(async () => {
  vcsim = await startVcsim({ inventory: { vm: 0 } });
  vim = rawVim(vcsim.url);
  await vim.login(vcsim.username, vcsim.password);
});
after(async () => {
  vim.close();
  await vcsim.stop();
});
afterEach(() => vcsim.control.clearFaults());

const snapshot = (ref: string, name: string): ReturnType<RawVim['call']> =>
  vim.call(
    'CreateSnapshot_Task',
    `VirtualMachine:${ref}`,
    `<name>${name}</name><memory>false</memory><quiesce>false</quiesce>`,
  );

test('a seed decides what a disk holds; a write changes it where it should', async () => {
  const { control } = vcsim;
  const make = (name: string, seed: number): Promise<string> =>
    control.createVm({ name, disks: [{ size: mib, seed }] });
  const [one, same, other] = [await make('one', 1), await make('same', 1), await make('other', 2)];
  const digests = await Promise.all([one, same, other].map((ref) => control.diskDigest(ref, 0)));
  assert.equal(digests[0], digests[1]);
  assert.notEqual(digests[0], digests[2]);
  const zeros = await control.addDisk(one, { size: 2 * mib });
  const expected = Buffer.alloc(2 * mib);
  expected.write('hello', mib - 2);
  await control.writeDisk(one, zeros, mib - 2, Buffer.from('hello'));
  assert.equal(await control.diskDigest(one, zeros), createHash('sha256').update(expected).digest('hex'));
  await control.growDisk(one, zeros, 3 * mib);
  const grown = Buffer.concat([expected, Buffer.alloc(mib)]);
  assert.equal(await control.diskDigest(one, zeros), createHash('sha256').update(grown).digest('hex'));
});

test('a write beyond the end of a disk, or to none, is refused', async () => {
  const ref = await vcsim.control.createVm({ name: 'small', disks: [{ size: mib }] });
  const before = await vcsim.control.diskDigest(ref, 0);
  await assert.rejects(vcsim.control.writeDisk(ref, 0, mib, Buffer.from('x')), /the disk ends at 1048576/);
  await assert.rejects(vcsim.control.writeDisk(ref, 1, 0, Buffer.from('x')), /has 1 disks, none with index 1/);
  await assert.rejects(vcsim.control.writeDisk('vm-999999', 0, 0, Buffer.from('x')), /no VM vm-999999/);
  assert.equal(await vcsim.control.diskDigest(ref, 0), before);
});

test('hardware, place and settings of a VM change as asked', async () => {
  const { control } = vcsim;
  const mac = '00:50:56:00:00:01';
  const ref = await control.createVm({
    name: 'changing',
    poweredOn: true,
    disks: [{ size: mib }, { size: 2 * mib }],
    host: '/DC0/host/DC0_C0/DC0_C0_H0',
  });
  const before = (await control.vm('changing'))!;
  await control.removeDisk(ref, 0);
  await control.addNic(ref, { network: '/DC0/network/VM Network', mac, ips: ['10.0.0.1'] });
  await control.relocateVm(ref, '/DC0/host/DC0_C0/DC0_C0_H1');
  await control.createFolder('/DC0/vm', 'elsewhere');
  await control.moveVm(ref, '/DC0/vm/elsewhere');
  await control.changeVm(ref, { name: 'changed', extraConfig: { 'a.b': 'c' } });
  const changed = (await control.vm('changed'))!;
  assert.deepEqual(
    changed.disks.map(({ capacityKiB }) => capacityKiB),
    [2048],
  );
  assert.equal(changed.extraConfig['a.b'], 'c');
  assert.equal(changed.networks.length, 1);
  assert.notEqual(changed.host, before.host);
  assert.equal((await control.find('/DC0/vm/elsewhere/changed'))?.ref, ref);
  await control.removeNic(ref, mac);
  assert.deepEqual((await control.vm('changed'))?.networks, []);
});

test('power changes and tasks are remembered in their order', async () => {
  const { control } = vcsim;
  const ref = await control.createVm({ name: 'switched' });
  await control.clearPast();
  await control.powerOnVm(ref);
  await control.suspendVm(ref);
  await control.powerOnVm(ref);
  await control.powerOffVm(ref);
  const events = await control.powerEvents();
  assert.deepEqual(
    events.map(({ vm, name, state }) => [vm, name, state]),
    ['poweredOn', 'suspended', 'poweredOn', 'poweredOff'].map((state) => [ref, 'switched', state]),
  );
  const tasks = await control.finishedTasks();
  assert.deepEqual(
    tasks.map(({ object, method, state }) => [object, method, state]),
    ['PowerOn', 'Suspend', 'PowerOn', 'PowerOff'].map((method) => [ref, method, 'success']),
  );
  const sequence = [...events, ...tasks].map((event) => event.sequence);
  assert.equal(new Set(sequence).size, 8);
  assert.deepEqual(
    events.map((event) => event.sequence),
    events.map((event) => event.sequence).toSorted((a, b) => a - b),
  );
});

test('a failed task is remembered with its fault', async () => {
  const ref = await vcsim.control.createVm({ name: 'failing', poweredOn: true });
  await vcsim.control.clearPast();
  await vim.call('PowerOnVM_Task', `VirtualMachine:${ref}`);
  const [task] = await waitFor('the task', async () => {
    const tasks = await vcsim.control.finishedTasks();
    return tasks.length > 0 && tasks;
  });
  assert.deepEqual([task?.state, task?.fault], ['error', 'InvalidPowerState']);
});

test('a VM has one snapshot task at a time; a frozen one holds no lock', async () => {
  const ref = await vcsim.control.createVm({ name: 'frozen' });
  await vcsim.control.addFault({ method: 'CreateSnapshot_Task', objectName: 'frozen', freeze: true, count: 1 });
  assert.equal((await snapshot(ref, 'first')).status, 200);
  assert.match((await snapshot(ref, 'second')).text, /TaskInProgress/);
  await assert.rejects(vcsim.control.snapshotVm(ref, 'third'), /TaskInProgress/);
  assert.equal((await vcsim.control.vm('frozen'))?.ref, ref, 'it can be read');
  await vcsim.control.clearFaults();
  await waitFor('the end of the frozen task', async () => {
    const tasks = await vcsim.control.finishedTasks();
    return tasks.some(({ object, method }) => object === ref && method === 'CreateSnapshotEx');
  });
  await waitFor('the guard', () => vcsim.control.snapshotVm(ref, 'fourth').then(() => true));
});

test('rules that can not be meant are refused', async () => {
  const { control } = vcsim;
  await assert.rejects(control.addFault({ method: 'Rename_Task', freeze: true }), /can't be frozen/);
  await assert.rejects(control.addFault({ method: 'PowerOffVM_Task', swallow: true }), /only ShutdownGuest/);
  await assert.rejects(
    control.addFault({ method: 'Rename_Task', fault: 'InvalidState', probability: 2 }),
    /between 0 and 1/,
  );
});

test('a rule can meet some of the calls only', async () => {
  const ref = await vcsim.control.createVm({ name: 'sometimes', poweredOn: true });
  await vcsim.control.addFault({ method: 'ShutdownGuest', fault: 'ToolsUnavailable', probability: 0.000001 });
  assert.equal((await vim.call('ShutdownGuest', `VirtualMachine:${ref}`)).status, 200);
  await vcsim.control.clearFaults();
  await vcsim.control.addFault({ method: 'ShutdownGuest', fault: 'ToolsUnavailable', probability: 1 });
  assert.match((await vim.call('ShutdownGuest', `VirtualMachine:${ref}`)).text, /ToolsUnavailable/);
});

test('a rule about a VM meets the reads that name it', async () => {
  const ref = await vcsim.control.createVm({ name: 'unreadable' });
  await vcsim.control.addFault({ method: 'RetrievePropertiesEx', objectName: 'unreadable', fault: 'SystemError' });
  const read = (object: string): ReturnType<RawVim['call']> =>
    vim.call(
      'RetrievePropertiesEx',
      'PropertyCollector:propertyCollector',
      `<specSet><propSet><type>ManagedEntity</type><pathSet>name</pathSet></propSet><objectSet>${object}</objectSet></specSet><options/>`,
    );
  assert.match((await read(`<obj type="VirtualMachine">${ref}</obj>`)).text, /SystemError/);
  const folder = (await vcsim.control.find('/DC0/vm'))!.ref;
  assert.match((await read(`<obj type="Folder">${folder}</obj>`)).text, /<val [^>]*>vm</);
});
