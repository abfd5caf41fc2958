import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { waitFor } from '../../support/wait-for.ts';
import { disk, failure, MiB, newInstance, useSim } from './builders.ts';

const rig = useSim();

const open = (index = 0, writable = true, target = rig.target) =>
  target.openDisk('default', 'web', index, { writable });
const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');
const onNbd = { path: /\/nbd$/ } as const;

describe('a disk', () => {
  test('is as large as the server made it, and reads as zeros', async () => {
    await rig.target.create(newInstance(0, { disks: [disk(0, { size: 5 * MiB + 512 })] }));
    const writer = await open();
    assert.equal(writer.capacity, 5 * MiB + 8_192);
    assert.equal(writer.isZeroed, true);
    assert.deepEqual(Buffer.from(await writer.read(0, writer.capacity)), Buffer.alloc(writer.capacity));
    await writer.close();
  });

  test('keeps what is written, in chunks larger than one request carries', async () => {
    const data = randomBytes(9 * MiB + 4_096);
    await rig.target.create(newInstance(0, { disks: [disk(0, { size: 10 * MiB })] }));
    const writer = await open();
    await writer.write(512, data);
    await writer.flush();
    assert.ok(data.equals(await writer.read(512, data.length)));
    await writer.close();
    assert.ok(data.equals(await rig.sim.readDisk('default', 'web', 0, 512, data.length)));
    const expected = Buffer.concat([Buffer.alloc(512), data, Buffer.alloc(10 * MiB - data.length - 512)]);
    assert.equal(await rig.sim.volumeDigest('default', 'web', 0), sha256(expected));
  });

  test('is the one with its place among the disks of the instance', async () => {
    await rig.target.create(newInstance(0, { disks: [disk(0), disk(1, { pool: 'fast' }), disk(2)] }));
    for (const index of [0, 1, 2]) {
      const writer = await open(index);
      await writer.write(0, Buffer.from(`disk ${index}`));
      await writer.close();
    }
    for (const index of [0, 1, 2])
      assert.equal((await rig.sim.readDisk('default', 'web', index, 0, 6)).toString(), `disk ${index}`);
  });

  test('is as a buffer would be after any writes, zeros and reads', async () => {
    const size = 64 * 1024;
    await rig.target.create(newInstance(0, { disks: [disk(0, { size })] }));
    const writer = await open();
    const model = Buffer.alloc(size);
    const range = fc
      .tuple(fc.nat({ max: size - 1 }), fc.nat({ max: 9_000 }))
      .map(([start, length]) => ({ start, length: Math.min(length, size - start) }));
    const step = fc.record({
      range,
      kind: fc.constantFrom('write', 'zero', 'read'),
      fill: fc.integer({ min: 1, max: 255 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        for (const { range, kind, fill } of steps) {
          const { start, length } = range;
          if (kind === 'write') {
            await writer.write(start, Buffer.alloc(length, fill));
            model.fill(fill, start, start + length);
          } else if (kind === 'zero') {
            await writer.zero(start, length);
            model.fill(0, start, start + length);
          } else assert.ok(model.subarray(start, start + length).equals(await writer.read(start, length)));
        }
      }),
      { numRuns: 40 },
    );
    assert.ok(model.equals(await writer.read(0, size)));
    await writer.close();
  });

  test('takes many writes at once', async () => {
    await rig.target.create(newInstance(0, { disks: [disk(0, { size: 2 * MiB })] }));
    const data = randomBytes(2 * MiB);
    const writer = await open();
    const parts = Array.from({ length: 64 }, (_, index) => index * 32_768);
    await Promise.all(parts.map((start) => writer.write(start, data.subarray(start, start + 32_768))));
    await writer.close();
    assert.equal(await rig.sim.volumeDigest('default', 'web', 0), sha256(data));
  });

  test('is flushed with what was begun before, also when nobody has waited for it', async () => {
    await rig.target.create(newInstance(0, { disks: [disk(0, { size: 16 * MiB })] }));
    const data = randomBytes(16 * MiB);
    const writer = await open();
    const writing = writer.write(0, data);
    await writer.flush();
    assert.ok(data.equals(await rig.sim.readDisk('default', 'web', 0, 0, data.length)));
    await writing;
    await writer.close();
  });

  test('of a server whose export has a name is found', async () => {
    rig.sim.settings.exportName = 'drive-1';
    await rig.target.create(newInstance());
    const writer = await open();
    await writer.write(0, Buffer.from('x'));
    await writer.close();
  });

  for (const [driver, config, isZeroed] of [
    ['zfs', {}, true],
    ['lvm', {}, true],
    ['lvm', { 'lvm.use_thinpool': 'false' }, false],
    ['lvmcluster', {}, false],
  ] as const)
    test(`of a pool of ${driver} ${JSON.stringify(config)} is known to be zeroed: ${isZeroed}`, async () => {
      rig.sim.addPool('odd', { driver, config });
      await rig.target.create(newInstance(0, { disks: [disk(0, { pool: 'odd' })] }));
      const writer = await open();
      assert.equal(writer.isZeroed, isZeroed);
      await writer.close();
    });

  test('refuses what is not on it, without asking the server', async () => {
    await rig.target.create(newInstance());
    const writer = await open();
    for (const attempt of [
      () => writer.write(4 * MiB - 1, Buffer.from('ab')),
      () => writer.read(-1, 1),
      () => writer.zero(4 * MiB, 1),
    ])
      await failure(attempt(), 'INVALID');
    await writer.write(4 * MiB - 2, Buffer.from('ab'));
    await writer.close();
  });
});

describe('opening a disk', () => {
  test('to write is BUSY while the instance runs, to read it is not', async () => {
    await rig.target.create(newInstance());
    await rig.target.start('default', 'web');
    const error = await failure(open(), 'BUSY');
    assert.match(error.message, /open disk 0 of web in project default.*running/);
    assert.match(error.next, /stop/);
    const reader = await open(0, false);
    assert.equal((await reader.read(0, 4)).length, 4);
    await failure(reader.write(0, Buffer.from('x')), 'DISK_CONNECTION');
    await reader.close();
  });

  test('to write twice at once is BUSY, after the first is closed it is not', async () => {
    await rig.target.create(newInstance());
    const first = await open();
    assert.match((await failure(open(0, true, rig.connect()), 'BUSY')).message, /resource busy/);
    await first.close();
    const closed = (): boolean => rig.sim.journal.events('nbd-closed').length > 0;
    await waitFor('the server to notice', closed);
    await (await open(0, true, rig.connect())).close();
  });

  test('that does not exist is NOT_FOUND', async () => {
    await failure(open(), 'NOT_FOUND');
    await rig.target.create(newInstance(1));
    assert.match((await failure(open(3), 'NOT_FOUND')).message, /no disk 3/);
  });

  test('at a server that can not serve disks is INVALID, and says what to do', async () => {
    await rig.target.create(newInstance());
    rig.sim.settings.extensions = [];
    assert.match((await failure(open(), 'INVALID')).next, /update the server/);
  });

  for (const [effect, code] of [
    [{ kind: 'status', status: 500, error: 'boom' }, 'SERVER'],
    [{ kind: 'status', status: 403, error: 'no' }, 'FORBIDDEN'],
    [{ kind: 'page', status: 404 }, 'PROTOCOL'],
    [{ kind: 'drop', when: 'before' }, 'UNREACHABLE'],
    [{ kind: 'nbd-cut', afterBytes: 5 }, 'DISK_CONNECTION'],
  ] as const)
    test(`that is answered by ${JSON.stringify(effect)} is ${code}`, async () => {
      await rig.target.create(newInstance());
      rig.sim.faults.add({ ...onNbd, effect });
      await failure(open(), code);
      await (await open()).close();
    });

  test('in a time that is over is TIMEOUT, and leaves the disk to others', async () => {
    await rig.target.create(newInstance());
    rig.sim.faults.add({ ...onNbd, effect: { kind: 'hold', until: new Promise(() => undefined) } });
    await failure(rig.target.openDisk('default', 'web', 0, { writable: true, timeoutMs: 200 }), 'TIMEOUT');
    await (await open()).close();
  });
});

describe('while a disk is open', () => {
  test('a connection that breaks fails the write and all that follows, and what was flushed stays', async () => {
    await rig.target.create(newInstance());
    rig.sim.faults.add({ ...onNbd, effect: { kind: 'nbd-cut', afterBytes: 2 * MiB } });
    const writer = await open();
    const data = randomBytes(MiB);
    await writer.write(0, data);
    await writer.flush();
    const error = await failure(writer.write(MiB, randomBytes(2 * MiB)), 'DISK_CONNECTION');
    assert.match(error.message, /disk 0 of web in project default.*must be written again/);
    await failure(writer.write(0, data), 'DISK_CONNECTION');
    await failure(writer.flush(), 'DISK_CONNECTION');
    await writer.close();
    const again = await open();
    assert.ok(data.equals(await again.read(0, MiB)));
    await again.close();
  });

  test('a full pool is NO_SPACE, and the disk can be closed', async () => {
    await rig.target.create(newInstance());
    rig.sim.faults.add({ ...onNbd, effect: { kind: 'nbd-error', errno: 28, fromWrite: 1 } });
    const writer = await open();
    await writer.write(0, Buffer.from('first'));
    await failure(writer.write(0, Buffer.from('second')), 'NO_SPACE');
    await failure(writer.zero(0, 512), 'NO_SPACE');
    assert.equal((await writer.read(0, 5)).toString(), 'first');
    await writer.close();
  });

  test('a bad block fails that write only', async () => {
    await rig.target.create(newInstance());
    rig.sim.faults.add({ ...onNbd, effect: { kind: 'nbd-error', errno: 5 } });
    const writer = await open();
    assert.match(
      (await failure(writer.write(512, Buffer.from('x')), 'DISK_CONNECTION')).message,
      /byte 512 failed with error 5/,
    );
    assert.equal((await writer.read(0, 1)).length, 1);
    await writer.close();
  });

  test('a server that goes down fails what is under way', async () => {
    await rig.target.create(newInstance());
    const writer = await open();
    await rig.sim.down();
    await failure(writer.read(0, 512), 'DISK_CONNECTION');
    await writer.close();
  });

  test('a caller that gives up ends it with its own reason, and the server takes the next writer', async () => {
    await rig.target.create(newInstance());
    const caller = new AbortController();
    const writer = await rig.target.openDisk('default', 'web', 0, { writable: true, signal: caller.signal });
    const writing = writer.write(0, randomBytes(4 * MiB));
    const reason = new Error('the activity is cancelled');
    caller.abort(reason);
    await assert.rejects(writing, (error) => error === reason);
    await assert.rejects(writer.flush(), (error) => error === reason);
    await writer.close();
    await waitFor('the server to notice', () => rig.sim.journal.events('nbd-closed').length > 0);
    await (await open()).close();
  });

  test('the instance can not be started', async () => {
    await rig.target.create(newInstance());
    const writer = await open();
    await failure(rig.target.start('default', 'web'), 'OPERATION_FAILED');
    await writer.close();
  });

  test('closing it twice is closing it once', async () => {
    await rig.target.create(newInstance());
    const writer = await open();
    await writer.close();
    await writer.close();
    await failure(writer.read(0, 1), 'DISK_CONNECTION');
  });
});
