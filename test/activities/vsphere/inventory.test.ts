import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { MoRef, ObjectContent, VSphere, VSphereSession } from '../../../activities/vsphere/port.ts';
import { createVSphere } from '../../../activities/vsphere/vsphere-adapter.ts';
import type { Vcsim } from '../../stack/vcsim.ts';
import { startVcsim } from '../../stack/vcsim.ts';
import { waitFor } from '../../support/wait-for.ts';
import { endpointOf } from './import-helpers.ts';

let sim: Vcsim;
let vsphere: VSphere;
let session: VSphereSession;
let folder: MoRef;
let vm: MoRef;

before(async () => {
  sim = await startVcsim({ inventory: { vm: 1 } });
  vsphere = createVSphere({ allowInsecureTls: false, validateRequests: true });
  session = await vsphere.open(endpointOf(sim));
  folder = await find('/DC0/vm');
  vm = {
    type: 'VirtualMachine',
    value: await sim.control.createVm({
      name: 'subject',
      annotation: ' two\n lines ',
      extraConfig: { 'vmflow.prod': 'a<b>&"c"', flag: 'TRUE' },
      version: '1.2.3',
      snapshot: 'before',
      diskMiB: 8,
    }),
  };
});
after(async () => {
  await session.close();
  await vsphere.close();
  await sim.stop();
});

async function find(path: string): Promise<MoRef> {
  const found = await session.findByInventoryPath(path);
  assert.ok(found, path);
  return found;
}

async function read(ref: MoRef, ...paths: string[]): Promise<ReadonlyMap<string, unknown>> {
  const [content] = await session.retrieve([ref], paths);
  assert.deepEqual(content?.ref, ref);
  return (content satisfies ObjectContent).props;
}

test('what is not there is undefined, by path and by name', async () => {
  assert.equal(await session.findByInventoryPath('/DC0/nowhere'), undefined);
  assert.equal(await session.findChild(folder, 'nobody'), undefined);
  assert.deepEqual(await session.findChild(folder, 'subject'), vm);
});

test('the properties of a VM are decoded', async () => {
  const paths = [
    ...['name', 'parent', 'config.template', 'config.extraConfig', 'config.annotation', 'config.createDate'],
    ...['config.vAppConfig', 'config.files.vmPathName', 'config.hardware.device', 'config.bootOptions'],
    ...['runtime.powerState', 'snapshot', 'disabledMethod', 'recentTask', 'no.such.path'],
  ];
  const props = await read(vm, ...paths);
  assert.equal(props.get('name'), 'subject');
  assert.deepEqual(props.get('parent'), folder);
  assert.equal(props.get('config.template'), false);
  assert.equal(props.get('config.annotation'), ' two\n lines ');
  assert.equal(props.get('runtime.powerState'), 'poweredOff');
  assert.match(props.get('config.createDate') as string, /^\d{4}-\d\d-\d\dT/);
  assert.match(props.get('config.files.vmPathName') as string, /^\[LocalDS_0\] .*\.vmx$/);
  const options = props.get('config.extraConfig') as { key: string; value: unknown }[];
  assert.deepEqual(
    options.filter(({ key }) => key === 'vmflow.prod'),
    [{ key: 'vmflow.prod', value: 'a<b>&"c"' }],
  );
  const { product } = props.get('config.vAppConfig') as { product: { version: string }[] };
  assert.deepEqual(
    product.map(({ version }) => version),
    ['1.2.3'],
  );
  const devices = props.get('config.hardware.device') as {
    _type: string;
    key: number;
    backing?: { _type: string; fileName?: string };
  }[];
  const disk = devices.find(({ _type }) => _type === 'VirtualDisk');
  assert.equal(typeof disk?.key, 'number');
  assert.equal(disk?.backing?._type, 'VirtualDiskFlatVer2BackingInfo');
  assert.match(disk.backing.fileName ?? '', /\.vmdk$/);
  const snapshot = props.get('snapshot') as { currentSnapshot: MoRef; rootSnapshotList: { name: string }[] };
  assert.equal(snapshot.currentSnapshot.type, 'VirtualMachineSnapshot');
  assert.deepEqual(
    snapshot.rootSnapshotList.map(({ name }) => name),
    ['before'],
  );
  assert.ok(Array.isArray(props.get('disabledMethod')));
  assert.ok((props.get('recentTask') as MoRef[]).every(({ type }) => type === 'Task'));
  assert.equal(props.has('no.such.path'), false);
});

test('the properties of hosts, clusters and datastores are decoded', async () => {
  const cluster = await read(await find('/DC0/host/DC0_C0'), 'host', 'datastore', 'network', 'resourcePool');
  assert.equal((cluster.get('host') as MoRef[]).length, 3);
  assert.deepEqual(
    (cluster.get('datastore') as MoRef[]).map(({ type }) => type),
    ['Datastore'],
  );
  assert.ok((cluster.get('network') as MoRef[]).some(({ type }) => type === 'Network'));
  assert.equal((cluster.get('resourcePool') as MoRef).type, 'ResourcePool');

  const state = [
    'runtime.connectionState',
    'runtime.powerState',
    'runtime.inMaintenanceMode',
    'runtime.inQuarantineMode',
  ];
  const host = await read(await find('/DC0/host/DC0_C0/DC0_C0_H0'), ...state);
  assert.equal(host.get('runtime.connectionState'), 'connected');
  assert.equal(host.get('runtime.powerState'), 'poweredOn');
  assert.equal(host.get('runtime.inMaintenanceMode'), false);

  const summary = ['summary.accessible', 'summary.maintenanceMode', 'summary.freeSpace', 'summary.capacity'];
  const datastore = await read(await find('/DC0/datastore/LocalDS_0'), ...summary);
  assert.equal(datastore.get('summary.accessible'), true);
  assert.equal(datastore.get('summary.maintenanceMode'), 'normal');
  assert.ok((datastore.get('summary.freeSpace') as number) > 2 ** 32, 'more than fits into an int');
  assert.equal(typeof datastore.get('summary.capacity'), 'number');
});

test('objects of several types are read in one call', async () => {
  const contents = await session.retrieve([vm, folder], ['name', 'parent']);
  assert.deepEqual(
    new Map(contents.map(({ ref, props }) => [ref.value, props.get('name')])),
    new Map([
      [vm.value, 'subject'],
      [folder.value, 'vm'],
    ]),
  );
});

test('an object that is gone fails the read', async () => {
  const gone = { type: 'VirtualMachine', value: 'vm-999999' };
  await assert.rejects(session.retrieve([vm, gone], ['name']), { faultType: 'ManagedObjectNotFound' });
});

test('a name that is taken is the task error InvalidArgument(name), with everything to decide on', async () => {
  await sim.control.createVm({ name: 'other' });
  const task = await session.startRename(vm, 'other');
  await assert.rejects(session.waitForTask(task), {
    name: 'VimFault',
    kind: 'task-error',
    faultType: 'InvalidArgument',
    fields: { invalidProperty: 'name' },
    method: 'Rename_Task',
  });
  const info = (await read(task, 'info')).get('info') as { state: string; error: { fault: { _type: string } } };
  assert.equal(info.state, 'error');
  assert.equal(info.error.fault._type, 'InvalidArgument');
});

test('a task of somebody else is waited for, its method known from its description', async () => {
  const task = await session.startRename(vm, 'other');
  const another = await vsphere.open(endpointOf(sim));
  await assert.rejects(another.waitForTask(task), { kind: 'task-error', method: 'Rename_Task' });
  await another.close();
});

test('a rename is over within milliseconds of the answer', async () => {
  await session.waitForTask(await session.startRename(vm, 'quick'));
  assert.deepEqual(await session.findChild(folder, 'quick'), vm);
  await session.waitForTask(await session.startRename(vm, 'subject'));
});

test('a slow task is waited for by a collector of its own, across a lost session', async () => {
  await sim.control.setDelays({ Rename: 3000 });
  try {
    const task = await session.startRename(vm, 'slow');
    const waiting = session.waitForTask(task);
    await waitFor('the collector', async () => (await sim.control.calls()).counts['WaitForUpdatesEx']);
    await sim.control.terminateSessions();
    await waiting;
    assert.deepEqual(await session.findChild(folder, 'slow'), vm);
  } finally {
    await sim.control.clearDelays();
  }
  await session.waitForTask(await session.startRename(vm, 'subject'));
});

test('a wait for a task ends by its limit or by an abort', async () => {
  await sim.control.setDelays({ Rename: 1500 });
  try {
    const task = await session.startRename(vm, 'late');
    await assert.rejects(session.waitForTask(task, { timeoutMs: 100 }), { code: 'TIMEOUT' });
    const reason = new Error('cancelled');
    await assert.rejects(session.waitForTask(task, { signal: AbortSignal.abort(reason) }), reason);
    const controller = new AbortController();
    const waiting = session.waitForTask(task, { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(waiting, reason);
    await session.waitForTask(task);
  } finally {
    await sim.control.clearDelays();
  }
  await session.waitForTask(await session.startRename(vm, 'subject'));
});

test('a reconfigure stores annotation, options and boot options', async () => {
  const boot = (await read(vm, 'config.bootOptions')).get('config.bootOptions') as Record<string, unknown>;
  const change = {
    annotation: 'new & <improved>',
    extraConfig: new Map([['vmflow.state', 'ready']]),
    bootOptions: { ...boot, bootDelay: 7, efiSecureBootEnabled: false },
  };
  await session.waitForTask(await session.startReconfigure(vm, change));
  const stored = await sim.control.vm('subject');
  assert.equal(stored?.annotation, 'new & <improved>');
  assert.equal(stored.extraConfig['vmflow.state'], 'ready');
  const options = (await read(vm, 'config.bootOptions')).get('config.bootOptions') as Record<string, unknown>;
  assert.equal(options['bootDelay'], 7);
  assert.equal(options['efiSecureBootEnabled'], false);
});

test('a VM becomes a template once, and a VM again', async () => {
  await session.markAsTemplate(vm);
  assert.equal((await read(vm, 'config.template')).get('config.template'), true);
  await assert.rejects(session.markAsTemplate(vm), { faultType: 'NotSupported' });
  const pool = await find('/DC0/host/DC0_C0/Resources');
  await session.markAsVirtualMachine(vm, pool, await find('/DC0/host/DC0_C0/DC0_C0_H0'));
  assert.equal((await read(vm, 'config.template')).get('config.template'), false);
});

test('a destroyed VM is gone; destroying it again says so', async () => {
  const victim = { type: 'VirtualMachine', value: await sim.control.createVm({ name: 'victim' }) };
  await session.waitForTask(await session.startDestroy(victim));
  assert.equal(await session.findChild(folder, 'victim'), undefined);
  await assert.rejects(session.startDestroy(victim), {
    faultType: 'ManagedObjectNotFound',
    moRef: `VirtualMachine:${victim.value}`,
  });
});

test('a VM that runs cannot be destroyed', async () => {
  const running = { type: 'VirtualMachine', value: await sim.control.createVm({ name: 'running', poweredOn: true }) };
  await assert.rejects(async () => session.waitForTask(await session.startDestroy(running)), {
    faultType: 'InvalidPowerState',
  });
});

test('tags are listed with their categories, attached and read back', async () => {
  const gold = await sim.control.ensureTag('tier', 'gold');
  const blue = await sim.control.ensureTag('colour', 'blue');
  const listed = (await session.listTags()).toSorted((a, b) => a.name.localeCompare(b.name));
  assert.deepEqual(listed, [
    { id: blue, name: 'blue', category: 'colour' },
    { id: gold, name: 'gold', category: 'tier' },
  ]);
  await session.attachTag(gold, vm);
  await session.attachTag(gold, vm);
  assert.deepEqual(await session.attachedTags(vm), [gold]);
  assert.deepEqual(await sim.control.attachedTags(vm.value), [gold]);
});
