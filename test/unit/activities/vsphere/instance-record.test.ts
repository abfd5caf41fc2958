import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { VmFacts } from '../../../../activities/vsphere/source/instance-record.ts';
import { hasConfig, missingFacts, toInstanceRecord } from '../../../../activities/vsphere/source/instance-record.ts';
import { NetworkIndex, toNetworkRecord } from '../../../../activities/vsphere/source/network-records.ts';
import type { InstanceRecord } from '../../../../workflows/domain/batch/records.ts';
import { controller, disk, nic, standardNetwork, vmFacts } from './builders.ts';

const at = '2026-08-01T00:00:00.000Z';
const record = (facts: VmFacts): InstanceRecord => toInstanceRecord(facts, 'vc1', at);

test('a VM with everything set is described', () => {
  assert.deepEqual(record(vmFacts()), {
    uuid: '5298cc11-96ea-4f50-b018-6d80bfdaa7d9',
    source: 'vc1',
    source_type: 'vmware',
    source_specific_id: 'VirtualMachine:vm-12',
    location: '/DC0/vm/web',
    name: 'web',
    description: 'a web server',
    os_template: 'Ubuntu Linux (64-bit)',
    os: 'Ubuntu 22.04',
    os_description: 'Ubuntu 22.04.4 LTS',
    os_type: 'linux',
    distribution: 'ubuntu',
    distribution_version: '22.04',
    cpus: 2,
    memory: 4 * 1024 ** 3,
    architecture: 'x86_64',
    config: {},
    secure_boot: true,
    legacy_boot: false,
    tpm: true,
    running: true,
    background_import: true,
    nics: [
      {
        uuid: toNetworkRecord(standardNetwork(), 'vc1').uuid,
        source_specific_id: '4000',
        hardware_address: '00:50:56:aa:bb:01',
        location: '/DC0/network/VM Network',
        ipv4_address: '10.0.0.5',
        ipv6_address: '',
      },
    ],
    disks: [
      {
        name: '[ds1] web/web.vmdk',
        capacity: 1024 * 1024,
        shared: false,
        supported: true,
        background_import_verified: false,
      },
    ],
    snapshots: [],
    host: 'HostSystem:host-12',
    last_update_from_source: at,
  });
});

test('what is optional and absent is empty or false, never an error', () => {
  const facts = vmFacts();
  const bare = new Map([...facts.props].filter(([path]) => path === 'name' || path === 'config.instanceUuid'));
  assert.deepEqual(record({ ...facts, props: bare }), {
    uuid: '5298cc11-96ea-4f50-b018-6d80bfdaa7d9',
    source: 'vc1',
    source_type: 'vmware',
    source_specific_id: 'VirtualMachine:vm-12',
    location: '/DC0/vm/web',
    name: 'web',
    description: '',
    os_template: '',
    os: '',
    os_description: '',
    os_type: 'linux',
    distribution: 'other',
    distribution_version: '',
    cpus: 0,
    memory: 0,
    architecture: 'x86_64',
    config: {},
    secure_boot: false,
    legacy_boot: false,
    tpm: false,
    running: false,
    background_import: false,
    nics: [],
    disks: [],
    snapshots: [],
    host: '',
    last_update_from_source: at,
  });
});

for (const path of vmFacts().props.keys()) {
  test(`a VM without ${path} is described`, () => {
    assert.equal(record(vmFacts({ [path]: undefined })).location, '/DC0/vm/web');
  });
}

for (const [given, name] of [
  ['web 01', 'web01'],
  ['Web_Server.example', 'WebServerexample'],
  ['a%2fb%5cc%25d', 'abcd'],
  ['größe', 'gre'],
  ['web-1', 'web-1'],
  ['日本', ''],
] as const) {
  test(`the name ${given} becomes the host name ${name || '(none)'}`, () => {
    assert.equal(record(vmFacts({ name: given })).name, name);
  });
}

for (const [state, running] of [
  ['poweredOn', true],
  ['poweredOff', false],
  ['suspended', false],
] as const) {
  test(`a VM that is ${state} counts as ${running ? 'running' : 'not running'}`, () => {
    assert.equal(record(vmFacts({ 'runtime.powerState': state })).running, running);
  });
}

test('only the firmware bios is a legacy boot', () => {
  assert.equal(record(vmFacts({ 'config.firmware': 'bios' })).legacy_boot, true);
  assert.equal(record(vmFacts({ 'config.firmware': 'efi' })).legacy_boot, false);
});

test('flags count as text, too', () => {
  const facts = vmFacts({
    'config.bootOptions': { efiSecureBootEnabled: 'true' },
    'summary.config': { tpmPresent: 'false' },
  });
  assert.equal(record(facts).secure_boot, true);
  assert.equal(record(facts).tpm, false);
});

test('tags, attributes and the resource pool are in the configuration', () => {
  const tags = new Map([
    ['env', ['prod', 'eu']],
    ['owner', ['ops']],
  ]);
  const props = {
    availableField: [
      { key: 101, name: 'cost', type: 'string', managedObjectType: 'VirtualMachine' },
      { key: 102, name: 'team', type: 'string' },
      { key: 103, name: 'unset', type: 'string' },
    ],
    customValue: [
      { _type: 'CustomFieldStringValue', key: 101, value: '4711' },
      { _type: 'CustomFieldStringValue', key: 102, value: 'blue' },
      { _type: 'CustomFieldStringValue', key: 999, value: 'of a field that is gone' },
    ],
  };
  assert.deepEqual(record(vmFacts(props, { tags, resourcePool: 'gold' })).config, {
    'tag.env': 'eu,prod',
    'tag.owner': 'ops',
    'attribute.VirtualMachine.cost': '4711',
    'attribute.global.team': 'blue',
    'vmware.resource_pool': 'gold',
  });
});

test('all snapshots are named, children after their parents', () => {
  const snapshot = {
    rootSnapshotList: [
      { name: 'a', childSnapshotList: [{ name: 'a1', childSnapshotList: [] }, { name: 'a2' }] },
      { name: 'b', childSnapshotList: [] },
    ],
  };
  assert.deepEqual(
    record(vmFacts({ snapshot })).snapshots.map(({ name }) => name),
    ['a', 'a1', 'a2', 'b'],
  );
});

test('disks and cards are in the order of their keys, whatever order the server lists them in', () => {
  const devices = [
    disk({ key: 2001, unitNumber: 1 }, { fileName: '[ds1] web/web_1.vmdk' }),
    nic({ key: 4001, macAddress: '00:50:56:aa:bb:02' }),
    controller(),
    nic(),
    disk(),
  ];
  const { disks, nics } = record(vmFacts({ 'config.hardware.device': devices }));
  assert.deepEqual(
    disks.map(({ name }) => name),
    ['[ds1] web/web.vmdk', '[ds1] web/web_1.vmdk'],
  );
  assert.deepEqual(
    nics.map(({ source_specific_id }) => source_specific_id),
    ['4000', '4001'],
  );
});

test('a VM without an instance UUID has no configuration', () => {
  assert.equal(hasConfig(vmFacts().props), true);
  assert.equal(hasConfig(vmFacts({ 'config.instanceUuid': undefined }).props), false);
});

test('what a VM could not tell is said in one sentence, nothing where all is known', () => {
  assert.equal(missingFacts(record(vmFacts())), undefined);
  const silent = vmFacts({ 'config.extraConfig["guestInfo.detailed.data"]': undefined, 'guest.net': undefined });
  assert.equal(
    missingFacts(record(silent)),
    '/DC0/vm/web: the guest does not tell its operating system and its addresses',
  );
  const lost = vmFacts({}, { networks: new NetworkIndex([], 'vc1') });
  assert.equal(missingFacts(record(lost)), '/DC0/vm/web: the network of 00:50:56:aa:bb:01 could not be found');
  const cardless = vmFacts({ 'config.hardware.device': [controller(), disk()] });
  assert.equal(missingFacts(record(cardless)), undefined);
});
