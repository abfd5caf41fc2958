import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';

import type { VSphere } from '../../../activities/vsphere/port.ts';
import { createVSphere } from '../../../activities/vsphere/vsphere-adapter.ts';
import type { FaultProxy } from '../../sim/fault-proxy.ts';
import { startFaultProxy } from '../../sim/fault-proxy.ts';
import type { Vcsim } from '../../stack/vcsim.ts';
import { startVcsim } from '../../stack/vcsim.ts';
import { endpointOf, throughProxy } from './import-helpers.ts';

let sim: Vcsim;
let proxy: FaultProxy;
let vsphere: VSphere;

before(async () => {
  sim = await startVcsim({ inventory: { vm: 1 } });
  proxy = await startFaultProxy({ target: sim.url });
  vsphere = createVSphere({ allowInsecureTls: false, validateRequests: true });
});
after(async () => {
  await vsphere.close();
  await proxy.stop();
  await sim.stop();
});
afterEach(() => {
  proxy.clearRules();
  proxy.clearRequests();
});

const sent = (method: string): number => proxy.requests().filter((request) => request.method === method).length;

test('a session is opened, used and given back', async () => {
  const session = await vsphere.open(endpointOf(sim));
  assert.equal(session.about.apiType, 'VirtualCenter');
  assert.deepEqual(await sim.control.sessions(), [], 'nobody is logged in before the first call');
  assert.match(await session.currentTime(), /^\d{4}-\d\d-\d\dT/);
  assert.equal((await sim.control.sessions()).length, 1);
  await session.close();
  assert.deepEqual(await sim.control.sessions(), []);
});

test('a terminated session is replaced without the caller noticing', async () => {
  const session = await vsphere.open(endpointOf(sim));
  const folder = (await session.findByInventoryPath('/DC0/vm'))!;
  const vm = (await session.findChild(folder, 'DC0_H0_VM0'))!;
  const calls = {
    currentTime: async () => assert.match(await session.currentTime(), /T/),
    findChild: async () => assert.deepEqual(await session.findChild(folder, 'DC0_H0_VM0'), vm),
    retrieve: async () => {
      const [content] = await session.retrieve([vm], ['name']);
      assert.equal(content?.props.get('name'), 'DC0_H0_VM0', 'a dead session answers without properties');
    },
    rename: async () => {
      await session.waitForTask(await session.startRename(vm, 'renamed'));
      await session.waitForTask(await session.startRename(vm, 'DC0_H0_VM0'));
    },
  };
  for (const [name, call] of Object.entries(calls)) {
    assert.equal(await sim.control.terminateSessions(), 1, name);
    await call();
    assert.equal((await sim.control.sessions()).length, 1, name);
  }
  await session.close();
});

test('200 parallel calls use few connections and one login', async () => {
  const session = await vsphere.open(throughProxy(sim, proxy));
  const found = await Promise.all(Array.from({ length: 200 }, () => session.findByInventoryPath('/DC0/vm')));
  assert.ok(found.every((ref) => ref?.type === 'Folder'));
  assert.equal(sent('Login'), 1);
  await sim.control.terminateSessions();
  await Promise.all(Array.from({ length: 200 }, () => session.findByInventoryPath('/DC0/vm')));
  assert.equal(sent('Login'), 2, 'one login for all of them');
  await session.close();
});

test('a wrong password is one Login and then AUTH', async () => {
  const own = createVSphere({ allowInsecureTls: false });
  const endpoint = throughProxy(sim, proxy, { password: 'wrong' });
  const attempts = Array.from({ length: 5 }, () => own.withSession(endpoint, (session) => session.currentTime()));
  for (const attempt of attempts) await assert.rejects(attempt, { code: 'AUTH' });
  await assert.rejects(
    own.withSession(endpoint, (session) => session.currentTime()),
    { code: 'AUTH' },
  );
  assert.equal(sent('Login'), 1);
  await own.close();
});

test('with a wrong thumbprint no request reaches the server', async () => {
  const tls = { mode: 'thumbprint', sha256: sim.sha256 } as const;
  await assert.rejects(vsphere.open(throughProxy(sim, proxy, { tls })), { code: 'TLS_THUMBPRINT' });
  assert.deepEqual(proxy.requests(), []);
});

test('a lone ESXi host is NOT_VCENTER', async () => {
  const esx = await startVcsim({ esx: true });
  try {
    await assert.rejects(vsphere.open(endpointOf(esx)), { code: 'NOT_VCENTER' });
  } finally {
    await esx.stop();
  }
});

test('a lost answer to a read is repeated, to a mutating call it is reported as unknown', async () => {
  const session = await vsphere.open(throughProxy(sim, proxy));
  const folder = (await session.findByInventoryPath('/DC0/vm'))!;
  proxy.addRule({ method: 'FindChild', action: 'drop-after' });
  const vm = (await session.findChild(folder, 'DC0_H0_VM0'))!;
  proxy.addRule({ method: 'FindChild', action: 'truncate' });
  assert.deepEqual(await session.findChild(folder, 'DC0_H0_VM0'), vm);
  proxy.addRule({ method: 'FindChild', action: 'http-503' });
  assert.deepEqual(await session.findChild(folder, 'DC0_H0_VM0'), vm);

  proxy.addRule({ method: 'Rename_Task', action: 'drop-after' });
  await assert.rejects(session.startRename(vm, 'lost-answer'), { code: 'TRANSPORT', outcomeUnknown: true });
  assert.equal(sent('Rename_Task'), 1);
  assert.ok(await sim.control.vm('lost-answer'), 'it was executed');
  await session.waitForTask(await session.startRename(vm, 'DC0_H0_VM0'));
  await session.close();
});

test('a vCenter that is away is TRANSPORT without unknown outcome, and used again when it is back', async () => {
  const session = await vsphere.open(throughProxy(sim, proxy));
  const folder = (await session.findByInventoryPath('/DC0/vm'))!;
  const vm = (await session.findChild(folder, 'DC0_H0_VM0'))!;
  await proxy.down();
  await assert.rejects(session.findChild(folder, 'x'), { code: 'TRANSPORT' });
  await assert.rejects(session.startRename(vm, 'never'), { code: 'TRANSPORT', outcomeUnknown: false });
  await proxy.up();
  assert.deepEqual(await session.findChild(folder, 'DC0_H0_VM0'), vm);
  await session.close();
});
