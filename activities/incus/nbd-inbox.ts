import type { Duplex } from 'node:stream';

interface Waiting {
  readonly length: number;
  readonly resolve: (bytes: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** What came in on a connection, to be read in pieces of a given length by one reader. */
export class Inbox {
  #chunks: Buffer[] = [];
  #length = 0;
  #waiting: Waiting | undefined;
  #failure: Error | undefined;

  constructor(socket: Duplex) {
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
      this.#serve();
    });
    socket.on('error', (error) => this.fail(error));
    socket.on('end', () => this.fail(new Error('the server ended the connection')));
    socket.on('close', () => this.fail(new Error('the connection was closed')));
  }

  /** Resolves with exactly so many bytes, or fails with what became of the connection. */
  read(length: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { length, resolve, reject };
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
    if (this.#length >= waiting.length) {
      this.#waiting = undefined;
      waiting.resolve(this.#take(waiting.length));
    } else if (this.#failure !== undefined) {
      this.#waiting = undefined;
      waiting.reject(this.#failure);
    }
  }

  #take(length: number): Buffer {
    const taken: Buffer[] = [];
    for (let missing = length; missing > 0;) {
      const [chunk] = this.#chunks;
      if (chunk === undefined) break;
      if (chunk.length <= missing) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(missing);
      taken.push(chunk.subarray(0, missing));
      missing -= Math.min(chunk.length, missing);
    }
    this.#length -= length;
    return taken.length === 1 && taken[0] !== undefined ? taken[0] : Buffer.concat(taken);
  }
}
