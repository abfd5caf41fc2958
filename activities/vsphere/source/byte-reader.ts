import { giveBack } from '../../give-back.ts';

/** Takes a stream of chunks apart in portions of the reader's choice. Holds one chunk, whose memory it frees when it is used up. */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array, unknown>;
  #chunk: Uint8Array = new Uint8Array(0);
  /** So much of the chunk is taken. */
  #taken = 0;
  #position = 0;

  /** @param source its chunks become the reader's */
  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Bytes taken so far. */
  get position(): number {
    return this.#position;
  }

  /** The next bytes, fewer at the end of the stream. */
  async upTo(count: number): Promise<Buffer> {
    return await this.fill(Buffer.alloc(count));
  }

  /** The same into a buffer of the caller; answers the part of it that is filled. */
  async fill(into: Buffer): Promise<Buffer> {
    let at = 0;
    while (at < into.length) {
      const piece = this.#next(into.length - at) ?? (await this.#nextChunk(into.length - at));
      if (piece === undefined) break;
      into.set(piece, at);
      at += piece.length;
      this.#take(piece.length);
    }
    return into.subarray(0, at);
  }

  /** Passes over bytes; false: the stream ended before. */
  async skip(count: number): Promise<boolean> {
    for (let left = count; left > 0;) {
      const piece = this.#next(left) ?? (await this.#nextChunk(left));
      if (piece === undefined) return false;
      left -= piece.length;
      this.#take(piece.length);
    }
    return true;
  }

  /** Ends the stream where it is. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }

  /** What is here already, at most so many bytes. */
  #next(most: number): Uint8Array | undefined {
    const left = this.#chunk.length - this.#taken;
    return left === 0 ? undefined : this.#chunk.subarray(this.#taken, this.#taken + Math.min(most, left));
  }

  async #nextChunk(most: number): Promise<Uint8Array | undefined> {
    for (;;) {
      const next = await this.#source.next();
      if (next.done === true) return undefined;
      if (next.value.length === 0) continue;
      [this.#chunk, this.#taken] = [next.value, 0];
      return this.#next(most);
    }
  }

  #take(count: number): void {
    this.#position += count;
    this.#taken += count;
    if (this.#taken < this.#chunk.length) return;
    giveBack(this.#chunk);
    [this.#chunk, this.#taken] = [new Uint8Array(0), 0];
  }
}
