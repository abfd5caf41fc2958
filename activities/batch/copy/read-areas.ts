import type { Extent } from '../disk-port.ts';
import type { Data } from './pieces.ts';

type Read = Omit<Data, 'length'>;

/** May use `into`, which is large enough, for the answer. */
export type ReadExtent = (extent: Extent, into: Buffer) => Promise<Uint8Array>;

const sizes = {
  /** Asked for at once; the next portion is on its way while this one is used. */
  read: 4 * 1024 * 1024,
  /** Zeros are left out in pieces of this size. */
  piece: 64 * 1024,
} as const;

const zeros = Buffer.alloc(sizes.piece);

/**
 * The content of these areas in ascending order, from `from` on, without what is zero. The bytes are there until the next ones are
 * asked for.
 */
export async function* readAreas(areas: readonly Extent[], read: ReadExtent, from = 0): AsyncGenerator<Read, void> {
  let [used, other] = [bufferFor(areas), bufferFor(areas)];
  let next: Promise<Read> | undefined;
  for (const extent of portions(areas, from)) {
    const reading = read(extent, other).then((data) => ({ start: extent.start, data }));
    // Looked at when its turn comes; until then it must not count as unhandled.
    reading.catch(() => undefined);
    if (next !== undefined) yield* withoutZeros(await next);
    next = reading;
    [used, other] = [other, used];
  }
  if (next !== undefined) yield* withoutZeros(await next);
}

const bufferFor = (areas: readonly Extent[]): Buffer =>
  Buffer.allocUnsafeSlow(areas.reduce((most, { length }) => Math.min(Math.max(most, length), sizes.read), 0));

function* portions(areas: readonly Extent[], from: number): Generator<Extent, void> {
  for (const { start, length } of areas)
    for (let at = Math.max(start, from); at < start + length; at += sizes.read)
      yield { start: at, length: Math.min(sizes.read, start + length - at) };
}

/** What lies between the pieces that are zero. */
function* withoutZeros({ start, data }: Read): Generator<Read, void> {
  let from = 0;
  for (let at = 0; at < data.length; at += sizes.piece) {
    const piece = data.subarray(at, at + sizes.piece);
    if (!zeros.subarray(0, piece.length).equals(piece)) continue;
    if (from < at) yield { start: start + from, data: data.subarray(from, at) };
    from = at + piece.length;
  }
  if (from < data.length) yield { start: start + from, data: data.subarray(from) };
}
