import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { smallerPng } from '../../support/smaller-png.ts';

const [black, grey, red] = [
  [0, 0, 0],
  [128, 128, 128],
  [250, 10, 20],
] as const;
type Colour = readonly [number, number, number];

function part(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Rows as a browser writes them, the first byte of each its filter. */
function pngOf(width: number, rows: readonly (readonly number[])[]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rows.length, 4);
  header.set([8, 2], 8);
  const data = deflateSync(Buffer.from(rows.flat()));
  // In two parts, as large ones are.
  const parts = [part('IHDR', header), part('IDAT', data.subarray(0, 5)), part('IDAT', data.subarray(5))];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...parts, part('IEND', Buffer.alloc(0))]);
}

/** The colours of what it makes of it. */
function shown(png: Buffer, width: number): Colour[] {
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const end = at + 8 + png.readUInt32BE(at);
    assert.equal(png.readUInt32BE(end), crc32(png.subarray(at + 4, end)));
    chunks.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, end));
  }
  const palette = chunks.get('PLTE') ?? Buffer.alloc(0);
  const rows = inflateSync(chunks.get('IDAT') ?? Buffer.alloc(0));
  const indexes = [...rows].filter((_, at) => at % (width + 1) !== 0);
  return indexes.map((index) => [...palette.subarray(index * 3, index * 3 + 3)] as unknown as Colour);
}

test('a picture is the same with a palette, however its rows were written', () => {
  const minus = (colour: Colour, less: (channel: number) => number): number[] =>
    colour.map((value, channel) => (value - less(channel) + 256) % 256);
  const none = [0, ...grey, ...red, ...black];
  const ofLeft = [1, ...grey, ...minus(red, (i) => grey[i] ?? 0), ...minus(black, (i) => red[i] ?? 0)];
  const ofUp = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  const half = (i: number, a: Colour, b: Colour): number => ((a[i] ?? 0) + (b[i] ?? 0)) >> 1;
  const ofBoth = [
    ...[3, ...minus(grey, (i) => half(i, black, grey)), ...minus(red, (i) => half(i, grey, red))],
    ...minus(black, (i) => half(i, red, black)),
  ];
  // Left and corner are alike where the row above is the same: the one above is nearest.
  const ofNearest = [4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  const png = pngOf(3, [none, ofLeft, ofUp, ofBoth, ofNearest]);
  assert.deepEqual(shown(smallerPng(png), 3), Array.from({ length: 5 }, () => [grey, red, black]).flat());
});

test('of more than 256 colours the rarest become the nearest of the others', () => {
  const often = Array.from({ length: 256 }, (_, i) => [i, 0, 0]).flatMap((colour) => [colour, colour]);
  const rows = [[0, ...often.flat(), 7, 1, 0]];
  assert.deepEqual(shown(smallerPng(pngOf(513, rows)), 513).at(-1), [7, 0, 0]);
});

test('what no browser has written is refused', () => {
  assert.throws(() => smallerPng(Buffer.from('GIF89a')), /no PNG/);
});
