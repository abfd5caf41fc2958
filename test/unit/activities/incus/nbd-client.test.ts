import assert from 'node:assert/strict';
import { duplexPair, type Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { NbdClient, NbdReplyError } from '../../../../activities/incus/nbd-client.ts';
import { NbdRefusal } from '../../../../activities/incus/nbd-handshake.ts';
import { waitFor } from '../../../support/wait-for.ts';

const greeting = Buffer.from('NBDMAGICIHAVEOPT\0\x03', 'latin1');
const sizeOfDisk = 64 * 2 ** 20;
const flags = { all: 0x45, noZeroes: 0x05 } as const;

interface Request {
  readonly command: number;
  readonly cookie: Buffer;
  readonly offset: number;
  readonly length: number;
}

/** The far side of a connection, that does what a test says: it answers nothing by itself. */
class Script {
  readonly requests: Request[] = [];
  readonly socket: Duplex;
  readonly #far: Duplex;
  #buffer = Buffer.alloc(0);

  constructor(exportFlags: number = flags.all) {
    [this.socket, this.#far] = duplexPair();
    this.#far.on('error', () => undefined);
    this.#far.write(greeting);
    const goReply = (type: number, data: Buffer) => {
      const head = Buffer.from('0003e889045565a9000000070000000000000000', 'hex');
      head.writeUInt32BE(type, 12);
      head.writeUInt32BE(data.length, 16);
      return Buffer.concat([head, data]);
    };
    const info = Buffer.alloc(12);
    info.writeBigUInt64BE(BigInt(sizeOfDisk), 2);
    info.writeUInt16BE(exportFlags, 10);
    let shaken = 4 + 16 + 6; // flags, option, its data
    this.#far.on('data', (chunk: Buffer) => {
      this.#buffer = Buffer.concat([this.#buffer, chunk]);
      if (shaken > 0) {
        if (this.#buffer.length < shaken) return;
        this.#buffer = this.#buffer.subarray(shaken);
        shaken = 0;
        this.#far.write(Buffer.concat([goReply(3, info), goReply(1, Buffer.alloc(0))]));
      }
      this.#parse();
    });
  }

  reply({ cookie }: Request, errno = 0, data: Buffer = Buffer.alloc(0)): void {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(0x67446698);
    head.writeUInt32BE(errno, 4);
    this.#far.write(Buffer.concat([head, cookie, data]));
  }

  say(bytes: Buffer): void {
    this.#far.write(bytes);
  }

  async arrived(count: number): Promise<void> {
    await waitFor(`${count} requests`, () => this.requests.length >= count);
  }

  /** What was sent until now has arrived: a round trip of the event loop later nothing more comes. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  #parse(): void {
    while (this.#buffer.length >= 28) {
      const head = this.#buffer.subarray(0, 28);
      const [command, length] = [head.readUInt16BE(6), head.readUInt32BE(24)];
      const whole = 28 + (command === 1 ? length : 0);
      if (this.#buffer.length < whole) return;
      const offset = Number(head.readBigUInt64BE(16));
      this.requests.push({ command, cookie: Buffer.from(head.subarray(8, 16)), offset, length });
      this.#buffer = this.#buffer.subarray(whole);
    }
  }
}

const MiB = 2 ** 20;

test('a range is cut into chunks of 4 MiB, of which two are under way', async () => {
  const script = new Script();
  const client = await NbdClient.open(script.socket);
  const writing = client.write(0, Buffer.alloc(9 * MiB));
  await script.arrived(2);
  await script.quiet();
  assert.deepEqual(
    script.requests.map(({ offset, length }) => [offset, length]),
    [
      [0, 4 * MiB],
      [4 * MiB, 4 * MiB],
    ],
  );
  script.reply(script.requests[1]!);
  await script.arrived(3);
  assert.deepEqual([script.requests[2]!.offset, script.requests[2]!.length], [8 * MiB, MiB]);
  script.reply(script.requests[2]!);
  script.reply(script.requests[0]!);
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
  const script = new Script(flags.noZeroes);
  const client = await NbdClient.open(script.socket);
  const zeroing = client.zero(0, 5 * MiB);
  for (const index of [0, 1]) {
    await script.arrived(index + 1);
    assert.equal(script.requests[index]!.command, 1);
    script.reply(script.requests[index]!);
  }
  await zeroing;
  assert.deepEqual(
    script.requests.map(({ length }) => length),
    [4 * MiB, MiB],
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
      Buffer.concat([greeting, Buffer.from('0003e889045565a9000000078000000200000004', 'hex'), Buffer.from('nope')]),
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
