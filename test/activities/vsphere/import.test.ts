import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { VSphere } from '../../../activities/vsphere/port.ts';
import { createVSphere } from '../../../activities/vsphere/vsphere-adapter.ts';
import type { FaultProxy } from '../../sim/fault-proxy.ts';
import { startFaultProxy } from '../../sim/fault-proxy.ts';
import type { Vcsim } from '../../stack/vcsim.ts';
import { startVcsim } from '../../stack/vcsim.ts';
import { beginImport, endpointOf, importVm, placement, sendDisk, throughProxy } from './import-helpers.ts';

let sim: Vcsim;
let proxy: FaultProxy;
let vsphere: VSphere;

before(async () => {
  sim = await startVcsim({ inventory: { vm: 0 } });
  proxy = await startFaultProxy({ target: sim.url });
  vsphere = createVSphere({ allowInsecureTls: false, validateRequests: true });
});
after(async () => {
  await vsphere.close();
  await proxy.stop();
  await sim.stop();
});

for (const disks of [1, 2]) {
  test(`an OVF with ${disks} disk(s) is imported, uploaded, checked and completed`, async () => {
    const session = await vsphere.open(endpointOf(sim));
    const { lease, vm, deviceUrls } = await beginImport(session, `import-${disks}`, disks);
    assert.equal(deviceUrls.length, disks);
    const sent: Record<string, string> = {};
    for (const device of deviceUrls) {
      sent[device.key] = await sendDisk(session, device);
      await session.leaseProgress(lease, 50);
    }
    const manifest = await session.leaseManifest(lease);
    assert.deepEqual(Object.fromEntries(manifest.map(({ key, sha1 }) => [key, sha1])), sent);
    assert.deepEqual(
      manifest.map(({ size }) => size),
      Array(disks).fill(300_000),
    );
    await session.leaseComplete(lease);

    const stored = await sim.control.vm(`import-${disks}`);
    assert.equal(stored?.ref, vm.value);
    assert.equal(stored.extraConfig['vmflow.prod'], 'tmpl & "co" <1>', 'the marker is really stored');
    assert.equal(stored.extraConfig['vmflow.state'], 'importing');
    assert.equal(stored.disks.length, disks);
    assert.equal(stored.version, '1.2.3');
    await session.close();
  });
}

test('an import under a name whose VM was renamed meets none of the old files', async () => {
  const session = await vsphere.open(endpointOf(sim));
  for (const renamed of ['first', 'second', 'third']) {
    const { vm } = await importVm(session, 'temp-name', 2);
    await session.waitForTask(await session.startRename(vm, renamed));
  }
  const files = (await sim.control.vms()).flatMap(({ disks }) => disks.map(({ file }) => file));
  assert.equal(new Set(files).size, files.length, files.join(' '));
  await session.close();
});

test('uploads go out as a real server wants them: exact length, one method and type, never chunked', async () => {
  const session = await vsphere.open(throughProxy(sim, proxy));
  proxy.clearRequests();
  await importVm(session, 'recorded', 2);
  const uploads = proxy.requests().filter(({ kind }) => kind === 'nfc');
  assert.equal(uploads.length, 2);
  for (const { verb, headers, bytes, session: cookie } of uploads) {
    assert.equal(verb, 'POST');
    assert.equal(headers['content-length'], '300000');
    assert.equal(bytes, 300_000);
    assert.equal(headers['transfer-encoding'], undefined);
    assert.equal(headers['content-type'], 'application/x-vnd.vmware-streamVmdk');
    assert.equal(cookie, undefined, 'the URL is the capability');
  }
  await session.close();
});

test('an upload that the server refuses early is judged by its status', async () => {
  const session = await vsphere.open(throughProxy(sim, proxy));
  const { lease, vm, deviceUrls } = await beginImport(session, 'refused', 1);
  proxy.addNfcRule({ action: 'early-response', status: 507, afterBytes: 65_536 });
  await assert.rejects(sendDisk(session, deviceUrls[0]!, 20_000_000), { code: 'INSUFFICIENT_SPACE' });
  proxy.addNfcRule({ action: 'reset', afterBytes: 65_536 });
  await assert.rejects(sendDisk(session, deviceUrls[0]!, 20_000_000), { code: 'UPLOAD_IO' });
  await session.leaseAbort(lease);
  await session.leaseAbort(lease);
  await session.waitForTask(await session.startDestroy(vm));
  await session.close();
});

test('a lease in error is thrown with its fault', async () => {
  const session = await vsphere.open(endpointOf(sim));
  const { lease, vm } = await beginImport(session, 'failing', 1);
  await sim.control.failLeases('NoDiskSpace');
  await assert.rejects(session.waitForLease(lease, {}), { kind: 'lease-error', faultType: 'NoDiskSpace' });
  await session.waitForTask(await session.startDestroy(vm));
  await session.close();
});

test('a lease is lost with the session that made it', async () => {
  const session = await vsphere.open(endpointOf(sim));
  const { lease, vm } = await beginImport(session, 'orphan', 1);
  await sim.control.terminateSessions();
  await assert.rejects(session.leaseProgress(lease, 10), { code: 'LEASE_LOST' });
  await session.currentTime();
  await assert.rejects(session.leaseProgress(lease, 20), { code: 'LEASE_LOST' }, 'nor does a new session own it');
  await assert.rejects(session.waitForLease(lease, {}), { code: 'LEASE_LOST' });
  await session.waitForTask(await session.startDestroy(vm));
  await session.close();
});

test('a second Complete says that the lease is gone', async () => {
  const session = await vsphere.open(endpointOf(sim));
  const { lease } = await importVm(session, 'completed', 1);
  await assert.rejects(session.leaseComplete(lease), { code: 'LEASE_LOST' });
  await session.close();
});

test('a descriptor that the server cannot import is reported with every error', async () => {
  const session = await vsphere.open(endpointOf(sim));
  const { pool, datastore, host, network } = await placement(session);
  const params = { resourcePool: pool, datastore, host, entityName: 'x', networkMapping: [{ name: 'n', network }] };
  await assert.rejects(session.createImportSpec({ ...params, ovfDescriptor: 'no xml' }), {
    faultType: 'InvalidArgument',
  });
  await session.close();
});
