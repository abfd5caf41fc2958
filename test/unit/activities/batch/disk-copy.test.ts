import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { DiskCopy, type CopyProgress, type DiskCopyOptions } from '../../../../activities/batch/copy/disk-copy.ts';
import { withHoles } from '../../../../activities/batch/copy/pieces.ts';
import { readAreas } from '../../../../activities/batch/copy/read-areas.ts';
import type { Extent } from '../../../../activities/batch/disk-port.ts';
import { MemoryDisk } from './memory-disk.ts';

const kib = 1024;
const mib = 1024 * kib;
const block = 64 * kib;

type Changes = Partial<DiskCopyOptions> & { readonly areas?: readonly Extent[]; readonly from?: number };

/** Copies an image as the activity would. */
async function copy(image: Buffer, disk: MemoryDisk, changes: Changes = {}): Promise<CopyProgress> {
  const { from = 0, areas = [{ start: 0, length: image.length }], ...options } = changes;
  const progress = { offset: from, bytesRead: 0, bytesWritten: 0 };
  const read = ({ start, length }: Extent): Promise<Uint8Array> =>
    Promise.resolve(image.subarray(start, start + length));
  await new DiskCopy({
    ...{ writer: disk, progress, holes: 'skip', compares: false, isResumed: false },
    pieces: withHoles(areas, readAreas(areas, read, from), from),
    check: () => Promise.resolve(),
    ...options,
  }).run();
  return progress;
}

/** Random where the blocks are named, zeros elsewhere. */
function imageOf(size: number, blocks: readonly number[]): Buffer {
  const image = Buffer.alloc(size);
  for (const index of blocks) {
    const bytes = randomBytes(Math.min(block, Math.max(size - index * block, 0)));
    image.set(bytes, index * block);
  }
  return image;
}

describe('the copy of a disk', () => {
  for (const [what, size, blocks] of [
    ['full', 9 * mib, Array.from({ length: 144 }, (_, index) => index)],
    ['one sector over a piece', 4 * mib + 512, Array.from({ length: 65 }, (_, index) => index)],
    ['sparse', 9 * mib, [0, 1, 63, 64, 70, 143]],
    ['empty', 5 * mib, []],
  ] as const)
    test(`is the same bytes: ${what}`, async () => {
      const image = imageOf(size, blocks);
      const disk = new MemoryDisk(size);
      const progress = await copy(image, disk);
      assert.ok(disk.content.equals(image));
      assert.deepEqual([progress.offset, progress.bytesRead], [size, size]);
      assert.equal(progress.bytesWritten, disk.bytesWritten);
      assert.ok(disk.flushes > 0);
    });

  test('sends no hole where the target reads as zeros, and zeros it where it does not', async () => {
    const image = imageOf(4 * mib, [3, 40]);
    const fresh = new MemoryDisk(image.length);
    await copy(image, fresh);
    assert.deepEqual([fresh.bytesWritten, fresh.zeroed.length], [2 * block, 0]);
    const older = new MemoryDisk(image.length);
    older.content.fill(7);
    await copy(image, older, { holes: 'zero', compares: true });
    assert.ok(older.content.equals(image));
    assert.equal(older.bytesWritten, 2 * block);
  });

  test('that finds nothing to send is proven from time to time all the same', async () => {
    const data = randomBytes(4 * mib);
    const pieces = 600;
    const same = new MemoryDisk(4 * mib);
    const writer = Object.assign(same, { read: () => Promise.resolve(data) });
    const progress = { offset: 0, bytesRead: 0, bytesWritten: 0 };
    const offsets = new Set<number>();
    const read = async function* () {
      for (let piece = 0; piece < pieces; piece += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        offsets.add(progress.offset);
        yield { start: piece * data.length, length: data.length, data };
      }
    };
    const check = (): Promise<void> => Promise.resolve();
    await new DiskCopy({
      writer,
      progress,
      holes: 'zero',
      compares: true,
      isResumed: false,
      pieces: read(),
      check,
    }).run();
    assert.deepEqual([progress.bytesWritten, progress.offset], [0, pieces * data.length]);
    assert.deepEqual([...offsets], [0, 1_024 * mib, 2_048 * mib]);
  });

  test('over older content sends only the blocks that differ', async () => {
    const image = imageOf(8 * mib, [...Array(128).keys()]);
    const disk = new MemoryDisk(image.length);
    disk.content.set(image);
    disk.content[5 * block + 9] = (disk.content[5 * block + 9] ?? 0) ^ 1;
    disk.content[100 * block] = (disk.content[100 * block] ?? 0) ^ 1;
    await copy(image, disk, { holes: 'zero', compares: true });
    assert.ok(disk.content.equals(image));
    assert.deepEqual(disk.written, [
      { start: 5 * block, length: block },
      { start: 100 * block, length: block },
    ]);
  });

  test('of changed areas touches nothing else', async () => {
    const image = imageOf(6 * mib, [1, 2, 50]);
    const disk = new MemoryDisk(image.length);
    disk.content.fill(9);
    const areas = [
      { start: block, length: block },
      { start: 50 * block - 512, length: block + 1024 },
    ];
    await copy(image, disk, { areas, holes: 'zero' });
    const wanted = Buffer.alloc(image.length, 9);
    for (const { start, length } of areas) wanted.set(image.subarray(start, start + length), start);
    assert.ok(disk.content.equals(wanted));
  });

  test('a bit that is flipped on the way is found: what was proven before stays proven', async () => {
    const image = imageOf(130 * mib, [...Array(2080).keys()]);
    const disk = new MemoryDisk(image.length);
    disk.onWrite = (start, data) => {
      if (start <= 70 * mib && start + data.length > 70 * mib)
        data[70 * mib - start] = 0xff ^ (data[70 * mib - start] ?? 0);
    };
    const progress = { offset: 0, bytesRead: 0, bytesWritten: 0 };
    await assert.rejects(copy(image, disk, { progress }), /don't read as they were written/);
    assert.equal(progress.offset, 64 * mib);
    disk.onWrite = () => undefined;
    await copy(image, disk, { progress, from: progress.offset, isResumed: true });
    assert.ok(disk.content.equals(image));
  });

  test('a write that fails ends it with that failure, and nothing is under way any more', async () => {
    const image = imageOf(20 * mib, [...Array(320).keys()]);
    const disk = new MemoryDisk(image.length);
    disk.onWrite = (start) => {
      if (start >= 8 * mib) throw new Error('no space');
    };
    await assert.rejects(copy(image, disk), /no space/);
    const { length } = disk.written;
    await new Promise(setImmediate);
    assert.equal(disk.written.length, length);
  });

  test('an attempt that lost its place writes nothing more', async () => {
    const image = imageOf(70 * mib, [...Array(1120).keys()]);
    const disk = new MemoryDisk(image.length);
    let asked = 0;
    const check = (): Promise<void> => (++asked === 2 ? Promise.reject(new Error('fenced')) : Promise.resolve());
    await assert.rejects(copy(image, disk, { check }), /fenced/);
    assert.equal(disk.bytesWritten, 64 * mib);
    assert.equal(disk.flushes, 0);
  });

  test('killed anywhere and begun again it is the same bytes, and little is sent twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat({ max: 31 }), { maxLength: 32 }),
        fc.array(fc.nat({ max: 40 }), { maxLength: 4 }),
        async (blocks, kills) => {
          const image = imageOf(2 * mib, blocks);
          const disk = new MemoryDisk(image.length);
          let progress = { offset: 0, bytesRead: 0, bytesWritten: 0 };
          for (const [attempt, writes] of [...kills, Number.POSITIVE_INFINITY].entries()) {
            let left = writes;
            disk.onWrite = () => {
              if (left-- <= 0) throw new Error('killed');
            };
            progress = { ...progress, offset: Math.min(progress.offset, image.length) };
            const options = { progress, from: progress.offset, isResumed: attempt > 0 };
            await copy(image, disk, options).catch((error: unknown) => assert.match(String(error), /killed/));
          }
          assert.ok(disk.content.equals(image));
          assert.ok(disk.bytesWritten <= new Set(blocks).size * block, 'a block that was written is not sent again');
        },
      ),
      { numRuns: 40 },
    );
  });
});
