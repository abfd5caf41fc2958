import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { LeaseDeviceUrl } from '../../../../activities/vsphere/port.ts';
import { exportedDisk } from '../../../../activities/vsphere/source/export-devices.ts';
import { controller, disk } from './builders.ts';

const file = (key: string, url = `https://esx/${key}`, isDisk = true): LeaseDeviceUrl => ({
  key,
  importKey: '',
  url,
  isDisk,
});
const url = (devices: unknown, key: number, files: readonly LeaseDeviceUrl[]): string =>
  exportedDisk(devices, key, files).url;

const scsi = [
  controller(),
  controller({ key: 1001, busNumber: '1' }),
  disk(),
  disk({ key: 2001, unitNumber: 1 }),
  disk({ key: 2016, controllerKey: 1001 }),
];

test('a file is told by controller, bus and unit, whatever the order', () => {
  const files = [
    file('/vm-1/ParaVirtualSCSIController1:0'),
    file('/vm-1/ParaVirtualSCSIController0:1'),
    file('/vm-1/ParaVirtualSCSIController0:0'),
    file('/vm-1/nvram', 'https://esx/nvram', false),
  ];
  assert.equal(url(scsi, 2000, files), 'https://esx//vm-1/ParaVirtualSCSIController0:0');
  assert.equal(url(scsi, 2001, files), 'https://esx//vm-1/ParaVirtualSCSIController0:1');
  assert.equal(url(scsi, 2016, files), 'https://esx//vm-1/ParaVirtualSCSIController1:0');
});

test('where the name tells nothing, the order does', () => {
  const files = [file('/vm-1/cdrom:0', 'c', false), file('/vm-1/disk:0', 'a'), file('/vm-1/disk:1', 'b')];
  const devices = [disk({ key: 2001, unitNumber: 1 }), controller(), disk()];
  assert.equal(url(devices, 2001, files), 'a');
  assert.equal(url(devices, 2000, files), 'b');
});

const mapping = (message: RegExp): object => ({ code: 'LEASE_MAPPING', message });

test('what is not sure is refused', () => {
  const two = [controller(), disk(), disk({ key: 2001, unitNumber: 1 })];
  assert.throws(() => url(two, 2999, [file('disk:0')]), mapping(/no such disk/));
  assert.throws(() => url(two, 2000, [file('disk:0')]), mapping(/1 files for 2 disks/));
  assert.throws(() => url(two, 2000, [file('disk:0', 'same'), file('disk:1', 'same')]), mapping(/the same file/));
  const elsewhere = [file('/vm-1/ParaVirtualSCSIController0:5'), file('/vm-1/ParaVirtualSCSIController0:1')];
  assert.throws(() => url(two, 2000, elsewhere), mapping(/none of its files/));
});

test('an error never tells the address, which is a capability', () => {
  const files = [file('disk:0', 'https://esx/secret'), file('disk:1', 'https://esx/secret')];
  const two = [disk(), disk({ key: 2001 })];
  assert.throws(
    () => url(two, 2000, files),
    (error: Error) => !error.message.includes('secret'),
  );
});
