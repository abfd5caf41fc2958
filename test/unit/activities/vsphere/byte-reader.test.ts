import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { ByteReader } from '../../../../activities/vsphere/source/byte-reader.ts';

async function* source(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

test('portions put together are the stream, whatever its chunks', async () => {
  const chunk = fc.uint8Array({ maxLength: 20 });
  const portion = fc.record({ count: fc.integer({ min: 0, max: 30 }), skip: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(chunk), fc.array(portion), async (chunks, portions) => {
      const whole = Buffer.concat(chunks);
      const reader = new ByteReader(source(chunks));
      let at = 0;
      for (const { count, skip } of portions) {
        const expected = whole.subarray(at, at + count);
        if (skip) assert.equal(await reader.skip(count), expected.length === count);
        else assert.deepEqual(Buffer.from(await reader.upTo(count)), Buffer.from(expected));
        at = Math.min(whole.length, at + count);
        assert.equal(reader.position, at);
      }
    }),
  );
});

test('an error of the source comes through', async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.from('abc'));
    throw new Error('broken');
  }
  const reader = new ByteReader(broken());
  assert.equal((await reader.upTo(2)).toString(), 'ab');
  await assert.rejects(reader.upTo(5), /broken/);
});

test('closing ends the source', async () => {
  let ended = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield await Promise.resolve(Buffer.alloc(10));
    } finally {
      ended = true;
    }
  }
  const reader = new ByteReader(endless());
  await reader.upTo(5);
  await reader.close();
  assert.ok(ended);
});
