import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { rawVim, type RawVim } from '../../sim/raw-vim.ts';
import { leaseInfo, openUpload, taskEnd } from '../../sim/vim-samples.ts';
import { startVcsim, type Vcsim } from '../../stack/vcsim.ts';

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
afterEach(async () => {
  await vcsim.control.clearFaults();
  await vcsim.control.clearDelays();
  await vcsim.control.clearCalls();
});

const rename = (ref: string, name: string): ReturnType<RawVim['call']> =>
  vim.call('Rename_Task', `VirtualMachine:${ref}`, `<newName>${name}</newName>`);

describe('VMs set up behind the clients', () => {
  test('have the state, marker, version and disk that was asked for', async () => {
    const ref = await vcsim.control.createVm({
      name: 'setup',
      template: true,
      version: '416.94.1',
      extraConfig: { 'vmflow.marker': 'ready' },
      diskMiB: 8,
    });
    const vm = await vcsim.control.vm('setup');
    assert.equal(vm?.ref, ref);
    assert.equal(vm.template, true);
    assert.equal(vm.powerState, 'poweredOff');
    assert.equal(vm.version, '416.94.1');
    assert.equal(vm.extraConfig['vmflow.marker'], 'ready');
    assert.deepEqual(vm.disks, [{ file: '[LocalDS_0] setup/setup.vmdk', capacityKiB: 8192 }]);
  });

  test('can be changed as a person would change them', async () => {
    const { control } = vcsim;
    const ref = await control.createVm({ name: 'by-hand', poweredOn: true });
    assert.equal((await control.vm('by-hand'))?.powerState, 'poweredOn');
    await control.powerOffVm(ref);
    await control.renameVm(ref, 'by-hand-2');
    const clone = await control.cloneVm(ref, 'by-hand-3');
    await control.destroyVm(ref);
    assert.equal(await control.vm('by-hand-2'), undefined);
    assert.equal((await control.vm('by-hand-3'))?.ref, clone);
  });

  test('a misspelt field is refused', async () => {
    const misspelt = { name: 'x', templat: true };
    await assert.rejects(vcsim.control.createVm(misspelt), /unknown field \\"templat\\"/);
  });

  test('folders, hosts and tags too', async () => {
    const { control } = vcsim;
    const folder = await control.createFolder('/DC0/vm', 'other');
    assert.deepEqual(await control.find('/DC0/vm/other'), { type: 'Folder', ref: folder });
    assert.equal(await control.find('/DC0/vm/nothing'), undefined);
    assert.equal(await control.setMaintenance('/DC0/host/DC0_C0/*', true), 3);
    assert.equal(await control.setMaintenance('/DC0/host/DC0_C0/*', false), 3);
    const urn = await control.ensureTag('os', 'rhcos');
    assert.equal(await control.ensureTag('os', 'rhcos'), urn);
    const ref = await control.createVm({ name: 'tagged' });
    await control.attachTag(urn, ref);
    assert.deepEqual(await control.attachedTags(ref), [urn]);
    assert.deepEqual((await control.calls()).mutating, []);
  });
});

describe('faults', () => {
  test('hit the method and object they name, after skip, count times', async () => {
    const ref = await vcsim.control.createVm({ name: 'target' });
    const other = await vcsim.control.createVm({ name: 'other-target' });
    await vcsim.control.addFault({
      method: 'Rename_Task',
      objectName: 'target',
      fault: 'ResourceInUse',
      skip: 1,
      count: 1,
    });
    assert.equal((await rename(other, 'o1')).status, 200);
    assert.equal((await rename(ref, 'target')).status, 200);
    const faulty = await rename(ref, 't2');
    assert.equal(faulty.status, 500);
    assert.match(faulty.text, /xsi:type="ResourceInUse"/);
    assert.equal((await rename(ref, 't3')).status, 200);
    assert.deepEqual(
      (await vcsim.control.faults()).map(({ matched, fired }) => [matched, fired]),
      [[3, 1]],
    );
  });

  test('can end the task instead of the call, without effect', async () => {
    const ref = await vcsim.control.createVm({ name: 'task-target' });
    await vcsim.control.addFault({ method: 'Rename_Task', fault: 'TaskInProgress', asTaskError: true, count: 1 });
    assert.equal(await taskEnd(vim, (await rename(ref, 'never')).text), 'error TaskInProgress');
    assert.equal((await vcsim.control.vm('task-target'))?.ref, ref);
    assert.equal(await taskEnd(vim, (await rename(ref, 'now')).text), 'success');
  });

  test('of any vim25 type, and of no other', async () => {
    await assert.rejects(vcsim.control.addFault({ method: 'Rename_Task', fault: 'Nonsense' }), /is no vim25 fault/);
    await assert.rejects(vcsim.control.addFault({ method: 'Rename_Task', fault: 'VirtualDisk' }), /but no fault/);
    for (const fault of [
      'InvalidState',
      'NoPermission',
      'NoDiskSpace',
      'NotAuthenticated',
      'DuplicateName',
      'Timedout',
    ]) {
      await vcsim.control.addFault({ method: 'Nothing', fault });
    }
  });
});

test('a task delay set while running slows tasks and not name look-ups', async () => {
  const ref = await vcsim.control.createVm({ name: 'slow' });
  await vcsim.control.setDelays({ Rename: 2_000, LockHandoff: 0 });
  const started = performance.now();
  const { text } = await rename(ref, 'slow-2');
  const found = await vim.call(
    'FindByInventoryPath',
    'SearchIndex:SearchIndex',
    '<inventoryPath>/DC0/vm/slow</inventoryPath>',
  );
  assert.match(found.text, new RegExp(`<returnval type="VirtualMachine">${ref}<`));
  assert.equal(await taskEnd(vim, text), 'success');
  assert.ok(performance.now() - started >= 1_990);
});

describe('uploads', () => {
  test('are seen by lease and by byte, and a lease can be taken away', async () => {
    await vcsim.control.clearTransfers();
    const upload = await openUpload(vim, vcsim.control, 'uploaded');
    await vim.call('HttpNfcLeaseProgress', `HttpNfcLease:${upload.lease}`, '<percent>40</percent>');
    assert.deepEqual(
      (await vcsim.control.leases()).map(({ lease, state, percent, name }) => ({ lease, state, percent, name })),
      [{ lease: upload.lease, state: 'ready', percent: 40, name: 'uploaded' }],
    );
    assert.equal((await vim.upload(upload.url, 100_000)).status, 200);
    assert.deepEqual(
      (await vcsim.control.transfers()).map(({ file, bytes, done }) => ({ file, bytes, done })),
      [{ file: 'uploaded.vmdk', bytes: 100_000, done: true }],
    );
    assert.equal(await vcsim.control.abortLeases(), 1);
    assert.match(
      (await vim.call('HttpNfcLeaseComplete', `HttpNfcLease:${upload.lease}`)).text,
      /ManagedObjectNotFound/,
    );
    assert.deepEqual(await vcsim.control.leases(), []);
  });

  test('a lease can be put into error', async () => {
    const { lease } = await openUpload(vim, vcsim.control, 'timed-out');
    assert.equal(await vcsim.control.failLeases('Timedout', lease), 1);
    const answer = await leaseInfo(vim, lease);
    assert.match(answer, />error</);
    assert.match(answer, /type="Timedout"/);
    await vcsim.control.abortLeases();
  });
});

test('calls are counted, and those that change something listed with the name of their object', async () => {
  const ref = await vcsim.control.createVm({ name: 'counted' });
  await vim.call('CurrentTime', 'ServiceInstance:ServiceInstance');
  await rename(ref, 'counted-2');
  const { counts, mutating } = await vcsim.control.calls();
  assert.deepEqual([counts['CurrentTime'], counts['Rename_Task']], [1, 1]);
  assert.deepEqual(
    mutating.map(({ method, object, name }) => ({ method, object, name })),
    [{ method: 'Rename_Task', object: ref, name: 'counted' }],
  );
});

describe('sessions', () => {
  test('only the user it was started with may log in', async () => {
    const stranger = rawVim(vcsim.url);
    assert.match((await stranger.login(vcsim.username, 'wrong')).text, /InvalidLogin/);
    stranger.close();
  });

  test('can be ended from outside', async () => {
    const victim = rawVim(vcsim.url);
    await victim.login(vcsim.username, vcsim.password);
    assert.equal((await vcsim.control.sessions()).length, 2);
    assert.equal(await vcsim.control.terminateSessions(), 2);
    assert.match((await victim.call('CurrentTime', 'ServiceInstance:ServiceInstance')).text, /NotAuthenticated/);
    assert.deepEqual(await vcsim.control.sessions(), []);
    victim.close();
  });
});
