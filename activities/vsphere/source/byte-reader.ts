/** Takes a stream of chunks apart in portions of the reader's choice; holds one chunk and one portion, and overwrites neither. */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array, unknown>;
  #chunk: Buffer = Buffer.alloc(0);
  #position = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Bytes taken so far. */
  get position(): number {
    return this.#position;
  }

  /** The next bytes, fewer at the end of the stream. */
  async upTo(count: number): Promise<Buffer> {
    if (this.#chunk.length === 0 && !(await this.#fill())) return this.#chunk;
    if (this.#chunk.length >= count) return this.#cut(count);
    const bytes = Buffer.alloc(count);
    let at = 0;
    while (at < count && (this.#chunk.length > 0 || (await this.#fill()))) {
      const piece = this.#cut(Math.min(count - at, this.#chunk.length));
      piece.copy(bytes, at);
      at += piece.length;
    }
    return bytes.subarray(0, at);
  }

  /** Passes over bytes; false: the stream ended before. */
  async skip(count: number): Promise<boolean> {
    for (let left = count; left > 0;) {
      if (this.#chunk.length === 0 && !(await this.#fill())) return false;
      left -= this.#cut(Math.min(left, this.#chunk.length)).length;
    }
    return true;
  }

  /** Ends the stream where it is. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }

  #cut(count: number): Buffer {
    const piece = this.#chunk.subarray(0, count);
    this.#chunk = this.#chunk.subarray(count);
    this.#position += count;
    return piece;
  }

  async #fill(): Promise<boolean> {
    for (;;) {
      const next = await this.#source.next();
      if (next.done === true) return false;
      if (next.value.length === 0) continue;
      this.#chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
      return true;
    }
  }
}
