import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';

import fc from 'fast-check';

import { ByteReader } from '../../../../activities/vsphere/source/byte-reader.ts';
import { readVmdkStream } from '../../../../activities/vsphere/source/vmdk-stream.ts';
import { streamOptimizedVmdk } from '../../../support/vmdk-builder.ts';
import { qemuVmdk } from './sparse-vmdk.ts';

const grain = 64 * 1024;

async function* chunksOf(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length]!;
    yield await Promise.resolve(bytes.subarray(at, at + size));
    at += size;
  }
}

/** What a disk of this size has after the stream was copied onto zeros. */
async function copy(vmdk: Uint8Array, capacity: number, sizes: readonly number[] = [100_000]): Promise<Buffer> {
  const reader = new ByteReader(chunksOf(vmdk, sizes));
  const disk = Buffer.alloc(capacity);
  let end = 0;
  for await (const { start, data } of readVmdkStream(await reader.upTo(512), reader, capacity)) {
    assert.ok(start >= end, 'ascending');
    assert.ok(start + data.length <= capacity, 'on the disk');
    disk.set(data, start);
    end = start + data.length;
  }
  return disk;
}

/** A disk of which only the given grains are not zero. */
function imageOf(grains: number, filled: readonly number[], seed = 1): Buffer {
  const image = Buffer.alloc(grains * grain);
  let state = seed;
  for (const index of filled) {
    for (let at = index * grain; at < (index + 1) * grain; at += 16) {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      image.writeUInt32LE(state, at);
    }
  }
  return image;
}

const layouts = { VMware: (image: Buffer) => streamOptimizedVmdk(image), qemu: qemuVmdk };

for (const [name, build] of Object.entries(layouts)) {
  test(`${name}'s layout: any disk is read as it was written, whatever chunks it comes in`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }).chain((grains) =>
          fc.record({
            grains: fc.constant(grains),
            filled: fc.uniqueArray(fc.integer({ min: 0, max: grains - 1 }), { maxLength: grains }),
            seed: fc.integer({ min: 1, max: 1000 }),
            sizes: fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 5 }),
          }),
        ),
        async ({ grains, filled, seed, sizes }) => {
          const image = imageOf(
            grains,
            filled.toSorted((a, b) => a - b),
            seed,
          );
          assert.ok((await copy(build(image), image.length, sizes)).equals(image));
        },
      ),
      { numRuns: 40 },
    );
  });

  test(`${name}'s layout: a disk of several grain tables is read`, async () => {
    const image = imageOf(1100, [0, 511, 512, 1023, 1024, 1099]);
    assert.ok((await copy(build(image), image.length)).equals(image));
  });

  test(`${name}'s layout: wherever the stream ends early, it is an error`, async () => {
    const image = imageOf(6, [0, 2, 5]);
    const whole = build(image);
    for (let end = 0; end < whole.length; end += 401) {
      await assert.rejects(copy(whole.subarray(0, end), image.length), { name: 'VSphereError' }, `cut at ${end}`);
    }
    await assert.rejects(copy(whole.subarray(0, whole.length - 1), image.length), { code: 'TRANSPORT' });
  });

  test(`${name}'s layout: another capacity than that of the disk is refused`, async () => {
    const image = imageOf(2, [0]);
    await assert.rejects(copy(build(image), grain), {
      code: 'PROTOCOL',
      message: /it has 131072 bytes, the disk has 65536/,
    });
  });
}

test('an empty disk has no data', async () => {
  assert.ok((await copy(streamOptimizedVmdk(Buffer.alloc(2 * grain)), 2 * grain)).equals(Buffer.alloc(2 * grain)));
  assert.ok((await copy(qemuVmdk(Buffer.alloc(2 * grain)), 2 * grain)).equals(Buffer.alloc(2 * grain)));
});

test('a disk that ends within a grain is read up to its end', async () => {
  const image = Buffer.concat([imageOf(1, [0]), Buffer.alloc(4096, 7)]);
  assert.ok((await copy(qemuVmdk(image), image.length)).equals(image));
});

/** One change to a good file makes it a bad one. */
async function refused(change: (bytes: Buffer) => void, message: RegExp): Promise<void> {
  const image = imageOf(2, [0, 1]);
  const bytes = streamOptimizedVmdk(image);
  change(bytes);
  await assert.rejects(copy(bytes, image.length), { code: 'PROTOCOL', message });
}

const firstGrain = 128 * 512;

for (const [what, change, message] of [
  ['another magic', (bytes: Buffer) => bytes.write('COWD', 0), /magic KDMV/],
  ['an unknown version', (bytes: Buffer) => bytes.writeUInt32LE(4, 4), /version 4/],
  ['grains that are not compressed', (bytes: Buffer) => bytes.writeUInt32LE(3, 8), /flags are 0x3/],
  ['an unknown compression', (bytes: Buffer) => bytes.writeUInt16LE(0, 77), /compression 0/],
  ['grains of an odd size', (bytes: Buffer) => bytes.writeBigUInt64LE(100n, 20), /grains have 100 sectors/],
  ['grains too large for memory', (bytes: Buffer) => bytes.writeBigUInt64LE(4096n, 20), /grains have 4096 sectors/],
  ['tables of an odd size', (bytes: Buffer) => bytes.writeUInt32LE(100, 44), /tables have 100 entries/],
  ['a capacity beyond all numbers', (bytes: Buffer) => bytes.writeBigUInt64LE(2n ** 60n, 12), /too large/],
  ['a grain at an odd place', (bytes: Buffer) => bytes.writeBigUInt64LE(5n, firstGrain), /grain at 2560/],
  ['a grain beyond the end', (bytes: Buffer) => bytes.writeBigUInt64LE(1280n, firstGrain), /grain at 655360/],
  ['grains in the wrong order', (bytes: Buffer) => bytes.writeBigUInt64LE(128n, firstGrain), /comes after/],
  [
    'a grain that is larger than it can be',
    (bytes: Buffer) => bytes.writeUInt32LE(2 ** 20, firstGrain + 8),
    /compressed bytes/,
  ],
  [
    'data that does not decompress',
    (bytes: Buffer) => bytes.fill(0xff, firstGrain + 12, firstGrain + 30),
    /decompressed/,
  ],
  [
    'a grain of half the size',
    (bytes: Buffer) => {
      const packed = deflateSync(Buffer.alloc(grain / 2, 1));
      bytes.writeUInt32LE(packed.length, firstGrain + 8);
      packed.copy(bytes, firstGrain + 12);
    },
    /has 32768 bytes instead of 65536/,
  ],
  [
    'a grain that unpacks to more than its size',
    (bytes: Buffer) => {
      const packed = deflateSync(Buffer.alloc(2 * grain, 1));
      bytes.writeUInt32LE(packed.length, firstGrain + 8);
      packed.copy(bytes, firstGrain + 12);
    },
    /decompressed/,
  ],
  [
    'a footer of another disk',
    (bytes: Buffer) => bytes.writeBigUInt64LE(1n, bytes.length - 1024 + 12),
    /another capacity/,
  ],
  ['metadata of an unknown type', (bytes: Buffer) => bytes.writeUInt32LE(9, bytes.length - 512 + 12), /type 9/],
] as const) {
  test(`${what} is refused`, async () => {
    await refused((bytes) => void change(bytes), message);
  });
}

test('tables that name more grains than there are, are refused', async () => {
  const image = imageOf(2, [0]);
  const bytes = qemuVmdk(image);
  const directory = bytes.readUInt32LE(56);
  const table = bytes.readUInt32LE(directory * 512);
  bytes.writeUInt32LE(4711, table * 512 + 4);
  await assert.rejects(copy(bytes, image.length), { code: 'TRANSPORT' });
});

test('tables that lie behind each other in the wrong order are refused', async () => {
  const image = imageOf(1, [0]);
  const bytes = qemuVmdk(image);
  const directory = bytes.readUInt32LE(56);
  bytes.writeUInt32LE(1, directory * 512);
  await assert.rejects(copy(bytes, image.length), { code: 'PROTOCOL', message: /stands in front of/ });
});

test('what was read before the stream broke is delivered, then the error', async () => {
  const image = imageOf(4, [0, 1, 2, 3]);
  const whole = streamOptimizedVmdk(image);
  const half = firstGrain + (whole.length - firstGrain) / 2;
  const reader = new ByteReader(chunksOf(whole.subarray(0, half), [1000]));
  const starts: number[] = [];
  await assert.rejects(async () => {
    for await (const { start } of readVmdkStream(await reader.upTo(512), reader, image.length)) starts.push(start);
  });
  assert.ok(starts.length > 0 && starts.length < 4, String(starts));
});

test('only as much is taken from the source as the data needs', async () => {
  const image = imageOf(16, [...Array(16).keys()]);
  const whole = streamOptimizedVmdk(image);
  let taken = 0;
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < whole.length; at += 1024) {
      taken += 1024;
      yield await Promise.resolve(whole.subarray(at, at + 1024));
    }
  }
  const reader = new ByteReader(source());
  const stream = readVmdkStream(await reader.upTo(512), reader, image.length);
  await stream.next();
  assert.ok(taken < whole.length / 2, `${taken} of ${whole.length} bytes for the first of 16 grains`);
  await stream.return();
});
