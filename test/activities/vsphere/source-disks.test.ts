import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import fc from 'fast-check';

import type { VSphereError } from '../../../activities/vsphere/faults.ts';
import type { DiskReader, Extent } from '../../../activities/batch/disk-port.ts';
import { streamOptimizedVmdk } from '../../support/vmdk-builder.ts';
import { mib, sourceRig } from './source-rig.ts';

const rig = sourceRig({ inventory: { vm: 0, dc: 2 } });
const never = new AbortController().signal;
let serial = 0;

interface Prepared {
  readonly ref: string;
  readonly id: string;
  readonly snapshot: string;
  readonly disks: readonly {
    readonly name: string;
    readonly key: number;
    readonly capacity: number;
    readonly changeId: string;
  }[];
}

/** A VM with tracked disks of random content and a snapshot of ours. */
async function prepared(sizes: readonly number[] = [4 * mib]): Promise<Prepared> {
  serial += 1;
  const disks = sizes.map((size, index) => ({ size, seed: serial * 10 + index + 1 }));
  const vm = await rig.vm({ name: `d${serial}`, disks, settings: { tracking: true } });
  const source = rig.source();
  const { snapshot } = await source.createSnapshot(vm.id, 'mm-1');
  return { ...vm, snapshot, disks: await source.snapshotDisks(vm.id, snapshot) };
}

/** The whole disk as read by a reader, which is closed. */
async function contentOf(reader: DiskReader): Promise<Buffer> {
  const disk = Buffer.alloc(reader.capacity);
  try {
    for await (const { start, data } of reader.stream(never)) disk.set(data, start);
  } finally {
    await reader.close();
  }
  return disk;
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('the disks of a snapshot have names, sizes, keys and change ids; the next snapshot has later ones', async () => {
  const vm = await prepared([4 * mib, mib]);
  const source = rig.source();
  assert.deepEqual(
    vm.disks.map(({ name, capacity }) => [name, capacity]),
    [
      [`[LocalDS_0] d${serial}/d${serial}.vmdk`, 4 * mib],
      [`[LocalDS_0] d${serial}/d${serial}_1.vmdk`, mib],
    ],
  );
  const { snapshot } = await source.createSnapshot(vm.id, 'mm-2');
  const next = await source.snapshotDisks(vm.id, snapshot);
  next.forEach(({ changeId }, index) => {
    const before = vm.disks[index]!.changeId;
    assert.match(before, /^[0-9a-f-]{36}\/\d+$/);
    assert.equal(changeId.split('/')[0], before.split('/')[0]);
    assert.ok(Number(changeId.split('/')[1]) > Number(before.split('/')[1]));
  });
  assert.deepEqual(await source.snapshotDisks(vm.id, undefined), next, 'the VM itself is where its last snapshot is');
  assert.deepEqual(await source.snapshotDisks(vm.id, vm.snapshot), vm.disks, 'a snapshot keeps its own');
});

test('without change tracking the change ids are empty', async () => {
  const vm = await rig.vm({ name: 'untracked' });
  const [disk] = await rig.source().snapshotDisks(vm.id, undefined);
  assert.equal(disk?.changeId, '');
});

test('disks of a snapshot or a VM that is gone are an error', async () => {
  const vm = await prepared();
  const source = rig.source();
  await source.removeSnapshots(vm.id, 'mm-');
  await assert.rejects(source.snapshotDisks(vm.id, vm.snapshot), { faultType: 'ManagedObjectNotFound' });
  await assert.rejects(source.snapshotDisks('VirtualMachine:vm-999999', undefined), {
    faultType: 'ManagedObjectNotFound',
  });
});

test('changed areas are exactly what was written in between, in sectors', async () => {
  const vm = await prepared();
  const source = rig.source();
  const [disk] = vm.disks;
  const areas = async (to: string | undefined): Promise<readonly Extent[] | undefined> =>
    await source.changedAreas(vm.id, to, disk!, disk!.changeId);
  assert.deepEqual(await areas(undefined), []);
  await rig.control.writeDisk(vm.ref, 0, 1000, Buffer.from('hello'));
  await rig.control.fillDisk(vm.ref, 0, 2 * mib, 4096, 7);
  const { snapshot } = await source.createSnapshot(vm.id, 'mm-2');
  await rig.control.fillDisk(vm.ref, 0, 3 * mib, 512, 8);
  const first = [
    { start: 512, length: 512 },
    { start: 2 * mib, length: 4096 },
  ];
  assert.deepEqual(await areas(snapshot), first, 'up to the snapshot');
  assert.deepEqual(await areas(undefined), [...first, { start: 3 * mib, length: 512 }], 'up to now');
  assert.deepEqual(await areas(vm.snapshot), [], 'up to its own snapshot nothing changed');
});

test('any writes are covered byte for byte, however the answers are cut', async () => {
  const vm = await prepared([mib]);
  const source = rig.source();
  const write = fc.record({ start: fc.integer({ min: 0, max: mib - 1 }), length: fc.integer({ min: 1, max: 9000 }) });
  let from = vm.disks[0]!.changeId;
  let round = 1;
  await fc.assert(
    fc.asyncProperty(
      fc.array(write, { maxLength: 6 }),
      fc.constantFrom(0, 4096, 100 * 1024),
      async (writes, answerBytes) => {
        const sectors = new Set<number>();
        for (const { start, length } of writes) {
          const bytes = Math.min(length, mib - start);
          await rig.control.fillDisk(vm.ref, 0, start, bytes, round);
          for (let at = Math.floor(start / 512); at * 512 < start + bytes; at += 1) sectors.add(at);
        }
        await rig.control.limitAreaAnswers(answerBytes);
        round += 1;
        const { snapshot } = await source.createSnapshot(vm.id, `mm-r${round}`);
        const found = await source.changedAreas(vm.id, snapshot, vm.disks[0]!, from);
        const covered = found!.flatMap(({ start, length }) =>
          Array.from({ length: length / 512 }, (_, index) => start / 512 + index),
        );
        assert.deepEqual(
          covered,
          [...sectors].toSorted((a, b) => a - b),
        );
        from = (await source.snapshotDisks(vm.id, snapshot))[0]!.changeId;
      },
    ),
    { numRuns: 12 },
  );
});

test('what is allocated is what was ever written', async () => {
  const vm = await rig.vm({ name: 'allocated', disks: [{ size: 8 * mib }], settings: { tracking: true } });
  await rig.control.fillDisk(vm.ref, 0, mib, mib, 3);
  const source = rig.source();
  const { snapshot } = await source.createSnapshot(vm.id, 'mm-1');
  const [disk] = await source.snapshotDisks(vm.id, snapshot);
  assert.deepEqual(await source.changedAreas(vm.id, snapshot, disk!, '*'), [{ start: mib, length: mib }]);
});

test('a change id from before tracking began anew, of another disk, or of no form means the whole disk', async () => {
  const [vm, other] = [await prepared(), await prepared()];
  const source = rig.source();
  const [disk] = vm.disks;
  const areas = (since: string): ReturnType<typeof source.changedAreas> =>
    source.changedAreas(vm.id, undefined, disk!, since);
  assert.deepEqual(await areas(disk!.changeId), []);
  for (const since of ['', 'x', '52de/1', other.disks[0]!.changeId, `${disk!.changeId}0`]) {
    assert.equal(await areas(since), undefined, since);
  }
  await rig.control.resetTracking(vm.ref);
  assert.equal(await areas(disk!.changeId), undefined);
  await rig.control.changeVm(vm.ref, { tracking: false });
  assert.equal(await areas(disk!.changeId), undefined);
});

for (const [what, fault] of [
  ['a fault of the tracking file', { fault: 'FileFault' }],
  ['an invalid start offset', { fault: 'InvalidArgument', fields: { invalidProperty: 'startOffset' } }],
] as const) {
  test(`${what} means the whole disk, other faults are errors`, async () => {
    const vm = await prepared();
    const source = rig.source();
    const areas = (): ReturnType<typeof source.changedAreas> =>
      source.changedAreas(vm.id, vm.snapshot, vm.disks[0]!, vm.disks[0]!.changeId);
    await rig.control.addFault({ method: 'QueryChangedDiskAreas', count: 1, ...fault });
    assert.equal(await areas(), undefined);
    await rig.control.addFault({ method: 'QueryChangedDiskAreas', count: 1, fault: 'SystemError' });
    await assert.rejects(areas(), { faultType: 'SystemError' });
    assert.deepEqual(await areas(), []);
  });
}

test('a disk is exported as it is, from the flat file that its descriptor names', async () => {
  const vm = await prepared([4 * mib, 9 * mib + 1024]);
  const source = rig.source();
  for (const [index, disk] of vm.disks.entries()) {
    const reader = await source.openDisk(vm.id, vm.snapshot, disk);
    assert.deepEqual([reader.capacity, reader.changeId], [disk.capacity, disk.changeId]);
    assert.equal(digest(await contentOf(reader)), await rig.control.diskDigest(vm.ref, index));
  }
  assert.deepEqual(await rig.control.leases(), [], 'no lease is left');
});

test('a stream-optimised export of any disk is its content', async () => {
  const vm = await prepared([2 * mib, mib]);
  const image = Buffer.alloc(mib);
  image.fill('grain', 128 * 1024, 300 * 1024);
  await rig.control.replaceDescriptor(vm.ref, 1, streamOptimizedVmdk(image));
  const reader = await rig.source().openDisk(vm.id, vm.snapshot, vm.disks[1]!);
  assert.equal(digest(await contentOf(reader)), digest(image));
  const whole = await rig.source().openDisk(vm.id, vm.snapshot, vm.disks[0]!);
  assert.equal(digest(await contentOf(whole)), await rig.control.diskDigest(vm.ref, 0));
});

test('a disk can be read again with the same reader', async () => {
  const vm = await prepared();
  const reader = await rig.source().openDisk(vm.id, vm.snapshot, vm.disks[0]!);
  for await (const { start } of reader.stream(never)) {
    assert.equal(start, 0);
    break;
  }
  assert.equal(digest(await contentOf(reader)), await rig.control.diskDigest(vm.ref, 0));
});

for (const [what, vmdk, code] of [
  ['a truncated stream', (image: Buffer) => streamOptimizedVmdk(image).subarray(0, -1024), 'TRANSPORT'],
  [
    'a stream without its second half',
    (image: Buffer) => streamOptimizedVmdk(image).subarray(0, 700 * 1024),
    'TRANSPORT',
  ],
  [
    'a stream of another capacity',
    (image: Buffer) => streamOptimizedVmdk(image, { capacityBytes: 2 * mib }),
    'PROTOCOL',
  ],
  ['something else', () => Buffer.from('<html>not found</html>'.repeat(100)), 'PROTOCOL'],
  ['nothing', () => Buffer.alloc(0), 'PROTOCOL'],
  ['a descriptor of another size', () => Buffer.from('# Disk DescriptorFile\nRW 8 VMFS "x-flat.vmdk"\n'), 'PROTOCOL'],
  [
    'a descriptor without its file',
    () => Buffer.from('# Disk DescriptorFile\nRW 2048 VMFS "x-flat.vmdk"\n'),
    'PROTOCOL',
  ],
] as const) {
  test(`${what} is an error, and the lease is given up`, async () => {
    const vm = await prepared([mib]);
    const image = Buffer.alloc(mib);
    for (let at = 0; at < image.length; at += 4) image.writeUInt32LE(Math.imul(at, 2654435761) >>> 0, at);
    await rig.control.replaceDescriptor(vm.ref, 0, vmdk(image));
    await rig.control.clearCalls();
    const reader = await rig.source().openDisk(vm.id, vm.snapshot, vm.disks[0]!);
    await assert.rejects(contentOf(reader), { name: 'VSphereError', code });
    const { counts } = await rig.control.calls();
    assert.deepEqual([counts['HttpNfcLeaseAbort'], counts['HttpNfcLeaseComplete']], [1, undefined]);
    assert.deepEqual(await rig.control.leases(), []);
  });
}

test('a disk whose export lease is lost is an error, at once', async () => {
  const vm = await prepared();
  const reader = await rig.source().openDisk(vm.id, vm.snapshot, vm.disks[0]!);
  await rig.control.abortLeases();
  await assert.rejects(contentOf(reader), { code: 'LEASE_LOST' });
});

test('a lease that can not be had is an error, and nothing stays open', async () => {
  const vm = await prepared();
  const sessions = (await rig.control.sessions()).length;
  await rig.control.addFault({ method: 'ExportSnapshot', fault: 'InvalidState', count: 1 });
  await assert.rejects(rig.source().openDisk(vm.id, vm.snapshot, vm.disks[0]!), { faultType: 'InvalidState' });
  assert.equal((await rig.control.sessions()).length, sessions);
});

test('a disk that is not what it was when it was planned is not opened', async () => {
  const vm = await prepared();
  const [disk] = vm.disks;
  const open = (over: object): Promise<DiskReader> => rig.source().openDisk(vm.id, vm.snapshot, { ...disk!, ...over });
  await assert.rejects(open({ capacity: mib }), /has 4194304 bytes, not 1048576/);
  await assert.rejects(open({ name: '[LocalDS_0] other.vmdk' }), /the disk of the snapshot is/);
  await assert.rejects(open({ key: 1 }), /no such disk/);
  await rig.source().removeSnapshots(vm.id, 'mm-');
  await assert.rejects(open({}), { faultType: 'ManagedObjectNotFound' });
});

test('a caller that leaves ends the download and the lease', async () => {
  const vm = await prepared();
  const reader = await rig.source().openDisk(vm.id, vm.snapshot, vm.disks[0]!);
  const controller = new AbortController();
  const reason = new Error('cancelled');
  await assert.rejects(async () => {
    for await (const piece of reader.stream(controller.signal)) if (piece.start === 0) controller.abort(reason);
  }, reason);
  await reader.close();
  assert.deepEqual(await rig.control.leases(), []);
});

test('the loss of everybody else’s session does not disturb a disk that is being read', async () => {
  const vm = await prepared([9 * mib]);
  const source = rig.source();
  await source.power(vm.id);
  const own = (await rig.control.sessions()).map(({ key }) => key);
  const reader = await source.openDisk(vm.id, vm.snapshot, vm.disks[0]!);
  for (const key of own) await rig.control.terminateSessions(key);
  assert.equal(digest(await contentOf(reader)), await rig.control.diskDigest(vm.ref, 0));
});

test('parts of a disk are read, exactly', async () => {
  const vm = await prepared();
  const source = rig.source();
  const [disk] = vm.disks;
  const whole = await source.readRange(disk!, 0, 4 * mib);
  assert.equal(digest(whole), await rig.control.diskDigest(vm.ref, 0));
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 4 * mib - 1 }),
      fc.integer({ min: 0, max: 9000 }),
      async (start, length) => {
        const end = Math.min(start + length, 4 * mib);
        assert.deepEqual(await source.readRange(disk!, start, end - start), whole.slice(start, end));
      },
    ),
    { numRuns: 20 },
  );
});

test('what lies beyond the end of a disk, or on none, is an error', async () => {
  const vm = await prepared();
  const source = rig.source();
  const [disk] = vm.disks;
  await assert.rejects(source.readRange(disk!, 4 * mib, 512), { code: 'PROTOCOL', message: /the file ends before/ });
  await assert.rejects(source.readRange(disk!, 4 * mib - 512, 1024), { code: 'PROTOCOL', message: /has 512 bytes/ });
  const nobody = '[LocalDS_0] nobody/x.vmdk';
  await assert.rejects(source.readRange({ name: nobody }, 0, 512), /no datacenter has it/);
  await assert.rejects(
    source.readRange({ name: nobody, vm: vm.id }, 0, 512),
    (error: VSphereError) => error.info.httpStatus === 404,
  );
  await assert.rejects(source.readRange({ name: '[NoSuchDS] x.vmdk' }, 0, 512), /no datacenter has it/);
  await assert.rejects(source.readRange({ name: 'vml.02' }, 0, 512), /no file of a datastore/);
});

test('of two disks with one name in two datacenters the VM tells which is meant; without it neither is read', async () => {
  const source = rig.source();
  const here = await rig.vm({ name: 'twin', disks: [{ size: mib, seed: 1 }] });
  const there = await rig.vm({ name: 'twin', folder: '/DC1/vm', disks: [{ size: mib, seed: 2 }], nics: [] });
  const [disk] = await source.snapshotDisks(there.id, undefined);
  const read = async (vm?: string): Promise<string> =>
    digest(await source.readRange({ name: disk!.name, ...(vm === undefined ? {} : { vm }) }, 0, mib));
  assert.equal(await read(there.id), await rig.control.diskDigest(there.ref, 0));
  assert.equal(await read(here.id), await rig.control.diskDigest(here.ref, 0));
  assert.notEqual(await read(here.id), await read(there.id));
  await assert.rejects(read(), /several datacenters have one/);
  await rig.control.setTrackingFiles(there.ref, true);
  const verified = async (vm?: string): Promise<boolean | undefined> =>
    (await source.verifyBackgroundImport([disk!.name], vm === undefined ? {} : { vm }))[disk!.name];
  assert.deepEqual([await verified(here.id), await verified(there.id), await verified()], [false, true, undefined]);
  const { snapshot } = await source.createSnapshot(there.id, 'mm-1');
  const reader = await source.openDisk(there.id, snapshot, disk!);
  assert.equal(digest(await contentOf(reader)), await rig.control.diskDigest(there.ref, 0));
});

test('names with blanks and odd characters are asked for as they are', async () => {
  const vm = await rig.vm({ name: 'odd # name & +', disks: [{ size: mib, seed: 4 }] });
  const source = rig.source();
  const [disk] = await source.snapshotDisks(vm.id, undefined);
  assert.equal(digest(await source.readRange(disk!, 0, mib)), await rig.control.diskDigest(vm.ref, 0));
});

test('the change tracking file is looked for beside each disk', async () => {
  const vm = await prepared([mib, mib]);
  const source = rig.source();
  const names = vm.disks.map(({ name }) => name);
  const [first, second] = names as [string, string];
  assert.deepEqual(await source.verifyBackgroundImport(names), { [first]: false, [second]: false });
  await rig.control.setTrackingFiles(vm.ref, true);
  const there = { [first]: true, [second]: true };
  assert.deepEqual(await source.verifyBackgroundImport([...names, 'vml.02', '[NoSuchDS] a.vmdk']), {
    ...there,
    'vml.02': undefined,
    '[NoSuchDS] a.vmdk': undefined,
  });
  assert.deepEqual(await source.verifyBackgroundImport(names, { vm: vm.id }), there);
  await rig.control.setTrackingFiles(vm.ref, false);
  assert.deepEqual(await source.verifyBackgroundImport([first]), { [first]: false });
});
