import { crc32 } from 'node:zlib';
import { OperationError } from '../../failures.ts';
import type { DiskWriter, Extent } from '../disk-port.ts';
import { gathered, pieceBytes, type Data, type Piece } from './pieces.ts';

const sizes = {
  /** So much is written, flushed and read back at once: what an attempt that dies leaves unproven. */
  segment: 64 * 1024 * 1024,
  /** So much is read at most between two proofs: where little differs, that is what an attempt that dies has to do again. */
  read: 1024 * 1024 * 1024,
  /** What differs is told in blocks of this size. */
  block: 64 * 1024,
  writesAtOnce: 2,
} as const;

/** Where a copy is. Bytes; `offset`: all before it is at the target, kept and proven. */
export interface CopyProgress {
  offset: number;
  bytesRead: number;
  bytesWritten: number;
}

export interface DiskCopyOptions {
  readonly writer: DiskWriter;
  /** Ascending. */
  readonly pieces: AsyncIterable<Piece>;
  readonly progress: CopyProgress;
  /** `skip`: the target reads as zeros where this pass has written nothing. */
  readonly holes: 'skip' | 'zero';
  /** Whether older content lies there that is the same for the most part: only what differs is sent. */
  readonly compares: boolean;
  /** An attempt before this one may have written some of it; nothing is sent twice. */
  readonly isResumed: boolean;
  /** Told of every piece that is sent. */
  readonly onSent?: (bytes: number) => void;
  /** Throws when somebody else writes by now. */
  readonly check: () => Promise<void>;
}

/** A piece that was written, with the checksum of what it was read as. */
type Written = Extent & { readonly checksum: number };

/**
 * Writes pieces to their places and proves them: after each segment what was written is flushed and read back, and its checksum
 * compared with that of what came from the source. While one segment is proven the next one is written.
 */
export class DiskCopy {
  readonly #options: DiskCopyOptions;
  readonly #writing: Promise<void>[] = [];
  #segment: Written[] = [];
  #segmentBytes = 0;
  #segmentRead = 0;
  #proving: Promise<void> = Promise.resolve();
  /** One segment is proven at a time, piece by piece. */
  readonly #readBack = Buffer.allocUnsafeSlow(pieceBytes);
  /** Pieces in a row without a block that was there already; after two of them the attempt before has not come so far. */
  #strange = 0;
  #end = 0;

  constructor(options: DiskCopyOptions) {
    this.#options = options;
    this.#end = options.progress.offset;
  }

  async run(): Promise<void> {
    const { pieces, check, progress } = this.#options;
    await check();
    try {
      for await (const piece of gathered(pieces)) {
        if (piece.data === undefined) await this.#skip(piece);
        else await this.#copy(piece);
        progress.bytesRead += piece.length;
        this.#end = piece.start + piece.length;
        if (this.#segmentBytes >= sizes.segment || this.#segmentRead >= sizes.read) await this.#closeSegment();
      }
      await this.#closeSegment();
      await this.#proving;
    } finally {
      await Promise.allSettled([...this.#writing, this.#proving]);
    }
  }

  async #skip({ start, length }: Extent): Promise<void> {
    const { writer, holes } = this.#options;
    if (holes === 'zero') await this.#begin(writer.zero(start, length));
  }

  async #copy({ start, data, length }: Data): Promise<void> {
    const { writer, progress, onSent } = this.#options;
    this.#segmentRead += length;
    const changed = this.#mayBeThere ? await this.#differences(start, data) : [{ start: 0, length }];
    if (changed.length === 0) return;
    for (const part of changed) {
      await this.#begin(writer.write(start + part.start, data.subarray(part.start, part.start + part.length)));
      progress.bytesWritten += part.length;
      onSent?.(part.length);
      this.#segmentBytes += part.length;
    }
    this.#segment.push({ start, length, checksum: crc32(data) });
  }

  get #mayBeThere(): boolean {
    const { compares, isResumed } = this.#options;
    return compares || (isResumed && this.#strange < 2);
  }

  /** Runs of blocks that the target has otherwise, within the piece. */
  async #differences(start: number, data: Uint8Array): Promise<readonly Extent[]> {
    const there = await this.#options.writer.read(start, data.length);
    const runs: { start: number; length: number }[] = [];
    let same = 0;
    for (let at = 0; at < data.length; at += sizes.block) {
      const end = Math.min(at + sizes.block, data.length);
      if (Buffer.compare(data.subarray(at, end), there.subarray(at, end)) === 0) {
        same += 1;
        continue;
      }
      const last = runs.at(-1);
      if (last !== undefined && last.start + last.length === at) last.length += end - at;
      else runs.push({ start: at, length: end - at });
    }
    this.#strange = same === 0 ? this.#strange + 1 : 0;
    return runs;
  }

  async #begin(write: Promise<void>): Promise<void> {
    // Looked at when its turn comes; until then it must not count as unhandled.
    write.catch(() => undefined);
    this.#writing.push(write);
    if (this.#writing.length >= sizes.writesAtOnce) await this.#writing.shift();
  }

  async #closeSegment(): Promise<void> {
    await Promise.all(this.#writing.splice(0));
    await this.#proving;
    await this.#options.check();
    const [segment, end] = [this.#segment, this.#end];
    this.#segment = [];
    this.#segmentBytes = 0;
    this.#segmentRead = 0;
    this.#proving = this.#prove(segment, end);
    this.#proving.catch(() => undefined);
  }

  async #prove(segment: readonly Written[], end: number): Promise<void> {
    const { writer, progress } = this.#options;
    await writer.flush();
    for (const { start, length, checksum } of segment)
      if (crc32(await writer.read(start, length, this.#readBack)) !== checksum)
        throw new OperationError(
          'Unavailable',
          `bytes ${start} to ${start + length} of the target's disk don't read as they were written: they are copied again`,
          { code: 'CONTENT_DIFFERS' },
        );
    progress.offset = end;
  }
}
