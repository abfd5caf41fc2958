import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decode, decodeReturn } from '../../../activities/vsphere/vim25/decode.ts';

const typed = (type: string, content: object | string = {}, prefix = 'xsi'): object => ({
  attributes: { [`${prefix}:type`]: type },
  ...(typeof content === 'string' ? { $value: content } : content),
});

const rows: readonly (readonly [string, string, unknown, unknown])[] = [
  ['a string', 'any', typed('xsd:string', 'text'), 'text'],
  ['an empty string', 'any', typed('xsd:string'), ''],
  ['a whole number', 'any', typed('xsd:int', '42'), 42],
  ['a long', 'any', typed('xsd:long', '4355096838144'), 4355096838144],
  ['a long beyond 2^53, which stays text', 'any', typed('xsd:long', '9223372036854775807'), '9223372036854775807'],
  ['true', 'any', typed('xsd:boolean', 'true'), true],
  ['false', 'any', typed('xsd:boolean', 'false'), false],
  ['a boolean as a digit', 'boolean', '1', true],
  ['a time, which stays text', 'any', typed('xsd:dateTime', '2026-01-02T03:04:05Z'), '2026-01-02T03:04:05Z'],
  [
    'a reference',
    'any',
    { attributes: { 'xsi:type': 'ManagedObjectReference', type: 'Folder' }, $value: 'group-1' },
    { type: 'Folder', value: 'group-1' },
  ],
  [
    'a reference that nothing declares',
    'any',
    { attributes: { type: 'Task' }, $value: 't-1' },
    { type: 'Task', value: 't-1' },
  ],
  ['an enum', 'any', typed('VirtualMachinePowerState', 'poweredOff'), 'poweredOff'],
  ['an empty list', 'any', typed('ArrayOfManagedObjectReference'), []],
  ['a list of one', 'any', typed('ArrayOfString', { string: 'Destroy_Task' }), ['Destroy_Task']],
  ['a list of several', 'any', typed('ArrayOfInt', { int: ['1', '2'] }), [1, 2]],
  [
    'a list of one reference',
    'any',
    typed('ArrayOfManagedObjectReference', {
      ManagedObjectReference: { attributes: { type: 'HostSystem' }, $value: 'host-1' },
    }),
    [{ type: 'HostSystem', value: 'host-1' }],
  ],
  [
    'extraConfig with a single entry',
    'any',
    typed('ArrayOfOptionValue', {
      OptionValue: { attributes: { 'xsi:type': 'OptionValue' }, key: 'k', value: typed('xsd:string', 'v') },
    }),
    [{ key: 'k', value: 'v' }],
  ],
  [
    'a type that nobody described, with its nested types',
    'any',
    typed('BrandNew', { name: 'n', part: typed('Part', { size: '3' }) }),
    { _type: 'BrandNew', name: 'n', part: { _type: 'Part', size: '3' } },
  ],
  [
    'a single element where the schema repeats',
    'any',
    typed('VirtualMachineSnapshotInfo', { rootSnapshotList: { name: 's', id: '1' } }),
    { _type: 'VirtualMachineSnapshotInfo', rootSnapshotList: [{ name: 's', id: 1, childSnapshotList: [] }] },
  ],
];

for (const [what, declared, node, expected] of rows) {
  test(`decodes ${what}`, () => assert.deepEqual(decode(declared, node), expected));
}

test('xsi:type is found under whatever prefix the server bound', () => {
  for (const prefix of ['xsi', '_XMLSchema-instance', 'ns1']) {
    assert.equal(decode('any', typed('xsd:int', '7', prefix)), 7, prefix);
  }
});

test('devices are plain objects with their type and their backing with its own', () => {
  const disk = {
    attributes: { 'xsi:type': 'VirtualDisk' },
    key: '2000',
    backing: typed('VirtualDiskFlatVer2BackingInfo', { fileName: '[ds] a/a.vmdk', thinProvisioned: 'true' }),
    capacityInKB: '1024',
    capacityInBytes: '1048576',
  };
  const card = { attributes: { 'xsi:type': 'VirtualVmxnet3' }, key: '4000', macAddress: '00:50:56:00:00:01' };
  assert.deepEqual(decode('any', typed('ArrayOfVirtualDevice', { VirtualDevice: [disk, card] })), [
    {
      _type: 'VirtualDisk',
      key: 2000,
      backing: { _type: 'VirtualDiskFlatVer2BackingInfo', fileName: '[ds] a/a.vmdk', thinProvisioned: true },
      capacityInKB: 1024,
      capacityInBytes: 1048576,
      iofilter: [],
      independentFilters: [],
    },
    { _type: 'VirtualVmxnet3', key: 4000, macAddress: '00:50:56:00:00:01' },
  ]);
});

test('the product list of a vApp configuration is a list even with one product', () => {
  const value = decode('any', typed('VmConfigInfo', { product: { key: '0', version: '1.2' } })) as {
    product: unknown;
  };
  assert.deepEqual(value.product, [{ key: 0, version: '1.2' }]);
});

test('a nil answer is undefined, an absent list is empty', () => {
  assert.equal(decodeReturn('ref?', null), undefined);
  assert.equal(decodeReturn('RetrieveResult?', { attributes: {} }), undefined);
  assert.deepEqual(decodeReturn('HttpNfcLeaseManifestEntry*', null), []);
});
