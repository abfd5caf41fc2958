import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { byBlocks, widened } from '../../../../activities/incus/nbd-blocks.ts';
import { NbdClient } from '../../../../activities/incus/nbd-client.ts';
import { NbdRefusal } from '../../../../activities/incus/nbd-handshake.ts';
import { Script, type Offer } from './nbd-script.ts';

const MiB = 2 ** 20;
const command = { read: 0, write: 1, trim: 4, zero: 6 } as const;

async function connected(offer: Offer): Promise<{ readonly script: Script; readonly client: NbdClient }> {
  const script = new Script(offer);
  return { script, client: await NbdClient.open(script.socket) };
}

const shown = ({ requests }: Script): number[][] => requests.map((one) => [one.command, one.offset, one.length]);

describe('any range', () => {
  const range = fc.record({ start: fc.nat(10_000), length: fc.integer({ min: 1, max: 10_000 }) });
  const block = fc.constantFrom(1, 512, 4_096);

  test('in blocks is the same range, and only the first and the last part are no whole blocks', () => {
    fc.assert(
      fc.property(range, block, (given, block) => {
        const parts = byBlocks(given, block);
        let at = given.start;
        for (const { start, length, isWhole } of parts) {
          assert.equal(start, at);
          at += length;
          if (isWhole) assert.deepEqual([start % block, length % block], [0, 0]);
          else assert.equal(Math.floor(start / block), Math.floor((at - 1) / block));
        }
        assert.equal(at, given.start + given.length);
      }),
    );
  });

  test('widened has the range in it, begins and ends with blocks and is less than two blocks longer', () => {
    fc.assert(
      fc.property(range, block, (given, block) => {
        const { start, length } = widened(given, block, 2 ** 20);
        assert.ok(start <= given.start && start + length >= given.start + given.length);
        assert.deepEqual([start % block, length % block], [0, 0]);
        assert.ok(length - given.length < 2 * block);
      }),
    );
  });
});

describe('a server that takes whole blocks only', () => {
  const blocks = { minimum: 4_096, maximum: 32 * MiB };

  test('is asked for the blocks around what is read', async () => {
    const { script, client } = await connected({ blocks });
    const reading = client.read(4_000, 200);
    await script.arrived(1);
    assert.deepEqual(shown(script), [[command.read, 0, 8_192]]);
    const bytes = Buffer.alloc(8_192);
    bytes.fill('x', 4_000, 4_200);
    script.reply(script.requests[0]!, 0, bytes);
    assert.equal((await reading).toString(), 'x'.repeat(200));
  });

  test('gets whole blocks as they are, and the ends in the blocks that they are parts of', async () => {
    const { script, client } = await connected({ blocks });
    const writing = client.write(4_095, Buffer.alloc(4_098, 'x'));
    await script.arrived(2);
    assert.deepEqual(shown(script).sort(), [
      [command.read, 0, 4_096],
      [command.write, 4_096, 4_096],
    ]);
    const [head] = script.requests.filter((one) => one.command === command.read);
    const [middle] = script.requests.filter((one) => one.command === command.write);
    script.reply(head!, 0, Buffer.alloc(4_096, 'o'));
    await script.arrived(3);
    assert.equal(script.requests[2]!.data.toString(), `${'o'.repeat(4_095)}x`);
    script.reply(script.requests[2]!);
    script.reply(middle!);
    await script.arrived(4);
    assert.deepEqual(shown(script)[3], [command.read, 8_192, 4_096]);
    script.reply(script.requests[3]!, 0, Buffer.alloc(4_096, 'o'));
    await script.arrived(5);
    assert.equal(script.requests[4]!.data.toString(), `x${'o'.repeat(4_095)}`);
    script.reply(script.requests[4]!);
    await writing;
  });

  test('is not asked for a block while another part of it is being written', async () => {
    const { script, client } = await connected({ blocks });
    const writes = Promise.all([client.write(0, Buffer.from('a')), client.write(1, Buffer.from('b'))]);
    let disk: Buffer = Buffer.alloc(4_096);
    for (let turn = 0; turn < 4; turn++) {
      await script.arrived(turn + 1);
      await script.quiet();
      assert.equal(script.requests.length, turn + 1);
      const request = script.requests[turn]!;
      if (request.command === command.write) disk = request.data;
      script.reply(request, 0, request.command === command.read ? disk : undefined);
    }
    await writes;
    assert.equal(disk.toString('latin1', 0, 3), 'ab\0');
  });

  test('is told to flush only when the parts of blocks are written too', async () => {
    const { script, client } = await connected({ blocks });
    const writing = client.write(1, Buffer.from('a'));
    const flushing = client.flush();
    await script.arrived(1);
    script.reply(script.requests[0]!, 0, Buffer.alloc(4_096));
    await script.arrived(2);
    await script.quiet();
    assert.deepEqual(
      script.requests.map((one) => one.command),
      [command.read, command.write],
    );
    script.reply(script.requests[1]!);
    await script.arrived(3);
    script.reply(script.requests[2]!);
    await Promise.all([writing, flushing]);
  });

  test('takes back whole blocks only', async () => {
    const { script, client } = await connected({ blocks, flags: 0x65 });
    const trimming = client.trim(1, 9_000);
    await script.arrived(1);
    await script.quiet();
    assert.deepEqual(shown(script), [[command.trim, 4_096, 4_096]]);
    script.reply(script.requests[0]!);
    await trimming;
  });

  test('writes zeros into the blocks that are zeroed in part', async () => {
    const { script, client } = await connected({ blocks });
    const zeroing = client.zero(4_096, 4_097);
    await script.arrived(2);
    assert.deepEqual(shown(script).sort(), [
      [command.read, 8_192, 4_096],
      [command.zero, 4_096, 4_096],
    ]);
    for (const request of [...script.requests])
      script.reply(request, 0, request.command === command.read ? Buffer.alloc(4_096, 'o') : undefined);
    await script.arrived(3);
    assert.equal(script.requests[2]!.data.toString('latin1'), `\0${'o'.repeat(4_095)}`);
    script.reply(script.requests[2]!);
    await zeroing;
  });
});

test('a server that takes less in one request gets pieces of that size, in whole blocks', async () => {
  const { script, client } = await connected({ blocks: { minimum: 512, maximum: 10_000 } });
  const writing = client.write(0, Buffer.alloc(20_480));
  for (let turn = 0; turn < 3; turn++) {
    await script.arrived(turn + 1);
    script.reply(script.requests[turn]!);
  }
  await writing;
  assert.deepEqual(shown(script), [
    [command.write, 0, 9_728],
    [command.write, 9_728, 9_728],
    [command.write, 19_456, 1_024],
  ]);
});

test('a server that takes nothing back is not asked to', async () => {
  const { script, client } = await connected({});
  await client.trim(0, MiB);
  assert.deepEqual(script.requests, []);
});

for (const blocks of [
  { minimum: 0, maximum: MiB },
  { minimum: 3_000, maximum: MiB },
  { minimum: 2 ** 17, maximum: MiB },
  { minimum: 4_096, maximum: 512 },
])
  test(`blocks of ${blocks.minimum} to ${blocks.maximum} bytes are refused`, async () => {
    await assert.rejects(connected({ blocks }), (error) => error instanceof NbdRefusal);
  });
