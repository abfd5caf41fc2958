import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { InventoryPage } from '../../../activities/vsphere/source-port.ts';
import { waitFor } from '../../support/wait-for.ts';
import { mib, readAll, sourceRig, ubuntu } from './source-rig.ts';

const rig = sourceRig({ inventory: { vm: 0, dc: 2 } });

/** VMs of a test are in a folder of their own, so that tests don't see each other's. */
async function folder(name: string, datacenter = 'DC0'): Promise<string> {
  await rig.control.createFolder(`/${datacenter}/vm`, name);
  return `/${datacenter}/vm/${name}`;
}

const inFolder =
  (path: string) =>
  ({ location }: { readonly location: string }): boolean =>
    location.startsWith(`${path}/`);

const about = (page: InventoryPage, path: string): readonly string[] =>
  page.warnings.filter(({ message }) => message.includes(`${path}/`)).map(({ type, message }) => `${type}: ${message}`);

test('a VM is in the inventory with everything, and its fetch says the same', async () => {
  const path = await folder('whole');
  const vm = await rig.vm({
    name: 'web 01',
    folder: path,
    poweredOn: true,
    snapshot: 'before',
    annotation: 'a web server',
    disks: [
      { size: 2 * mib, seed: 1 },
      { size: mib, mode: 'independent_persistent' },
    ],
    nics: [
      { network: '/DC0/network/VM Network', mac: '00:50:56:0A:00:01', ips: ['fe80::1', '10.0.0.5', '2001:db8::5'] },
      { network: '/DC0/network/DC0_DVPG0', mac: '00:50:56:0a:00:02', ips: ['10.0.1.5'] },
    ],
    settings: { tracking: true, cpus: 3, memoryMiB: 512, firmware: 'efi', secureBoot: true },
  });
  await rig.control.attachTag(await rig.control.ensureTag('env', 'prod'), vm.ref);
  await rig.control.attachTag(await rig.control.ensureTag('env', 'eu'), vm.ref);
  const source = rig.source();
  const page = await readAll(source);
  const instance = page.instances.find(({ source_specific_id }) => source_specific_id === vm.id);
  assert.ok(instance);
  const { uuid, host, last_update_from_source, nics, ...rest } = instance;
  assert.match(uuid, /^[0-9a-f-]{36}$/);
  assert.match(host, /^HostSystem:host-\d+$/);
  assert.match(last_update_from_source, /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(rest, {
    source: 'sim',
    source_type: 'vmware',
    source_specific_id: vm.id,
    location: `${path}/web 01`,
    name: 'web01',
    description: 'a web server',
    os: 'Ubuntu 22.04',
    os_template: 'otherGuest64',
    os_description: 'Ubuntu 22.04.4 LTS',
    os_type: 'linux',
    distribution: 'ubuntu',
    distribution_version: '22.04',
    cpus: 3,
    memory: 512 * mib,
    architecture: 'x86_64',
    config: { 'tag.env': 'eu,prod', 'vmware.resource_pool': 'Resources' },
    secure_boot: true,
    legacy_boot: false,
    tpm: false,
    running: true,
    background_import: true,
    guest_tools: true,
    disks: [
      {
        name: '[LocalDS_0] web 01/web 01.vmdk',
        capacity: 2 * mib,
        shared: false,
        supported: true,
        background_import_verified: false,
      },
      {
        name: '[LocalDS_0] web 01/web 01_1.vmdk',
        capacity: mib,
        shared: false,
        supported: false,
        background_import_verified: false,
      },
    ],
    snapshots: [{ name: 'before' }],
  });
  const networkAt = (location: string): string =>
    page.networks.find((network) => network.location === location)?.uuid ?? '';
  assert.deepEqual(
    nics.map(({ source_specific_id, ...nic }) => ({ ...nic, isNumbered: /^\d+$/.test(source_specific_id) })),
    [
      {
        uuid: networkAt('/DC0/network/VM Network'),
        hardware_address: '00:50:56:0a:00:01',
        location: '/DC0/network/VM Network',
        ipv4_address: '10.0.0.5',
        ipv6_address: '2001:db8::5',
        isNumbered: true,
      },
      {
        uuid: networkAt('/DC0/network/DC0_DVPG0'),
        hardware_address: '00:50:56:0a:00:02',
        location: '/DC0/network/DC0_DVPG0',
        ipv4_address: '10.0.1.5',
        ipv6_address: '',
        isNumbered: true,
      },
    ],
  );
  const fetched = await source.fetch(vm.id);
  assert.deepEqual({ ...fetched?.instance, last_update_from_source }, instance);
  assert.deepEqual(
    fetched?.networks.map(({ uuid: id }) => id),
    nics.map((nic) => nic.uuid),
  );
  assert.deepEqual(about(page, path), []);
});

test('a VM that is not there is undefined', async () => {
  const source = rig.source();
  assert.equal(await source.fetch('VirtualMachine:vm-999999'), undefined);
  assert.equal(await source.power('VirtualMachine:vm-999999'), undefined);
});

test('a rename and a move show at the next fetch, under the same id', async () => {
  const [from, to] = [await folder('from'), await folder('to')];
  const vm = await rig.vm({ name: 'wanderer', folder: from });
  await rig.control.renameVm(vm.ref, 'traveller');
  await rig.control.moveVm(vm.ref, to);
  const fetched = await rig.source().fetch(vm.id);
  assert.equal(fetched?.instance.location, `${to}/traveller`);
  assert.equal(fetched.instance.name, 'traveller');
});

test('what a person changes shows at the next fetch', async () => {
  const vm = await rig.vm({ name: 'changing', folder: await folder('changing') });
  const source = rig.source();
  const before = (await source.fetch(vm.id))!.instance;
  await rig.control.changeVm(vm.ref, { cpus: 7, memoryMiB: 96, instanceUuid: '11111111-2222-3333-4444-555555555555' });
  await rig.control.addDisk(vm.ref, { size: mib });
  await rig.control.growDisk(vm.ref, 0, 8 * mib);
  await rig.control.addNic(vm.ref, { network: '/DC0/network/DC0_DVPG0', mac: '00:50:56:0b:00:01', ips: ['10.2.0.1'] });
  const changed = (await source.fetch(vm.id))!;
  assert.equal(changed.instance.uuid, '11111111-2222-3333-4444-555555555555');
  assert.deepEqual([changed.instance.cpus, changed.instance.memory], [7, 96 * mib]);
  assert.deepEqual(
    changed.instance.disks.map(({ capacity }) => capacity),
    [8 * mib, mib],
    'the root disk stays the first one although the server lists it last now',
  );
  assert.equal(changed.instance.nics.length, before.nics.length + 1);
  assert.equal(changed.networks.length, 2);
});

test('what is no VM to migrate is left out, named with a reason and never taken for missing', async () => {
  const path = await folder('odd');
  const template = await rig.vm({ name: 'template', folder: path, template: true });
  const service = await rig.vm({ name: 'vCLS-1', folder: path });
  const appliance = await rig.vm({ name: 'VMware vCenter Server', folder: path, version: '8.0' });
  const windows = await rig.vm({
    name: 'win',
    folder: path,
    extraConfig: { 'guestInfo.detailed.data': "distroName='Windows' distroVersion='10.0'" },
  });
  const page = await readAll(rig.source());
  assert.deepEqual(page.instances.filter(inFolder(path)), []);
  assert.deepEqual(about(page, path).toSorted(), [
    `Instances not imported: ${path}/win: the version of its Windows can't be told`,
    `Instances were ignored: ${path}/VMware vCenter Server: it is a vCenter appliance`,
    `Instances were ignored: ${path}/template: it is a template`,
    `Instances were ignored: ${path}/vCLS-1: it is a service VM of the cluster`,
  ]);
  for (const { id } of [template, service, appliance, windows]) assert.ok(page.unread.includes(id), id);
  for (const { id } of [template, service, appliance]) assert.ok(page.noVms.includes(id), id);
  assert.ok(!page.noVms.includes(windows.id), 'it is a VM, of which something is not known');
});

test('a VM without guest data is delivered, with a warning', async () => {
  const path = await folder('silent');
  await rig.vm({ name: 'silent', folder: path, nics: [{ network: '/DC0/network/VM Network' }], extraConfig: {} });
  const page = await readAll(rig.source());
  assert.equal(page.instances.filter(inFolder(path)).length, 1);
  assert.deepEqual(about(page, path), [
    `Instances partially imported: ${path}/silent: the guest does not tell its operating system and its addresses`,
  ]);
});

test('of two VMs with one UUID the first location stays, the other is named and not missing', async () => {
  const path = await folder('doubles');
  const instanceUuid = 'aaaaaaaa-1111-2222-3333-444444444444';
  const second = await rig.vm({ name: 'b', folder: path, settings: { instanceUuid } });
  const first = await rig.vm({ name: 'a', folder: path, settings: { instanceUuid: instanceUuid.toUpperCase() } });
  const page = await readAll(rig.source());
  assert.deepEqual(
    page.instances.filter(inFolder(path)).map(({ source_specific_id }) => source_specific_id),
    [first.id],
  );
  assert.deepEqual(about(page, path), [
    `Instances not imported: ${path}/b: it has the instance UUID of ${path}/a (${instanceUuid})`,
  ]);
  assert.ok(page.unread.includes(second.id));
});

test('only networks with VMs are delivered, each with the first page that needs it', async () => {
  const path = await folder('networks');
  for (const name of ['a', 'b', 'c']) await rig.vm({ name, folder: path });
  const locations: string[] = [];
  for await (const page of rig.source().inventory({ pageSize: 1 })) {
    locations.push(...page.networks.map(({ location }) => location));
  }
  assert.ok(locations.includes('/DC0/network/VM Network'));
  assert.equal(new Set(locations).size, locations.length);
  assert.ok(!locations.some((location) => location.includes('DVUplinks')));
});

test('only the datacenters that are named are read', async () => {
  const [here, there] = [await folder('here'), await folder('there', 'DC1')];
  await rig.vm({ name: 'a', folder: here });
  const pools = { datastore: 'LocalDS_0', nics: [] };
  await rig.vm({ name: 'b', folder: there, ...pools });
  const page = await readAll(rig.source({ datacenters: ['DC1'] }));
  assert.deepEqual(
    page.instances.map(({ location }) => location),
    [`${there}/b`],
  );
  await assert.rejects(readAll(rig.source({ datacenters: ['DC1', 'DC7'] })), {
    type: 'InvalidRequest',
    message: /source sim has no datacenter DC7/,
  });
});

test('300 VMs come in pages, in the order of their locations, each once', async () => {
  const path = await folder('many');
  const names = Array.from({ length: 300 }, (_, index) => `m${(index * 7) % 300}`.padEnd(4, 'x'));
  for (const name of names) {
    await rig.control.createVm({ name, folder: path, extraConfig: { 'guestInfo.detailed.data': ubuntu } });
  }
  const pages: InventoryPage[] = [];
  for await (const page of rig.source().inventory({ pageSize: 50 })) pages.push(page);
  assert.ok(pages.every(({ instances }) => instances.length <= 50));
  const locations = pages.flatMap(({ instances }) => instances.map(({ location }) => location));
  assert.deepEqual(locations, locations.toSorted());
  const ours = locations.filter((location) => location.startsWith(`${path}/`));
  assert.deepEqual(ours, names.map((name) => `${path}/${name}`).toSorted());
});

test('a VM that is deleted while pages are read is left out, the others are all there', async () => {
  const path = await folder('shrinking');
  const vms = new Map<string, string>();
  for (let index = 0; index < 30; index += 1) {
    const name = `s${String(index).padStart(2, '0')}`;
    vms.set(name, (await rig.vm({ name, folder: path, disks: [] })).ref);
  }
  const found: string[] = [];
  const unread: string[] = [];
  for await (const page of rig.source().inventory({ pageSize: 10 })) {
    const ours = page.instances.filter(inFolder(path));
    found.push(...ours.map(({ name }) => name));
    unread.push(...page.unread);
    const last = ours.at(-1)?.name;
    // Of the next page.
    const victim = [...vms.keys()].find((name) => last !== undefined && name > last);
    if (victim !== undefined && vms.size > 28) {
      await rig.control.destroyVm(vms.get(victim)!);
      vms.delete(victim);
      assert.ok(!found.includes(victim));
    }
  }
  assert.deepEqual(found, [...vms.keys()]);
  assert.equal(vms.size, 28);
  assert.ok(!unread.some((id) => id.includes('undefined')));
});

test('batch/S16 one VM that can not be read is a warning, the others are read; it is not missing', async () => {
  const path = await folder('around-stuck');
  const stuck = await rig.vm({ name: 'stuck', folder: path });
  await rig.vm({ name: 'well', folder: path });
  await rig.control.addFault({ method: 'RetrievePropertiesEx', objectName: 'stuck', delayMs: 1_500 });
  const page = await readAll(rig.source({ syncTimeoutMs: 200 }, { apiTimeoutMs: 600 }));
  assert.deepEqual(
    page.instances.filter(inFolder(path)).map(({ name }) => name),
    ['well'],
  );
  assert.ok(page.unread.includes(stuck.id));
  const why = page.warnings.find(({ message }) => message.includes(stuck.id));
  assert.equal(why?.type, 'Instances not imported');
  assert.match(why.message, /did not answer within 200 ms/);
});

test('a VM whose read fails is a warning', async () => {
  const path = await folder('around-broken');
  const broken = await rig.vm({ name: 'broken', folder: path });
  await rig.vm({ name: 'sound', folder: path });
  await rig.control.addFault({ method: 'RetrievePropertiesEx', objectName: 'broken', fault: 'SystemError' });
  const page = await readAll(rig.source());
  assert.deepEqual(
    page.instances.filter(inFolder(path)).map(({ name }) => name),
    ['sound'],
  );
  assert.ok(page.unread.includes(broken.id));
  await assert.rejects(rig.source().fetch(broken.id), { faultType: 'SystemError' });
});

test('a session that is lost while pages are read is replaced', async () => {
  const path = await folder('lost-session');
  for (const name of ['a', 'b', 'c', 'd']) await rig.vm({ name, folder: path, disks: [] });
  const names: string[] = [];
  for await (const page of rig.source().inventory({ pageSize: 1 })) {
    names.push(...page.instances.filter(inFolder(path)).map(({ name }) => name));
    await rig.control.terminateSessions();
  }
  assert.deepEqual(names, ['a', 'b', 'c', 'd']);
});

test('tags that can not be read fail the reading: without them a VM would look changed', async () => {
  await rig.vm({ name: 'tagged', folder: await folder('tagged') });
  const rest = rig.source({}, { password: 'wrong', name: 'other' });
  await assert.rejects(readAll(rest), { code: 'AUTH' });
});

test('the caller hears about once a second that it goes on', async () => {
  const vm = await rig.vm({ name: 'slow', folder: await folder('around-slow') });
  await rig.control.addFault({ method: 'RetrievePropertiesEx', objectName: 'slow', delayMs: 2_500, count: 1 });
  let ticks = 0;
  await rig.source().fetch(vm.id, { onProgress: () => (ticks += 1) });
  assert.ok(ticks >= 2, `${ticks} ticks`);
});

test('a caller that leaves ends the read', async () => {
  const vm = await rig.vm({ name: 'left', folder: await folder('around-left') });
  await rig.control.addFault({ method: 'RetrievePropertiesEx', objectName: 'left', delayMs: 5_000, count: 1 });
  const controller = new AbortController();
  const reason = new Error('cancelled');
  const fetching = rig.source().fetch(vm.id, { signal: controller.signal });
  await waitFor('the read', async () => (await rig.control.faults()).some(({ fired }) => fired > 0));
  controller.abort(reason);
  await assert.rejects(fetching, reason);
});
