import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, open, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { NbdClient } from '../../../activities/incus/nbd-client.ts';
import { NbdReplyError } from '../../../activities/incus/nbd-protocol.ts';
import { assertSameDisk, nbdCopy } from '../../stack/qemu-img.ts';
import { startQemuNbd, type QemuNbd, type QemuNbdOptions } from '../../stack/qemu-nbd.ts';
import { MiB } from './builders.ts';

/** What qemu answers to all that it refuses. */
const invalid = 22;

let dir = '';
let image = '';
let expected = '';
const open_: { clients: NbdClient[]; servers: QemuNbd[] } = { clients: [], servers: [] };

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmflow-nbd-'));
  image = join(dir, 'disk.img');
  expected = join(dir, 'expected.img');
});
afterEach(async () => {
  await Promise.all(open_.clients.map((client) => client.close()));
  await Promise.all(open_.servers.map((server) => server.stop()));
  open_.clients = [];
  open_.servers = [];
});
after(() => rm(dir, { recursive: true, force: true }));

/** A server of an image that has this in it, zeros up to its size. */
async function serve(size: number, more: Partial<QemuNbdOptions> = {}, content?: Uint8Array): Promise<QemuNbd> {
  await writeFile(image, content ?? '');
  await truncate(image, size);
  return restart(more);
}

async function restart(more: Partial<QemuNbdOptions> = {}): Promise<QemuNbd> {
  const server = await startQemuNbd({ dir, image, ...more });
  open_.servers.push(server);
  return server;
}

async function clientOf(server: QemuNbd): Promise<NbdClient> {
  const client = await NbdClient.open(await server.connect());
  open_.clients.push(client);
  return client;
}

/** As qemu-img and nbdcopy see the disk, it has just this. */
async function assertHas(server: QemuNbd, content: Uint8Array): Promise<void> {
  await writeFile(expected, content);
  await assertSameDisk(server.uri, expected);
  const copy = join(dir, 'copy.img');
  await nbdCopy(server.uri, copy);
  await assertSameDisk(copy, expected);
}

async function failsWith(attempt: Promise<unknown>, errno: number): Promise<NbdReplyError> {
  const error = await attempt.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof NbdReplyError, String(error));
  assert.equal(error.errno, errno, error.message);
  return error;
}

describe("a disk of qemu's NBD server", () => {
  test('says what it is and can do', async () => {
    const { disk } = await clientOf(await serve(5 * MiB));
    assert.equal(disk.size, 5 * MiB);
    assert.equal(disk.isStructured, true);
    assert.deepEqual([disk.isReadOnly, disk.canFlush, disk.canTrim, disk.canWriteZeroes], [false, true, true, true]);
    assert.equal(disk.blocks.maximum, 32 * MiB);
  });

  test('has what was written, zeroed and flushed, at odd places too', async () => {
    const server = await serve(40 * MiB, { clients: 2 });
    const client = await clientOf(server);
    const model = Buffer.alloc(40 * MiB);
    for (const [start, length] of [
      [0, 9 * MiB + 7],
      [10 * MiB - 3, 12 * MiB],
      [40 * MiB - 513, 513],
    ] as const) {
      const data = randomBytes(length);
      await client.write(start, data);
      data.copy(model, start);
    }
    for (const [start, length] of [
      [3, 5_000],
      [12 * MiB, 6 * MiB],
      [39 * MiB, MiB - 1],
    ] as const) {
      await client.zero(start, length);
      model.fill(0, start, start + length);
    }
    await client.flush();
    assert.ok(model.equals(await client.read(0, model.length)));
    await client.close();
    await assertHas(server, model);
  });

  test('is not sent as zeros where it has holes, and reads as zeros there', async () => {
    const server = await serve(64 * MiB);
    let received = 0;
    const socket = await server.connect();
    socket.on('data', (bytes: Buffer) => (received += bytes.length));
    const client = await NbdClient.open(socket);
    open_.clients.push(client);
    await client.write(33 * MiB, Buffer.from('in the middle'));
    await client.flush();
    const bytes = await client.read(0, 64 * MiB);
    assert.equal(bytes.toString('latin1', 33 * MiB, 33 * MiB + 13), 'in the middle');
    assert.ok(bytes.subarray(0, 33 * MiB).equals(Buffer.alloc(33 * MiB)));
    assert.ok(received < 4 * MiB, `${received} bytes came for 64 MiB`);
  });

  test('is smaller on its storage after zeros and after a trim', async () => {
    const server = await serve(16 * MiB, {}, randomBytes(16 * MiB));
    const client = await clientOf(server);
    const blocks = async (): Promise<number> => (await stat(image)).blocks;
    const full = await blocks();
    await client.zero(0, 4 * MiB);
    await client.flush();
    const zeroed = await blocks();
    assert.ok(zeroed <= full - (3 * MiB) / 512, `${full} blocks became ${zeroed}`);
    await client.trim(8 * MiB, 4 * MiB);
    await client.flush();
    assert.ok((await blocks()) <= zeroed - (3 * MiB) / 512);
    assert.ok((await client.read(0, 4 * MiB)).equals(Buffer.alloc(4 * MiB)));
  });

  test('refuses what is past its end, and goes on', async () => {
    const client = await clientOf(await serve(MiB));
    await failsWith(client.write(MiB - 1, Buffer.from('ab')), invalid);
    await failsWith(client.zero(MiB, 1), invalid);
    const error = await failsWith(client.read(MiB - 1, 2), invalid);
    assert.match(error.message, /read at byte 1048575 failed with error 22 \(invalid\): .*past EOF/i);
    await client.write(MiB - 1, Buffer.from('z'));
    assert.equal((await client.read(MiB - 1, 1)).toString(), 'z');
  });

  test('that is served read-only says so, and is not written', async () => {
    const content = randomBytes(MiB);
    const server = await serve(MiB, { isReadOnly: true, clients: 2 }, content);
    const client = await clientOf(server);
    assert.equal(client.disk.isReadOnly, true);
    await failsWith(client.write(0, Buffer.from('x')), invalid);
    await failsWith(client.zero(0, 512), invalid);
    assert.ok(content.equals(await client.read(0, MiB)));
    await client.close();
    await assertHas(server, content);
  });

  test('is as a buffer would be after any writes, zeros and reads, whatever blocks the server takes', async () => {
    for (const blocks of [
      { minimum: 512, maximum: 64 * 1024 },
      { minimum: 4_096, maximum: 16 * 1024 },
    ]) {
      const size = 256 * 1024;
      const server = await serve(size, { blocks, clients: 2 });
      const client = await clientOf(server);
      assert.deepEqual(client.disk.blocks, blocks);
      const model = Buffer.alloc(size);
      const range = fc
        .tuple(fc.nat({ max: size - 1 }), fc.integer({ min: 1, max: 50_000 }))
        .map(([start, length]) => ({ start, length: Math.min(length, size - start) }));
      const step = fc.record({
        range,
        kind: fc.constantFrom('write', 'zero', 'read'),
        fill: fc.integer({ min: 1, max: 255 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
          for (const {
            range: { start, length },
            kind,
            fill,
          } of steps) {
            if (kind === 'read') {
              assert.ok(model.subarray(start, start + length).equals(await client.read(start, length)));
              continue;
            }
            const value = kind === 'write' ? fill : 0;
            await (value === 0 ? client.zero(start, length) : client.write(start, Buffer.alloc(length, value)));
            model.fill(value, start, start + length);
          }
        }),
        { numRuns: 40 },
      );
      // Small neighbours at once: none may lose what another has written into the same block.
      const parts = Array.from({ length: 64 }, (_, index) => index * 100);
      await Promise.all(parts.map((start) => client.write(start, Buffer.alloc(100, start % 251))));
      for (const start of parts) model.fill(start % 251, start, start + 100);
      await client.flush();
      await client.close();
      await assertHas(server, model);
      await server.stop();
    }
  });

  test('has what several connections have written at once', async () => {
    const server = await serve(32 * MiB, { clients: 4 });
    const clients = await Promise.all([0, 1, 2].map(() => clientOf(server)));
    const data = randomBytes(30 * MiB);
    await Promise.all(
      clients.map(async (client, index) => {
        const start = index * 10 * MiB;
        await client.write(start, data.subarray(start, start + 10 * MiB));
      }),
    );
    await clients[0]!.flush(); // with several connections, one flush is for all of them
    assert.ok((await clients[1]!.read(0, data.length)).equals(data));
    await Promise.all(clients.map((client) => client.close()));
    await assertHas(server, Buffer.concat([data, Buffer.alloc(2 * MiB)]));
  });

  test('of a server that is killed fails what is under way and all that follows; written again, it is complete', async () => {
    const server = await serve(64 * MiB);
    const client = await clientOf(server);
    const data = randomBytes(48 * MiB);
    await client.write(0, data.subarray(0, MiB));
    await client.flush();
    const writing = client.write(MiB, data.subarray(MiB));
    const failed = assert.rejects(writing, (error) => !(error instanceof NbdReplyError));
    await server.kill();
    await failed;
    await assert.rejects(client.read(0, 1));
    await assert.rejects(client.flush());
    await client.close();
    const file = await open(image, 'r');
    const kept = Buffer.alloc(MiB);
    await file.read(kept, 0, MiB, 0);
    await file.close();
    assert.ok(kept.equals(data.subarray(0, MiB)), 'what was flushed is kept');
    const second = await restart({ clients: 2 });
    const again = await clientOf(second);
    await again.write(MiB, data.subarray(MiB));
    await again.flush();
    await again.close();
    await assertHas(second, Buffer.concat([data, Buffer.alloc(16 * MiB)]));
  });
});
