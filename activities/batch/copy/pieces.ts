import type { Extent } from '../disk-port.ts';

/** A part of a disk, in bytes: its content, or that it reads as zeros. */
export type Piece = Hole | Data;

export interface Hole extends Extent {
  readonly data?: undefined;
}

export interface Data extends Extent {
  readonly data: Uint8Array;
}

/** Data is handed on in pieces of at most so many bytes. Two of them under way are enough for full speed. */
export const pieceBytes = 4 * 1024 * 1024;

/**
 * What was read of these areas from `from` on, and the holes between: an area reads as zeros where its reader has left something
 * out. All ascending; what is read lies in one area.
 */
export async function* withHoles(
  areas: readonly Extent[],
  read: AsyncIterable<{ readonly start: number; readonly data: Uint8Array }>,
  from: number,
): AsyncGenerator<Piece, void> {
  const left = areas.map(({ start, length }) => ({ at: Math.max(start, from), end: start + length }));
  const holesUpTo = function* (limit: number): Generator<Hole, void> {
    for (let area = left[0]; area !== undefined && area.at < limit; area = left[0]) {
      const end = Math.min(area.end, limit);
      if (end > area.at) yield { start: area.at, length: end - area.at };
      area.at = end;
      if (area.at < area.end) return;
      left.shift();
    }
  };
  for await (const { start, data } of read) {
    yield* holesUpTo(start);
    yield isZero(data) ? { start, length: data.length } : { start, length: data.length, data };
    const [area] = left;
    if (area !== undefined) area.at = Math.max(area.at, Math.min(start + data.length, area.end));
  }
  yield* holesUpTo(Number.POSITIVE_INFINITY);
}

/**
 * The same with neighbours put together, whose bytes need only be there until the next are asked for. Data is in one of a few
 * buffers: one is used anew once `buffers - 2` more were handed out.
 */
export async function* gathered(pieces: AsyncIterable<Piece>, buffers = 4): AsyncGenerator<Piece, void> {
  const pool: Buffer[] = [];
  let turn = 0;
  let open: { readonly start: number; length: number; readonly isHole: boolean } | undefined;
  const close = (): Piece | undefined => {
    if (open === undefined) return undefined;
    const { start, length, isHole } = open;
    open = undefined;
    if (isHole) return { start, length };
    const data = pool[turn]?.subarray(0, length);
    turn = (turn + 1) % buffers;
    return data === undefined ? undefined : { start, length, data };
  };
  for await (const piece of pieces) {
    const isHole = piece.data === undefined;
    for (let at = 0; at < piece.length;) {
      const start = piece.start + at;
      const isNeighbour = open !== undefined && open.isHole === isHole && open.start + open.length === start;
      if (!isNeighbour || (!isHole && open?.length === pieceBytes)) {
        const closed = close();
        if (closed !== undefined) yield closed;
      }
      open ??= { start, length: 0, isHole };
      const length = isHole ? piece.length : Math.min(piece.length - at, pieceBytes - open.length);
      if (!isHole)
        (pool[turn] ??= Buffer.allocUnsafeSlow(pieceBytes)).set(piece.data.subarray(at, at + length), open.length);
      open.length += length;
      at += length;
    }
  }
  const closed = close();
  if (closed !== undefined) yield closed;
}

export function isZero(data: Uint8Array): boolean {
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return buffer.length > 0 && buffer[0] === 0 && buffer.subarray(1).equals(buffer.subarray(0, -1));
}
