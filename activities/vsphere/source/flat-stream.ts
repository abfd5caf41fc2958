import type { Extent } from '../../batch/disk-port.ts';
import type { Grain } from './vmdk-stream.ts';

const sizes = {
  /** Asked for at once; the next piece is on its way while this one is used. */
  read: 4 * 1024 * 1024,
  /** Zeros are left out in pieces of this size. */
  piece: 256 * 1024,
} as const;

const zeros = Buffer.alloc(sizes.piece);

/** The content of a flat file in ascending order, without what is zero. */
export async function* readFlat(
  capacity: number,
  read: (extent: Extent) => Promise<Uint8Array>,
): AsyncGenerator<Grain, void> {
  const begin = (start: number): Promise<Uint8Array> | undefined => {
    if (start >= capacity) return undefined;
    const reading = read({ start, length: Math.min(sizes.read, capacity - start) });
    // Looked at when its turn comes; until then it must not count as unhandled.
    reading.catch(() => undefined);
    return reading;
  };
  let next = begin(0);
  for (let start = 0; next !== undefined; start += sizes.read) {
    const data = await next;
    next = begin(start + sizes.read);
    for (let at = 0; at < data.length; at += sizes.piece) {
      const piece = data.subarray(at, at + sizes.piece);
      if (!zeros.subarray(0, piece.length).equals(piece)) yield { start: start + at, data: piece };
    }
  }
}
