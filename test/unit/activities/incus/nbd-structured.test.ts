import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NbdClient } from '../../../../activities/incus/nbd-client.ts';
import { NbdReplyError } from '../../../../activities/incus/nbd-protocol.ts';
import { chunk, Script, u16, u32, u64 } from './nbd-script.ts';

async function connected(): Promise<{ readonly script: Script; readonly client: NbdClient }> {
  const script = new Script({ isStructured: true });
  return { script, client: await NbdClient.open(script.socket) };
}

const data = (offset: number, text: string): Buffer => Buffer.concat([u64(offset), Buffer.from(text)]);
const hole = (offset: number, length: number): Buffer => Buffer.concat([u64(offset), u32(length)]);
const words = (text: string): Buffer => Buffer.concat([u16(text.length), Buffer.from(text)]);

describe('a read that is answered in chunks', () => {
  test('is put together from them in whatever order they come, holes as zeros', async () => {
    const { script, client } = await connected();
    const reading = client.read(512, 9);
    await script.arrived(1);
    const [request] = script.requests;
    script.chunk(request!, chunk.data, data(518, 'two'), false);
    script.chunk(request!, chunk.hole, hole(515, 3), false);
    script.chunk(request!, chunk.data, data(512, 'one'), true);
    assert.equal((await reading).toString('latin1'), 'one\0\0\0two');
  });

  test('is put into a buffer of the caller, whatever was in it; into a new one where that is too small', async () => {
    const { script, client } = await connected();
    const into = Buffer.alloc(512, 'x');
    const reading = client.read(0, 6, into);
    await script.arrived(1);
    script.chunk(script.requests[0]!, chunk.hole, hole(3, 3), false);
    script.chunk(script.requests[0]!, chunk.data, data(0, 'one'), true);
    const found = await reading;
    assert.equal(found.toString('latin1'), 'one\0\0\0');
    assert.equal(found.buffer, into.buffer);

    const other = client.read(0, 6, Buffer.alloc(5));
    await script.arrived(2);
    script.chunk(script.requests[1]!, chunk.data, data(0, 'oneTWO'), true);
    assert.equal((await other).toString(), 'oneTWO');
  });

  test('ends with a chunk that has nothing in it', async () => {
    const { script, client } = await connected();
    const reading = client.read(0, 3);
    await script.arrived(1);
    script.chunk(script.requests[0]!, chunk.data, data(0, 'one'), false);
    script.chunk(script.requests[0]!, chunk.none, Buffer.alloc(0), true);
    assert.equal((await reading).toString(), 'one');
  });

  test('and another one beside it keep apart', async () => {
    const { script, client } = await connected();
    const reads = Promise.all([client.read(0, 6), client.read(512, 6)]);
    await script.arrived(2);
    const [first, second] = script.requests;
    script.chunk(first!, chunk.data, data(0, 'one'), false);
    script.chunk(second!, chunk.data, data(512, 'two'), false);
    script.chunk(first!, chunk.data, data(3, 'ONE'), true);
    script.chunk(second!, chunk.data, data(515, 'TWO'), true);
    assert.deepEqual(
      (await reads).map((bytes) => bytes.toString()),
      ['oneONE', 'twoTWO'],
    );
  });

  for (const [what, type, payload] of [
    ['without a place', chunk.error, Buffer.concat([u32(5), words('bad sector')])],
    ['with its place', chunk.errorAt, Buffer.concat([u32(5), words('bad sector'), u64(3)])],
    ['of a type of the future', 0x8077, Buffer.concat([u32(5), words('bad sector')])],
  ] as const)
    test(`fails alone when a chunk says so, ${what}`, async () => {
      const { script, client } = await connected();
      const bad = client.read(0, 6);
      await script.arrived(1);
      script.chunk(script.requests[0]!, chunk.data, data(0, 'one'), false);
      script.chunk(script.requests[0]!, type, payload, true);
      await assert.rejects(
        bad,
        (error) =>
          error instanceof NbdReplyError &&
          error.errno === 5 &&
          error.message === 'read at byte 0 failed with error 5 (input/output): bad sector',
      );
      const good = client.read(0, 3);
      await script.arrived(2);
      script.chunk(script.requests[1]!, chunk.data, data(0, 'one'), true);
      assert.equal((await good).toString(), 'one');
    });
});

test('a write may be answered in either form', async () => {
  const { script, client } = await connected();
  const writes = Promise.all([client.write(0, Buffer.from('a')), client.write(512, Buffer.from('b'))]);
  await script.arrived(2);
  script.reply(script.requests[0]!);
  script.chunk(script.requests[1]!, chunk.none, Buffer.alloc(0), true);
  await writes;
});

describe('the connection is given up', () => {
  for (const [what, answer] of [
    ['when a read is answered in the old form', (script, request) => script.reply(request, 0, Buffer.from('one'))],
    ['when bytes are missing at the end', (script, request) => script.chunk(request, chunk.data, data(0, 'on'), true)],
    [
      'when bytes come twice',
      (script, request) => {
        script.chunk(request, chunk.data, data(0, 'on'), false);
        script.chunk(request, chunk.hole, hole(0, 2), false);
      },
    ],
    [
      'when bytes come that nobody asked for',
      (script, request) => script.chunk(request, chunk.data, data(2, 'one'), true),
    ],
    ['when a hole is where nobody asked', (script, request) => script.chunk(request, chunk.hole, hole(2, 3), true)],
    ['when a hole has no length', (script, request) => script.chunk(request, chunk.hole, u64(0), true)],
    ['when a chunk is of an unknown type', (script, request) => script.chunk(request, 99, Buffer.alloc(4), true)],
    [
      'when an explanation never ends',
      (script, request) => script.chunk(request, chunk.error, Buffer.alloc(9_000), true),
    ],
    [
      'when a chunk is for a request that nobody made',
      (script) => script.chunk({ cookie: Buffer.alloc(8, 9) }, chunk.none, Buffer.alloc(0), true),
    ],
  ] as [string, (script: Script, request: Script['requests'][number]) => void][])
    test(what, async () => {
      const { script, client } = await connected();
      const reading = client.read(0, 3);
      await script.arrived(1);
      answer(script, script.requests[0]!);
      await assert.rejects(reading, (error) => error instanceof Error && !(error instanceof NbdReplyError));
      assert.ok(script.socket.destroyed);
      await client.close();
    });

  test('when chunks come that were never agreed upon', async () => {
    const script = new Script();
    const client = await NbdClient.open(script.socket);
    const reading = client.read(0, 3);
    await script.arrived(1);
    script.chunk(script.requests[0]!, chunk.data, data(0, 'one'), true);
    await assert.rejects(reading, /not known/);
    await client.close();
  });
});
