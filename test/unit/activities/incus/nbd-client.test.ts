import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { describe, test } from 'node:test';
import { NbdClient } from '../../../../activities/incus/nbd-client.ts';
import { NbdRefusal } from '../../../../activities/incus/nbd-handshake.ts';
import { NbdReplyError } from '../../../../activities/incus/nbd-protocol.ts';
import { greeting, Script } from './nbd-script.ts';

const MiB = 2 ** 20;
const noStructuredReplies = Buffer.from('0003e889045565a9000000088000000100000000', 'hex');

test('a range is cut into chunks of 1 MiB, of which eight are under way', async () => {
  const script = new Script();
  const client = await NbdClient.open(script.socket);
  const writing = client.write(0, Buffer.alloc(8 * MiB + 5));
  await script.arrived(8);
  await script.quiet();
  assert.deepEqual(
    script.requests.map(({ offset, length }) => [offset, length]),
    Array.from({ length: 8 }, (_, index) => [index * MiB, MiB]),
  );
  script.reply(script.requests[1]!);
  await script.arrived(9);
  assert.deepEqual([script.requests[8]!.offset, script.requests[8]!.length], [8 * MiB, 5]);
  for (const [index, request] of script.requests.entries()) if (index !== 1) script.reply(request);
  await writing;
});

test('answers in another order go to the reads that asked for them', async () => {
  const script = new Script();
  const client = await NbdClient.open(script.socket);
  const reads = Promise.all([client.read(0, 3), client.read(512, 3)]);
  await script.arrived(2);
  script.reply(script.requests[1]!, 0, Buffer.from('two'));
  script.reply(script.requests[0]!, 0, Buffer.from('one'));
  assert.deepEqual(
    (await reads).map((data) => data.toString()),
    ['one', 'two'],
  );
});

test('a flush is sent only when every write that was begun before is answered', async () => {
  const script = new Script();
  const client = await NbdClient.open(script.socket);
  const writing = client.write(0, Buffer.alloc(512));
  const flushing = client.flush();
  await script.arrived(1);
  await script.quiet();
  assert.deepEqual(
    script.requests.map(({ command }) => command),
    [1],
  );
  script.reply(script.requests[0]!);
  await script.arrived(2);
  assert.equal(script.requests[1]!.command, 3);
  script.reply(script.requests[1]!);
  await Promise.all([writing, flushing]);
});

test('zeros are written where the server has no shorter way', async () => {
  const script = new Script({ flags: 0x05 });
  const client = await NbdClient.open(script.socket);
  const zeroing = client.zero(0, MiB + 512);
  for (const index of [0, 1]) {
    await script.arrived(index + 1);
    assert.equal(script.requests[index]!.command, 1);
    script.reply(script.requests[index]!);
  }
  await zeroing;
  assert.deepEqual(
    script.requests.map(({ length }) => length),
    [MiB, 512],
  );
});

test('a request that fails fails alone', async () => {
  const script = new Script();
  const client = await NbdClient.open(script.socket);
  const bad = client.read(512, 3);
  const good = client.read(0, 3);
  await script.arrived(2);
  script.reply(script.requests[0]!, 5);
  script.reply(script.requests[1]!, 0, Buffer.from('one'));
  await assert.rejects(bad, (error) => error instanceof NbdReplyError && error.errno === 5);
  assert.equal((await good).toString(), 'one');
});

describe('everything fails at once', () => {
  for (const [what, break_] of [
    [
      'when the server answers what nobody asked',
      (script: Script) => script.reply({ ...script.requests[0]!, cookie: Buffer.alloc(8, 9) }),
    ],
    ['when the server talks nonsense', (script: Script) => script.say(Buffer.alloc(16, 1))],
    ['when the connection breaks', (script: Script) => script.socket.destroy(new Error('cable'))],
    ['when the server leaves', (script: Script) => script.socket.push(null)],
  ] as const)
    test(what, async () => {
      const script = new Script();
      const client = await NbdClient.open(script.socket);
      const attempts = [client.read(0, 512), client.write(0, Buffer.alloc(9 * MiB)), client.flush()];
      const outcomes = Promise.allSettled(attempts);
      await script.arrived(2);
      break_(script);
      for (const { status } of await outcomes) assert.equal(status, 'rejected');
      await assert.rejects(client.read(0, 1));
      assert.ok(script.socket.destroyed);
      await client.close();
    });
});

describe('a handshake is refused', () => {
  for (const [what, bytes] of [
    ['by what is no NBD server', Buffer.from('HTTP/1.1 400 Bad Request')],
    ['by a server of the old form', Buffer.from('NBDMAGICIHAVEOPT\0\0', 'latin1')],
    ['by an answer that is none', Buffer.concat([greeting, Buffer.alloc(20, 1)])],
    [
      'by a server that does not serve the disk',
      Buffer.concat([
        greeting,
        noStructuredReplies,
        Buffer.from('0003e889045565a9000000078000000200000004', 'hex'),
        Buffer.from('nope'),
      ]),
    ],
  ] as const)
    test(what, async () => {
      const [near, far] = duplexPair();
      far.on('error', () => undefined);
      far.write(bytes);
      await assert.rejects(NbdClient.open(near), (error) => error instanceof NbdRefusal);
      assert.ok(near.destroyed);
    });
});
