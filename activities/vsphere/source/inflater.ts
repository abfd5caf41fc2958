import { constants, createInflate, type Inflate } from 'node:zlib';

import { giveBack } from '../../give-back.ts';

/** Of the engine's own output buffers, bytes: smaller ones are full more often, larger ones wait longer for their end. */
const outputBytes = 256 * 1024;

/**
 * Decompresses pieces, each a zlib stream of its own, one after the other, in a thread of Node's pool. One engine does for all of
 * them: to make one costs three times what it takes to decompress 64 KiB.
 */
export class Inflater {
  #engine: Inflate | undefined;
  #into: Buffer = Buffer.alloc(0);
  #filled = 0;
  /** Whoever waits for the piece that is being decompressed. */
  #fail: (error: Error) => void = () => undefined;

  /** Answers the part of `into` that is filled. Fails where the piece is damaged, incomplete, or more than fits. */
  async inflate(compressed: Uint8Array, into: Buffer): Promise<Buffer> {
    const engine = (this.#engine ??= this.#open());
    [this.#into, this.#filled] = [into, 0];
    const before = engine.bytesWritten;
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject;
      engine.write(compressed, () => resolve());
    });
    // Bytes behind the end of the data end the engine too.
    if (engine.bytesWritten - before < compressed.length) this.close();
    else engine.reset();
    return into.subarray(0, this.#filled);
  }

  close(): void {
    this.#engine?.destroy();
    this.#engine = undefined;
  }

  #open(): Inflate {
    // Each piece is the last one: what ends before its checksum is an error.
    const engine = createInflate({ flush: constants.Z_FINISH, chunkSize: outputBytes });
    engine.on('error', (error) => this.#fail(error));
    engine.on('data', (data: Buffer) => {
      if (data.length > this.#into.length - this.#filled) {
        this.#fail(new Error(`it has more than ${this.#into.length} bytes`));
        engine.destroy();
        return;
      }
      this.#into.set(data, this.#filled);
      this.#filled += data.length;
      // The last part of an output buffer: the engine goes on with a new one.
      if (data.byteOffset + data.byteLength === data.buffer.byteLength) giveBack(new Uint8Array(data.buffer));
    });
    return engine;
  }
}
