import type { Extent } from '../disk-port.ts';
import type { Data } from './pieces.ts';

type Read = Omit<Data, 'length'>;

const sizes = {
  /** Asked for at once; the next piece is on its way while this one is used. */
  read: 4 * 1024 * 1024,
  /** Zeros are left out in pieces of this size. */
  piece: 64 * 1024,
} as const;

const zeros = Buffer.alloc(sizes.piece);

/** The content of these areas in ascending order, from `from` on, without what is zero. */
export async function* readAreas(
  areas: readonly Extent[],
  read: (extent: Extent) => Promise<Uint8Array>,
  from = 0,
): AsyncGenerator<Read, void> {
  let next: Promise<Read> | undefined;
  for (const extent of portions(areas, from)) {
    const reading = read(extent).then((data) => ({ start: extent.start, data }));
    // Looked at when its turn comes; until then it must not count as unhandled.
    reading.catch(() => undefined);
    if (next !== undefined) yield* withoutZeros(await next);
    next = reading;
  }
  if (next !== undefined) yield* withoutZeros(await next);
}

function* portions(areas: readonly Extent[], from: number): Generator<Extent, void> {
  for (const { start, length } of areas)
    for (let at = Math.max(start, from); at < start + length; at += sizes.read)
      yield { start: at, length: Math.min(sizes.read, start + length - at) };
}

function* withoutZeros({ start, data }: Read): Generator<Read, void> {
  for (let at = 0; at < data.length; at += sizes.piece) {
    const piece = data.subarray(at, at + sizes.piece);
    if (!zeros.subarray(0, piece.length).equals(piece)) yield { start: start + at, data: piece };
  }
}
