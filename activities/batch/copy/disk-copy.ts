import type { DiskWriter, Extent } from '../disk-port.ts';
import { gathered, pieceBytes, type Data, type Piece } from './pieces.ts';
import { ReadBack, type Proof } from './read-back.ts';

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
  /** Default: what was written is read back. */
  readonly proof?: Proof;
}

/** Writes pieces to their places and proves them segment by segment: while one is proven the next one is written. */
export class DiskCopy {
  readonly #options: DiskCopyOptions;
  readonly #writing: Promise<void>[] = [];
  #segmentBytes = 0;
  #segmentRead = 0;
  #proving: Promise<void> = Promise.resolve();
  readonly #proof: Proof;
  /** What the target has where a piece goes, one after the other. */
  #there: Buffer | undefined;
  /** Pieces in a row without a block that was there already; after two of them the attempt before has not come so far. */
  #strange = 0;
  #end = 0;

  constructor(options: DiskCopyOptions) {
    this.#options = options;
    this.#proof = options.proof ?? new ReadBack(options.writer);
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

  async #copy(piece: Data): Promise<void> {
    const { writer, progress, onSent } = this.#options;
    const { start, data, length } = piece;
    this.#segmentRead += length;
    const changed = this.#mayBeThere ? await this.#differences(start, data) : [{ start: 0, length }];
    if (changed.length === 0) return;
    for (const part of changed) {
      await this.#begin(writer.write(start + part.start, data.subarray(part.start, part.start + part.length)));
      progress.bytesWritten += part.length;
      onSent?.(part.length);
      this.#segmentBytes += part.length;
    }
    this.#proof.expect(piece);
  }

  get #mayBeThere(): boolean {
    const { compares, isResumed } = this.#options;
    return compares || (isResumed && this.#strange < 2);
  }

  /** Runs of blocks that the target has otherwise, within the piece. */
  async #differences(start: number, data: Uint8Array): Promise<readonly Extent[]> {
    this.#there ??= Buffer.allocUnsafeSlow(pieceBytes);
    const there = await this.#options.writer.read(start, data.length, this.#there);
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
    this.#segmentBytes = 0;
    this.#segmentRead = 0;
    this.#proving = this.#prove(this.#end);
    this.#proving.catch(() => undefined);
  }

  async #prove(end: number): Promise<void> {
    await this.#proof.prove();
    this.#options.progress.offset = end;
  }
}
