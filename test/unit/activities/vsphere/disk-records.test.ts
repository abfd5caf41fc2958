import assert from 'node:assert/strict';
import { test } from 'node:test';

import { diskDevices, diskRecords } from '../../../../activities/vsphere/source/disk-records.ts';
import { controller, disk } from './builders.ts';

const one = (device: unknown): ReturnType<typeof diskDevices>[number] => diskDevices([controller(), device])[0]!;

test('nothing and devices that are no disks are no disks', () => {
  assert.deepEqual(diskDevices(undefined), []);
  assert.deepEqual(diskDevices([controller(), { _type: 'VirtualCdrom', key: 3000, backing: {} }]), []);
});

test('the base disk gives the name while there are snapshots, the top one the change id', () => {
  const device = disk(
    {},
    {
      fileName: '[ds1] web/web-000002.vmdk',
      changeId: '52de/7',
      parent: {
        fileName: '[ds1] web/web-000001.vmdk',
        changeId: '52de/6',
        parent: { fileName: '[ds1] web/web.vmdk', changeId: '52de/5' },
      },
    },
  );
  assert.equal(one(device).name, '[ds1] web/web.vmdk');
  assert.equal(one(device).changeId, '52de/7');
});

test('without change tracking the change id is empty', () => {
  assert.equal(one(disk()).changeId, '');
});

test('the capacity is taken in bytes, on old servers in KiB', () => {
  assert.equal(one(disk({ capacityInBytes: 2 ** 42 })).capacity, 2 ** 42);
  assert.equal(one(disk({ capacityInBytes: undefined, capacityInKB: 3 })).capacity, 3072);
});

for (const [what, device, expected] of [
  ['a plain disk', disk(), { shared: false, supported: true }],
  [
    'a persistent independent disk',
    disk({}, { diskMode: 'independent_persistent' }),
    { shared: false, supported: false },
  ],
  [
    'a nonpersistent independent disk',
    disk({}, { diskMode: 'independent_nonpersistent' }),
    { shared: false, supported: false },
  ],
  ['a nonpersistent disk', disk({}, { diskMode: 'nonpersistent' }), { shared: false, supported: false }],
  [
    'a raw device mapping',
    disk({}, { _type: 'VirtualDiskRawDiskMappingVer1BackingInfo', lunUuid: 'x' }),
    { shared: false, supported: false },
  ],
  [
    'a raw disk',
    disk(
      {},
      { _type: 'VirtualDiskRawDiskVer2BackingInfo', fileName: undefined, descriptorFileName: '[ds1] a/raw.vmdk' },
    ),
    { shared: false, supported: false },
  ],
  [
    'a partition of a raw disk',
    disk({}, { _type: 'VirtualDiskPartitionedRawDiskVer2BackingInfo' }),
    { shared: false, supported: false },
  ],
  ['a disk of several writers', disk({}, { sharing: 'sharingMultiWriter' }), { shared: true, supported: false }],
  ['a disk of one writer', disk({}, { sharing: 'sharingNone' }), { shared: false, supported: true }],
] as const) {
  test(`${what} is ${expected.supported ? 'supported' : 'not supported'}${expected.shared ? ' and shared' : ''}`, () => {
    const { shared, supported } = one(device);
    assert.deepEqual({ shared, supported }, expected);
  });
}

for (const sharedBus of ['virtualSharing', 'physicalSharing']) {
  test(`a disk on a bus with ${sharedBus} is shared, the one beside it on another bus is not`, () => {
    const devices = [
      controller({ sharedBus }),
      controller({ key: 1001, busNumber: '1' }),
      disk(),
      disk({ key: 2016, controllerKey: 1001 }),
    ];
    assert.deepEqual(
      diskDevices(devices).map(({ shared, supported }) => [shared, supported]),
      [
        [true, false],
        [false, true],
      ],
    );
  });
}

test('a raw disk without a file is named by its device, one without anything by its key', () => {
  const raw = { _type: 'VirtualDiskRawDiskVer2BackingInfo', fileName: undefined };
  assert.equal(one(disk({}, { ...raw, deviceName: 'vml.02' })).name, 'vml.02');
  assert.equal(one(disk({}, raw)).name, 'disk 2000');
});

test('the source never says that background import is verified', () => {
  assert.deepEqual(
    diskRecords([controller(), disk({}, { changeId: '52de/1' })]).map((record) => record.background_import_verified),
    [false],
  );
});

test('a change id in an order of its own: first the lowest key', () => {
  const keys = diskDevices([disk({ key: 32000 }), disk({ key: 2001 }), disk({ key: 2000 })]).map(({ key }) => key);
  assert.deepEqual(keys, [2000, 2001, 32000]);
});
