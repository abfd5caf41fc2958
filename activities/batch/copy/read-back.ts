import { crc32 } from 'node:zlib';
import { OperationError } from '../../failures.ts';
import type { DiskWriter, Extent } from '../disk-port.ts';
import { pieceBytes, type Data } from './pieces.ts';

/** Shows that a target has what was written to it. */
export interface Proof {
  /** Takes note of a piece as it came from the source, while its bytes are there. */
  expect(piece: Data): void;
  /** Resolves once all that was expected before this call is kept and proven. */
  prove(): Promise<void>;
}

/** A piece that was written, with the checksum of what it was read as. */
type Written = Extent & { readonly checksum: number };

/** While one piece is on its way the checksum of another is taken. */
const readsAtOnce = 2;

/** Flushes, reads back what was written, and compares its checksums with those of what came from the source. One proof at a time. */
export class ReadBack implements Proof {
  readonly #writer: DiskWriter;
  readonly #buffers: Buffer[] = [];
  #written: Written[] = [];

  constructor(writer: DiskWriter) {
    this.#writer = writer;
  }

  expect({ start, length, data }: Data): void {
    this.#written.push({ start, length, checksum: crc32(data) });
  }

  async prove(): Promise<void> {
    const left = this.#written[Symbol.iterator]();
    this.#written = [];
    await this.#writer.flush();
    let isOver = false;
    const readOn = async (buffer: Buffer): Promise<void> => {
      for (const piece of left) {
        if (isOver) return;
        await this.#readBack(piece, buffer).catch((error: unknown) => {
          isOver = true;
          throw error;
        });
      }
    };
    // Waits for all of them: a failure must not leave another one under way.
    const ends = await Promise.allSettled(
      Array.from({ length: readsAtOnce }, (_, index) => readOn(this.#buffer(index))),
    );
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  #buffer(index: number): Buffer {
    return (this.#buffers[index] ??= Buffer.allocUnsafeSlow(pieceBytes));
  }

  async #readBack({ start, length, checksum }: Written, buffer: Buffer): Promise<void> {
    if (crc32(await this.#writer.read(start, length, buffer)) === checksum) return;
    throw new OperationError(
      'Unavailable',
      `bytes ${start} to ${start + length} of the target's disk don't read as they were written: they are copied again`,
      { code: 'CONTENT_DIFFERS' },
    );
  }
}
