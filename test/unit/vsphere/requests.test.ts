import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { VSphereSession } from '../../../activities/vsphere/port.ts';
import { validateRequestXml } from '../../../activities/vsphere/vim25/validate.ts';
import type { ScriptedVCenter } from './scripted-vcenter.ts';
import { properties, startScriptedVCenter } from './scripted-vcenter.ts';

const vm = { type: 'VirtualMachine', value: 'vm-1' };
const folder = { type: 'Folder', value: 'group-v3' };
const pool = { type: 'ResourcePool', value: 'resgroup-1' };
const host = { type: 'HostSystem', value: 'host-1' };
const datastore = { type: 'Datastore', value: 'datastore-1' };
const network = { type: 'Network', value: 'network-1' };
const lease = { type: 'HttpNfcLease', value: 'lease-1' };
const task = { type: 'Task', value: 'task-1' };
const snapshot = { type: 'VirtualMachineSnapshot', value: 'snapshot-1' };

const importSpec =
  '<importSpec xsi:type="VirtualMachineImportSpec"><configSpec><name>tmp</name><firmware>efi</firmware></configSpec></importSpec>';
const importResult = `<returnval>${importSpec}<fileItem><deviceId>d</deviceId><path>p</path><size>9</size><cimType>17</cimType><create>false</create></fileItem></returnval>`;
const state = (value: string): string =>
  properties('<obj type="Task">task-1</obj>', { 'info.state': `<val xsi:type="TaskInfoState">${value}</val>` });
const leaseReady = properties('<obj type="HttpNfcLease">l</obj>', {
  state: '<val xsi:type="HttpNfcLeaseState">ready</val>',
  info:
    '<val xsi:type="HttpNfcLeaseInfo"><lease type="HttpNfcLease">l</lease><entity type="VirtualMachine">vm-1</entity>' +
    '<deviceUrl><key>k</key><importKey>d</importKey><url>https://*/nfc/x</url><sslThumbprint></sslThumbprint><disk>true</disk></deviceUrl>' +
    '<totalDiskCapacityInKB>0</totalDiskCapacityInKB><leaseTimeout>300</leaseTimeout></val>',
});

let vcenter: ScriptedVCenter;
let session: VSphereSession;

before(async () => {
  vcenter = await startScriptedVCenter();
  const reference = (type: string, value: string): { returns: string } => ({
    returns: `<returnval type="${type}">${value}</returnval>`,
  });
  vcenter.on('FindChild', reference('VirtualMachine', 'vm-1'));
  vcenter.on('FindByInventoryPath', reference('Folder', 'group-v3'));
  vcenter.on('CurrentTime', { returns: '<returnval>2026-01-02T03:04:05Z</returnval>' });
  vcenter.on('CreateImportSpec', { returns: importResult });
  vcenter.on('ImportVApp', reference('HttpNfcLease', 'lease-1'));
  const tasks = ['Rename', 'Destroy', 'ReconfigVM', 'PowerOnVM', 'PowerOffVM', 'CreateSnapshot', 'RemoveSnapshot'];
  for (const method of [...tasks, 'ConsolidateVMDisks']) vcenter.on(`${method}_Task`, reference('Task', 'task-1'));
  const silent = ['MarkAsTemplate', 'MarkAsVirtualMachine', 'DestroyPropertyCollector', 'ShutdownGuest', 'DestroyView'];
  for (const method of silent) vcenter.on(method, { returns: '' });
  vcenter.on('FindByUuid', reference('VirtualMachine', 'vm-1'));
  vcenter.on('CreateContainerView', reference('ContainerView', 'view-1'));
  vcenter.on('ExportSnapshot', reference('HttpNfcLease', 'lease-1'));
  vcenter.on('QueryChangedDiskAreas', {
    returns: '<returnval><startOffset>0</startOffset><length>1048576</length></returnval>',
  });
  for (const method of ['Progress', 'Complete', 'Abort', 'GetManifest'])
    vcenter.on(`HttpNfcLease${method}`, { returns: '' });
  vcenter.on('CreatePropertyCollector', reference('PropertyCollector', 'pc-1'));
  vcenter.on('CreateFilter', reference('PropertyFilter', 'pf-1'));
  vcenter.on('WaitForUpdatesEx', { returns: '<returnval><version>1</version></returnval>' });
  session = await vcenter.open();
});
after(() => vcenter.close());

/** Every request that this client can send, by the call that sends it. */
const work: Readonly<Record<string, (session: VSphereSession) => Promise<unknown>>> = {
  CurrentTime: (session) => session.currentTime(),
  FindByInventoryPath: (session) => session.findByInventoryPath('/DC0/vm/a&b'),
  FindChild: (session) => session.findChild(folder, 'a%2fb <c>'),
  RetrievePropertiesEx: (session) => {
    vcenter.on('RetrievePropertiesEx', { returns: properties('<obj type="VirtualMachine">vm-1</obj>', {}) });
    return session.retrieve([vm, host, vm], ['name', 'parent']);
  },
  ContinueRetrievePropertiesEx: (session) => {
    vcenter.on('RetrievePropertiesEx', { returns: '<returnval><token>t</token></returnval>' });
    vcenter.on('ContinueRetrievePropertiesEx', { returns: '<returnval/>' });
    return session.retrieve([vm], ['name']);
  },
  CreateImportSpec: (session) =>
    session.createImportSpec({
      ovfDescriptor: '<?xml version="1.0"?><Envelope/>',
      resourcePool: pool,
      datastore,
      host,
      entityName: 'tmp',
      networkMapping: [
        { name: 'a', network },
        { name: 'b', network },
      ],
      diskProvisioning: 'eagerZeroedThick',
    }),
  ImportVApp: async (session) => {
    const spec = await session.createImportSpec({
      ovfDescriptor: '<Envelope/>',
      resourcePool: pool,
      datastore,
      host,
      entityName: 'tmp',
      networkMapping: [],
    });
    const edits = { extraConfig: new Map([['vmflow.prod', 'x']]), emptyDiskFileNames: true };
    return await session.importVApp(pool, spec.importSpecXml, edits, folder, host);
  },
  HttpNfcLeaseProgress: (session) => session.leaseProgress(lease, 33.4),
  HttpNfcLeaseGetManifest: (session) => session.leaseManifest(lease),
  HttpNfcLeaseComplete: (session) => session.leaseComplete(lease),
  HttpNfcLeaseAbort: (session) => session.leaseAbort(lease),
  Rename_Task: (session) => session.startRename(vm, 'new name'),
  Destroy_Task: (session) => session.startDestroy(vm),
  ReconfigVM_Task: (session) =>
    session.startReconfigure(vm, {
      bootOptions: {
        _type: 'VirtualMachineBootOptions',
        networkBootProtocol: 'ipv4',
        bootOrder: [
          { _type: 'VirtualMachineBootOptionsBootableDiskDevice', deviceKey: 2000 },
          { _type: 'VirtualMachineBootOptionsBootableCdromDevice' },
        ],
        efiSecureBootEnabled: false,
        bootDelay: 10,
      },
      extraConfig: new Map([
        ['vmflow.a', '1'],
        ['vmflow.b', '<![CDATA[raw]]>'],
      ]),
      annotation: 'two\nlines & <more>',
    }),
  MarkAsTemplate: (session) => session.markAsTemplate(vm),
  MarkAsVirtualMachine: (session) => session.markAsVirtualMachine(vm, pool, host),
  CreateContainerView: (session) => session.vms.list(folder, ['VirtualMachine', 'Network']),
  FindByUuid: (session) => session.vms.findByInstanceUuid('5298cc11-96ea-4f50-b018-6d80bfdaa7d9'),
  PowerOnVM_Task: (session) => session.vms.startPowerOn(vm),
  PowerOffVM_Task: (session) => session.vms.startPowerOff(vm),
  ShutdownGuest: (session) => session.vms.shutdownGuest(vm),
  CreateSnapshot_Task: (session) => session.vms.startCreateSnapshot(vm, 'mm-1 & <2>'),
  RemoveSnapshot_Task: (session) => session.vms.startRemoveSnapshot(snapshot),
  ConsolidateVMDisks_Task: (session) => session.vms.startConsolidate(vm),
  ExportSnapshot: (session) => session.vms.exportSnapshot(snapshot),
  QueryChangedDiskAreas: (session) =>
    session.vms.changedDiskAreas(vm, { snapshot, deviceKey: 2000, startOffset: 2 ** 40, changeId: '52 de/4' }),
  WaitForUpdatesEx: async (session) => {
    vcenter.on('RetrievePropertiesEx', () => ({
      returns: state(vcenter.count('WaitForUpdatesEx') < 2 ? 'running' : 'success'),
    }));
    await session.waitForTask(task);
  },
};

for (const [method, call] of Object.entries(work)) {
  test(`the request of ${method} fits the schema`, async () => {
    vcenter.calls.length = 0;
    await call(session);
    assert.ok(vcenter.count(method) > 0, 'the call was sent');
    for (const { method: sent, body } of vcenter.calls) assert.deepEqual(validateRequestXml(body), [], sent);
  });
}

test('with Login and Logout this is everything that was ever sent', async () => {
  const other = await vcenter.open();
  vcenter.calls.length = 0;
  await other.currentTime();
  await other.close();
  for (const { method, body } of vcenter.calls) assert.deepEqual(validateRequestXml(body), [], method);
  assert.deepEqual(
    vcenter.calls.map(({ method }) => method),
    ['Login', 'CurrentTime', 'Logout'],
  );
});

test('a wait uses a collector of its own and destroys it', async () => {
  vcenter.calls.length = 0;
  await work['WaitForUpdatesEx']?.(session);
  const collector = vcenter.calls.filter(({ method }) => /Collector|Filter|WaitForUpdates/.test(method));
  assert.deepEqual(
    collector.map(({ method }) => method),
    ['CreatePropertyCollector', 'CreateFilter', 'WaitForUpdatesEx', 'WaitForUpdatesEx', 'DestroyPropertyCollector'],
  );
  for (const { method, body } of collector.slice(1)) assert.match(body, /PropertyCollector">pc-1</, method);
});

test('a collector lost with its session is replaced', async () => {
  vcenter.on('WaitForUpdatesEx', (_, nth) =>
    nth % 2 === 1 ? { fault: 'NotAuthenticated' } : { returns: '<returnval><version>2</version></returnval>' },
  );
  vcenter.calls.length = 0;
  vcenter.on('RetrievePropertiesEx', () => ({
    returns: state(vcenter.count('WaitForUpdatesEx') < 2 ? 'running' : 'success'),
  }));
  await session.waitForTask(task);
  assert.equal(vcenter.count('CreatePropertyCollector'), 2);
});

test('text that looks like CDATA is sent as text', async () => {
  vcenter.calls.length = 0;
  await session.startReconfigure(vm, { annotation: '<![CDATA[</annotation>]]>' });
  assert.match(vcenter.calls[0]?.body ?? '', /<annotation>&lt;!\[CDATA\[&lt;\/annotation&gt;\]\]&gt;<\/annotation>/);
});

test('the import spec reaches ImportVApp byte for byte apart from the edits', async () => {
  vcenter.calls.length = 0;
  await work['ImportVApp']?.(session);
  const body = vcenter.calls.find(({ method }) => method === 'ImportVApp')?.body ?? '';
  assert.match(
    body,
    /<configSpec><name>tmp<\/name><extraConfig [^>]*><key>vmflow.prod<\/key>.*<firmware>efi<\/firmware><\/configSpec>/,
  );
});

test('a ready lease is described without empty thumbprints', async () => {
  vcenter.on('RetrievePropertiesEx', { returns: leaseReady });
  assert.deepEqual(await session.waitForLease(lease, {}), {
    entity: vm,
    leaseTimeoutS: 300,
    deviceUrls: [{ key: 'k', importKey: 'd', url: 'https://*/nfc/x', isDisk: true }],
  });
});

test('errors and warnings of an import spec are named by type and text', async () => {
  vcenter.on('CreateImportSpec', {
    returns:
      '<returnval><warning><fault xsi:type="OvfUnknownDevice"/><localizedMessage>odd</localizedMessage></warning>' +
      '<error><fault xsi:type="OvfUnsupportedType"/><localizedMessage>no</localizedMessage></error>' +
      '<error><fault xsi:type="OvfImport"/></error></returnval>',
  });
  const params = { ovfDescriptor: '<E/>', resourcePool: pool, datastore, host, entityName: 't', networkMapping: [] };
  assert.deepEqual(await session.createImportSpec(params), {
    importSpecXml: '',
    fileItems: [],
    warnings: ['OvfUnknownDevice: odd'],
    errors: ['OvfUnsupportedType: no', 'OvfImport'],
  });
});
