import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  mergeRecord,
  syncRights,
  type LiveEntry,
  type Membership,
} from '../../../workflows/domain/batch/sync-merge.ts';
import type { BatchStatus, EntryStatus, InstanceRecord } from '../../../workflows/domain/batch/records.ts';
import { aDisk, aNic, aVm, dataDisk, gib } from './record-builders.ts';

const inBatch = (status: BatchStatus, isExcluded = false, batch = 'b1'): Membership => ({ batch, status, isExcluded });
const entryIs = (status: EntryStatus, batch = 'b1'): LiveEntry => ({ batch, status });

type Row = readonly [
  title: string,
  memberships: readonly Membership[],
  entry: LiveEntry | undefined,
  mayUpdate: boolean,
  ifMissing: 'forget' | 'keep' | 'conflict',
];

const rows: readonly Row[] = [
  ['in no batch', [], undefined, true, 'forget'],
  ['batch/S11 in a Defined batch', [inBatch('Defined')], undefined, true, 'keep'],
  ['in a Stopped batch', [inBatch('Stopped')], undefined, true, 'keep'],
  ['in a Finished batch', [inBatch('Finished')], undefined, true, 'keep'],
  ['in a Defined batch, excluded there', [inBatch('Defined', true)], undefined, true, 'forget'],
  ['excluded in one of two idle batches', [inBatch('Defined', true), inBatch('Stopped')], undefined, true, 'keep'],
  [
    'excluded in both of two idle batches',
    [inBatch('Defined', true), inBatch('Stopped', true)],
    undefined,
    true,
    'forget',
  ],
  ['batch/S12 in a Running batch', [inBatch('Running')], undefined, false, 'keep'],
  ['in a batch in Error', [inBatch('Error')], undefined, false, 'keep'],
  ['in an idle and in a Running batch', [inBatch('Defined'), inBatch('Running')], undefined, false, 'keep'],
  ['in a Running batch, excluded there', [inBatch('Running', true)], undefined, true, 'forget'],
  [
    'batch/S09 Blocked in a Running batch, excluded there',
    [inBatch('Running', true)],
    entryIs('Blocked'),
    true,
    'conflict',
  ],
  ['Waiting in a Running batch, excluded there', [inBatch('Running', true)], entryIs('Waiting'), true, 'conflict'],
  ['Blocked by its target only', [inBatch('Running')], entryIs('Blocked'), false, 'keep'],
  [
    'excluded in one of two Running batches',
    [inBatch('Running', true), inBatch('Running', false, 'b2')],
    entryIs('Blocked'),
    false,
    'keep',
  ],
  [
    'excluded in both of two Running batches',
    [inBatch('Running', true), inBatch('Error', true, 'b2')],
    entryIs('Blocked'),
    true,
    'conflict',
  ],
  ['with a live entry in a Stopped batch', [inBatch('Stopped', true)], entryIs('Blocked'), false, 'keep'],
  [
    'with a live entry in a Stopped batch, excluded in a Running one',
    [inBatch('Stopped', true), inBatch('Running', true, 'b2')],
    entryIs('Blocked'),
    false,
    'keep',
  ],
];

for (const [title, memberships, entry, mayUpdate, ifMissing] of rows) {
  test(`${title}: ${mayUpdate ? 'updated' : 'not updated'}, when missing: ${ifMissing}`, () => {
    const rights = syncRights(memberships, entry);
    assert.deepEqual([rights.mayUpdate, rights.ifMissing], [mayUpdate, ifMissing]);
    assert.notEqual(rights.why, '');
  });
}

test('an entry that has begun is read anew by its own final checks only, however excluded it is', () => {
  const statuses: readonly EntryStatus[] = [
    'Creating new VM',
    'Performing background import tasks',
    'Idle',
    'Performing final import tasks',
    'Performing post-import tasks',
    'Worker tasks complete',
    'Conflict',
  ];
  for (const status of statuses) {
    const rights = syncRights([inBatch('Running', true)], entryIs(status));
    assert.deepEqual([rights.mayUpdate, rights.ifMissing], [false, 'keep'], status);
    assert.match(rights.why, /b1/);
  }
});

test('what may be updated is told apart by why', () => {
  assert.equal(syncRights([]).why, 'it is in no batch');
  assert.match(syncRights([inBatch('Defined')]).why, /none of its batches/);
  assert.match(syncRights([inBatch('Running', true)]).why, /b1/);
});

test('what the source says is followed', () => {
  const fresh = aVm({
    location: '/dc1/vm/moved/web-03',
    name: 'web-04',
    description: 'new',
    snapshots: [{ name: 's' }],
    cpus: 4,
    memory: 8 * gib,
    legacy_boot: false,
    secure_boot: true,
    tpm: true,
    running: false,
    config: { 'tag.env': 'test' },
    host: 'HostSystem:host-2',
    uuid: '00000000-0000-0000-0000-000000000001',
    last_update_from_source: '2026-03-02T00:00:00.000Z',
  });
  assert.deepEqual(mergeRecord(aVm(), fresh), fresh);
});

const guests: readonly Partial<InstanceRecord>[] = [
  { os: '' },
  { os_description: '' },
  { os_template: '' },
  { architecture: '' },
  { nics: [aNic({ ipv4_address: '' })] },
];

for (const silent of guests) {
  test(`a guest that does not say ${Object.keys(silent).join()} keeps what it said before`, () => {
    assert.deepEqual(mergeRecord(aVm(), aVm(silent)), aVm());
  });
}

test('what runs in the VM is told from what is known after all', () => {
  const off = aVm({ os: '', distribution: 'other', distribution_version: '' });
  assert.equal(mergeRecord(aVm(), off).distribution_version, '22.04');
  assert.equal(mergeRecord(aVm(), aVm({ os: 'Debian GNU/Linux 12' })).distribution, 'debian');
});

test('an architecture that nobody has ever said is x86_64', () => {
  assert.equal(mergeRecord(aVm({ architecture: '' }), aVm({ architecture: '' })).architecture, 'x86_64');
  assert.equal(mergeRecord(aVm({ architecture: 'aarch64' }), aVm({ architecture: '' })).architecture, 'aarch64');
});

test('addresses stay with a NIC on its network and with no other', () => {
  const before = aVm({ nics: [aNic({ ipv6_address: 'fd00::1' })] });
  const nicAfter = (nic: Parameters<typeof aNic>[0]) => {
    const merged = mergeRecord(before, aVm({ nics: [aNic({ ipv4_address: '', ...nic })] })).nics[0];
    return [merged?.uuid, merged?.ipv4_address, merged?.ipv6_address];
  };
  assert.deepEqual(nicAfter({}), ['net-1', '10.1.0.10', 'fd00::1']);
  assert.deepEqual(nicAfter({ ipv4_address: '10.1.0.99' }), ['net-1', '10.1.0.99', 'fd00::1']);
  assert.deepEqual(nicAfter({ uuid: '' }), ['net-1', '10.1.0.10', 'fd00::1']);
  assert.deepEqual(nicAfter({ location: '/dc1/network/renamed' }), ['net-1', '10.1.0.10', 'fd00::1']);
  assert.deepEqual(nicAfter({ uuid: 'net-2', location: '/dc1/network/dmz' }), ['net-2', '', '']);
  assert.deepEqual(nicAfter({ uuid: '', location: '/dc1/network/dmz' }), ['', '', '']);
  assert.deepEqual(nicAfter({ hardware_address: '00:50:56:00:00:99' }), ['net-1', '', '']);
});

const verified = (disks: InstanceRecord['disks']): boolean[] => disks.map((disk) => disk.background_import_verified);
/** As a source delivers it: nothing is verified. */
const read = (over: Parameters<typeof aDisk>[0] = {}) => aDisk({ background_import_verified: false, ...over });
const second = { name: dataDisk, capacity: 2 * gib };

test('batch/S14 what was verified stays so, disk by disk', () => {
  const after = (...disks: InstanceRecord['disks']): boolean[] => verified(mergeRecord(aVm(), aVm({ disks })).disks);
  assert.deepEqual(after(read(), read(second)), [true, true]);
  assert.deepEqual(after(read(), read(second), read({ name: 'third' })), [true, true, false]);
  assert.deepEqual(after(read(second)), [true]);
  assert.deepEqual(after(read(second), read()), [true, true]);
  assert.deepEqual(after(read(), read({ ...second, capacity: 3 * gib })), [true, false]);
});

test('batch/S15 tracking that is switched off or on at the source makes nothing verified', () => {
  const off = mergeRecord(aVm(), aVm({ background_import: false, disks: [read(), read(second)] }));
  assert.deepEqual(verified(off.disks), [false, false]);
  const on = mergeRecord(off, aVm({ disks: [read(), read(second)] }));
  assert.deepEqual(verified(on.disks), [false, false]);
  const none = aVm({ background_import: false, disks: [read()] });
  assert.deepEqual(verified(mergeRecord(none, aVm({ disks: [aDisk()] })).disks), [false]);
});

test('batch/S14 background import that was taken back for one disk takes nothing from the others', () => {
  const third = read({ name: 'third' });
  const without = aVm({ background_import: false, disks: [...aVm().disks, third] });
  assert.deepEqual(verified(mergeRecord(without, aVm({ disks: [read(), read(second), third] })).disks), [
    true,
    true,
    false,
  ]);
});

test('reading the same once more changes nothing', () => {
  const disk = fc.record({ name: fc.constantFrom('a', 'b', 'c'), capacity: fc.constantFrom(1, 2), flag: fc.boolean() });
  const vm = fc
    .record({
      os: fc.constantFrom('', 'Ubuntu 22.04', 'Windows 10'),
      architecture: fc.constantFrom('', 'aarch64'),
      background_import: fc.boolean(),
      ipv4: fc.constantFrom('', '10.1.0.10', '10.1.0.11'),
      disks: fc.uniqueArray(disk, { selector: ({ name }) => name }),
    })
    .map(({ ipv4, disks, ...rest }) =>
      aVm({
        ...rest,
        nics: [aNic({ ipv4_address: ipv4 })],
        disks: disks.map(({ flag, ...one }) => aDisk({ ...one, background_import_verified: flag })),
      }),
    );
  fc.assert(
    fc.property(vm, vm, (previous, fresh) => {
      const once = mergeRecord(previous, fresh);
      assert.deepEqual(mergeRecord(once, fresh), once);
    }),
  );
});
