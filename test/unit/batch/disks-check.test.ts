import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baselineOf } from '../../../workflows/domain/batch/baseline.ts';
import { disksCheck, disksIdentity } from '../../../workflows/domain/batch/disks-check.ts';
import type { DiskRecord } from '../../../workflows/domain/batch/records.ts';
import { aDisk, aVm, dataDisk, gib, rootDisk } from './record-builders.ts';

const root = aDisk();
const data = aDisk({ name: dataDisk, capacity: 2 * gib });
const rawMapped = aDisk({ name: '[ds1] rdm.vmdk', supported: false });
const placed = baselineOf(aVm({ disks: [root, data] }));

const rows: readonly (readonly [
  title: string,
  now: readonly DiskRecord[],
  expected: readonly [place: number, expected: string, found: string] | undefined,
])[] = [
  ['the same disks', [root, data], undefined],
  ['the same disks, not verified', [root, { ...data, background_import_verified: false }], undefined],
  ['a disk added', [root, data, aDisk({ name: 'new' })], [3, 'no such disk', `new, ${gib} bytes`]],
  ['a disk removed', [root], [2, `${dataDisk}, ${2 * gib} bytes`, 'no such disk']],
  ['all disks removed', [], [1, `${rootDisk}, ${gib} bytes`, 'no such disk']],
  ['the first disk removed', [data], [1, `${rootDisk}, ${gib} bytes`, `${dataDisk}, ${2 * gib} bytes`]],
  ['another order', [data, root], [1, `${rootDisk}, ${gib} bytes`, `${dataDisk}, ${2 * gib} bytes`]],
  [
    'a disk grown',
    [root, { ...data, capacity: 3 * gib }],
    [2, `${dataDisk}, ${2 * gib} bytes`, `${dataDisk}, ${3 * gib} bytes`],
  ],
  [
    'a disk grown by a byte',
    [{ ...root, capacity: gib + 1 }, data],
    [1, `${rootDisk}, ${gib} bytes`, `${rootDisk}, ${gib + 1} bytes`],
  ],
  ['a disk exchanged', [{ ...root, name: 'other' }, data], [1, `${rootDisk}, ${gib} bytes`, `other, ${gib} bytes`]],
];

for (const [title, now, expected] of rows) {
  test(`batch/S31 ${title}: ${expected === undefined ? 'goes on' : `disk ${expected[0]} is told`}`, () => {
    const before = disksCheck('web-03', placed, now);
    const final = disksIdentity('web-03', placed, now);
    assert.deepEqual([before?.expected, before?.found], [expected?.[1], expected?.[2]]);
    assert.deepEqual([final?.expected, final?.found], [expected?.[1], expected?.[2]]);
    if (expected === undefined) return;
    assert.equal(before?.code, 'DISKS_CHANGED');
    assert.equal(final?.code, 'IDENTITY_DISKS');
    assert.match(before.message, new RegExp(`^disk ${expected[0]} of web-03 `));
    assert.match(final.message, new RegExp(`^disk ${expected[0]} of web-03 `));
  });
}

test('whether a disk is shared or can be copied is part of its identity', () => {
  assert.equal(
    disksIdentity('web-03', placed, [root, { ...data, shared: true }])?.found,
    `${dataDisk}, ${2 * gib} bytes, shared`,
  );
  assert.equal(
    disksIdentity('web-03', placed, [{ ...root, supported: false }, data])?.found,
    `${rootDisk}, ${gib} bytes, can't be copied`,
  );
});

test('a disk that can not be copied may be missing in a snapshot, but not be another one there', () => {
  const baseline = baselineOf(aVm({ disks: [root, rawMapped, data] }));
  assert.equal(disksCheck('web-03', baseline, [root, data]), undefined);
  assert.equal(disksCheck('web-03', baseline, [root, rawMapped, data]), undefined);
  assert.equal(disksCheck('web-03', baseline, [root, { ...rawMapped, capacity: 5 }, data])?.code, 'DISKS_CHANGED');
  assert.equal(disksIdentity('web-03', baseline, [root, data])?.code, 'IDENTITY_DISKS');
});

test('the same disk twice in a snapshot is one too many', () => {
  assert.equal(disksCheck('web-03', placed, [root, data, data])?.code, 'DISKS_CHANGED');
});
