import { crc32, deflateSync, inflateSync } from 'node:zlib';

/** Colours as they stand in a row: red, green, blue, a byte each. */
interface Picture {
  readonly width: number;
  readonly rows: readonly Uint8Array[];
}

const mostColours = 256;
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** What a browser writes: 8 bits, red, green and blue, not interlaced. */
const trueColour = '0802000000';

/** The same picture of a page with a palette, a third of what a browser writes. Rare colours become the nearest of the others. */
export function smallerPng(png: Buffer): Buffer {
  const { width, rows } = read(png);
  const counts = new Map<number, number>();
  for (const row of rows) for (const colour of coloursOf(row)) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const byCount = [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  const palette = byCount.slice(0, mostColours);
  const indexes = new Map(byCount.map((colour, at) => [colour, at < mostColours ? at : nearest(palette, colour)]));
  // Each row begins with its filter, which is none.
  const data = rows.flatMap((row) => [0, ...coloursOf(row).map((colour) => indexes.get(colour) ?? 0)]);

  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rows.length, 4);
  header.set([8, 3], 8); // bits of an index; with a palette
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(channels))),
    chunk('IDAT', deflateSync(Buffer.from(data), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function coloursOf(row: Uint8Array): number[] {
  return Array.from({ length: row.length / 3 }, (_, pixel) => Buffer.from(row).readUIntBE(pixel * 3, 3));
}

function channels(colour: number): [number, number, number] {
  return [colour >> 16, (colour >> 8) & 0xff, colour & 0xff];
}

function nearest(palette: readonly number[], colour: number): number {
  const [red, green, blue] = channels(colour);
  const distances = palette.map((other) => {
    const [r, g, b] = channels(other);
    return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
  });
  return distances.indexOf(Math.min(...distances));
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function read(png: Buffer): Picture {
  const header = png.subarray(16, 29);
  if (!png.subarray(0, 8).equals(signature) || header.subarray(8).toString('hex') !== trueColour)
    throw new Error('This is no PNG as a browser takes it of a page: with 8 bits for each of red, green and blue.');
  const parts: Buffer[] = [];
  for (let at = signature.length; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const width = header.readUInt32BE(0);
  const data = inflateSync(Buffer.concat(parts));
  const length = width * 3;
  const rows: Uint8Array[] = [];
  for (let at = 0; at < data.length; at += length + 1)
    rows.push(unfiltered(data[at] ?? 0, data.subarray(at + 1, at + 1 + length), rows.at(-1) ?? new Uint8Array(length)));
  return { width, rows };
}

/** A row says only how it differs from what is left of it and above it. */
function unfiltered(filter: number, row: Uint8Array, above: Uint8Array): Uint8Array {
  const plain = Uint8Array.from(row);
  for (let at = 0; at < plain.length; at += 1) {
    const [left = 0, up = 0, corner = 0] = [plain[at - 3], above[at], above[at - 3]];
    plain[at] = (row[at] ?? 0) + ([0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0);
  }
  return plain;
}

/** That of the three which is nearest to where they lead. */
function paeth(left: number, up: number, corner: number): number {
  const far = (one: number): number => Math.abs(left + up - corner - one);
  if (far(left) <= far(up) && far(left) <= far(corner)) return left;
  return far(up) <= far(corner) ? up : corner;
}
