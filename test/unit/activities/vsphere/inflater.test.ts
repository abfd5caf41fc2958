import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { deflateSync } from 'node:zlib';

import { Inflater } from '../../../../activities/vsphere/source/inflater.ts';

const size = 64 * 1024;
let inflater = new Inflater();

afterEach(() => {
  inflater.close();
  inflater = new Inflater();
});

const inflated = (piece: Uint8Array, into = Buffer.alloc(size)): Promise<Buffer> => inflater.inflate(piece, into);

test('pieces of any length are decompressed one after the other, into the same buffer too', async () => {
  const into = Buffer.alloc(size);
  for (let turn = 0; turn < 40; turn += 1) {
    const length = turn % 3 === 0 ? size : (turn * 4_567) % size;
    const piece = turn % 2 === 0 ? randomBytes(length) : Buffer.alloc(length, turn);
    const found = await inflated(deflateSync(piece), into);
    assert.ok(found.equals(piece), `piece ${turn} of ${length} bytes`);
    assert.equal(found.buffer, into.buffer);
  }
});

test('bytes behind the end of a piece are passed over, and the next one is read all the same', async () => {
  const piece = randomBytes(size);
  assert.ok((await inflated(Buffer.concat([deflateSync(piece), Buffer.from('more')]))).equals(piece));
  assert.ok((await inflated(deflateSync(piece))).equals(piece));
});

const packed = deflateSync(randomBytes(size));

for (const [what, piece, message] of [
  ['is no zlib stream', Buffer.alloc(100, 0xff), /header/],
  ['has another checksum than its data', Buffer.from(packed).fill(0, packed.length - 4), /data check/],
  ['ends before its checksum', packed.subarray(0, packed.length - 1), /end of file/],
  ['ends in the middle', packed.subarray(0, packed.length / 2), /end of file/],
  ['has a byte too many', deflateSync(Buffer.alloc(size + 1)), /more than 65536 bytes/],
  ['has very many bytes too many', deflateSync(Buffer.alloc(64 * size)), /more than 65536 bytes/],
] as const)
  test(`a piece that ${what} is refused`, async () => {
    await assert.rejects(inflated(piece), message);
  });
