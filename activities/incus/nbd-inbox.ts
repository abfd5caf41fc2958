import type { Duplex } from 'node:stream';
import { giveBack } from '../give-back.ts';

interface Waiting {
  readonly into: Buffer;
  /** Bytes that are there. */
  filled: number;
  readonly resolve: (bytes: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** What came in on a connection, to be read in pieces of a given length by one reader; its chunks are nobody else's. */
export class Inbox {
  /** What nobody has asked for yet. */
  readonly #chunks: Buffer[] = [];
  /** So much of the first chunk is read. */
  #read = 0;
  #waiting: Waiting | undefined;
  #failure: Error | undefined;

  constructor(socket: Duplex) {
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#serve();
    });
    socket.on('error', (error) => this.fail(error));
    socket.on('end', () => this.fail(new Error('the server ended the connection')));
    socket.on('close', () => this.fail(new Error('the connection was closed')));
  }

  /** Resolves with exactly so many bytes, or fails with what became of the connection. */
  read(length: number): Promise<Buffer> {
    return this.fill(Buffer.allocUnsafe(length));
  }

  /** The same into a buffer of the caller, each byte of which is copied once. */
  fill(into: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { into, filled: 0, resolve, reject };
      this.#serve();
    });
  }

  /** The first failure counts: later ones are its consequence. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#serve();
  }

  #serve(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#pour(waiting);
    if (waiting.filled === waiting.into.length) {
      this.#waiting = undefined;
      waiting.resolve(waiting.into);
    } else if (this.#failure !== undefined) {
      this.#waiting = undefined;
      waiting.reject(this.#failure);
    }
  }

  #pour(waiting: Waiting): void {
    const { into } = waiting;
    for (let [chunk] = this.#chunks; chunk !== undefined && waiting.filled < into.length; [chunk] = this.#chunks) {
      const poured = chunk.copy(into, waiting.filled, this.#read);
      waiting.filled += poured;
      this.#read += poured;
      if (this.#read < chunk.length) return;
      this.#chunks.shift();
      this.#read = 0;
      giveBack(chunk);
    }
  }
}
