import type { Duplex } from 'node:stream';
import pLimit from 'p-limit';
import { byBlocks, pieces, widened, type Range } from './nbd-blocks.ts';
import { shakeHands, type Export } from './nbd-handshake.ts';
import { Inbox } from './nbd-inbox.ts';
import { requestHeader, type Command } from './nbd-protocol.ts';
import { Answer, readReply } from './nbd-replies.ts';

const limits = {
  /** Below what every server takes in one request (32 MiB). Larger ones are slower: they don't stay in the processor's cache. */
  chunkBytes: 1024 * 1024,
  /** Carries no data: the server may take its time for more at once. */
  zeroBytes: 256 * 1024 * 1024,
  /** With the size of a chunk what a long way to the server may hold. */
  inFlight: 8,
  /** Of one request; slow storage included. */
  replyMs: 120_000,
  /** For a server to take note that we leave. */
  goodbyeMs: 2_000,
} as const;

/** A request whose answer carries no bytes. */
const nothing: Buffer = Buffer.alloc(0);

interface Pending {
  readonly answer: Answer;
  readonly resolve: (data: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Blocks of one disk over an NBD connection. Every range is cut into chunks of which a few are under way at a time. Fails with
 * `NbdReplyError` for one request, with whatever ended the connection for all of them.
 */
export class NbdClient {
  readonly disk: Export;
  readonly #socket: Duplex;
  readonly #inbox: Inbox;
  readonly #chunkBytes: number;
  readonly #pending = new Map<bigint, Pending>();
  readonly #limit = pLimit(limits.inFlight);
  /** Two that change parts of the same block must not both begin with what it was before. */
  readonly #partLimit = pLimit(1);
  readonly #writing = new Set<Promise<unknown>>();
  #lastCookie = 0n;
  #failure: Error | undefined;

  private constructor(socket: Duplex, inbox: Inbox, disk: Export) {
    this.#socket = socket;
    this.#inbox = inbox;
    this.disk = disk;
    const { minimum, maximum } = disk.blocks;
    this.#chunkBytes = Math.min(limits.chunkBytes, maximum - (maximum % minimum));
    void this.#receive();
  }

  /** Shakes hands; a connection on which that fails is destroyed. */
  static async open(socket: Duplex): Promise<NbdClient> {
    const inbox = new Inbox(socket);
    try {
      return new NbdClient(socket, inbox, await shakeHands(socket, inbox));
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  /** @param into is used where it is large enough, also for the whole blocks around a range; else there is a new buffer */
  async read(start: number, length: number, into?: Buffer): Promise<Buffer> {
    const whole = widened({ start, length }, this.disk.blocks.minimum, this.disk.size);
    const isLargeEnough = into !== undefined && into.length >= whole.length;
    const data: Buffer = isLargeEnough ? into.subarray(0, whole.length) : Buffer.allocUnsafe(whole.length);
    await Promise.all(
      pieces(whole, this.#chunkBytes).map((part) => {
        const at = part.start - whole.start;
        return this.#request('read', part, undefined, data.subarray(at, at + part.length));
      }),
    );
    const skipped = start - whole.start;
    return data.subarray(skipped, skipped + length);
  }

  async write(start: number, data: Uint8Array): Promise<void> {
    const dataOf = (part: Range): Uint8Array => data.subarray(part.start - start, part.start - start + part.length);
    const write = (part: Range): Promise<unknown> => this.#request('write', part, dataOf(part));
    await this.#change({ start, length: data.length }, this.#chunkBytes, write, dataOf);
  }

  async zero(start: number, length: number): Promise<void> {
    const zeros = Buffer.alloc(Math.min(length, this.#chunkBytes));
    const zerosOf = (part: Range): Buffer => zeros.subarray(0, part.length);
    const { canWriteZeroes } = this.disk;
    await this.#change(
      { start, length },
      canWriteZeroes ? limits.zeroBytes : this.#chunkBytes,
      (part) => (canWriteZeroes ? this.#request('zero', part) : this.#request('write', part, zerosOf(part))),
      zerosOf,
    );
  }

  /** Gives whole blocks back; what they read as from then on is the server's choice. Nothing where the server takes none back. */
  async trim(start: number, length: number): Promise<void> {
    if (!this.disk.canTrim) return;
    const trim = (part: Range): Promise<unknown> => this.#request('trim', part);
    const whole = byBlocks({ start, length }, this.disk.blocks.minimum).filter(({ isWhole }) => isWhole);
    await this.#tracked(whole.flatMap((part) => pieces(part, limits.zeroBytes).map(trim)));
  }

  /** Covers every write that was begun before, also one that nobody has waited for yet. */
  async flush(): Promise<void> {
    await Promise.allSettled(this.#writing);
    await this.#request('flush', { start: 0, length: 0 });
  }

  /** Says goodbye; what wasn't flushed may be lost. Never fails. */
  async close(): Promise<void> {
    if (!this.#socket.destroyed && this.#failure === undefined) {
      const left = new Promise((resolve) => this.#socket.once('close', resolve));
      this.#socket.end(requestHeader('disconnect', 0n, 0, 0));
      const timer = setTimeout(() => this.#socket.destroy(), limits.goodbyeMs);
      await left;
      clearTimeout(timer);
    }
    this.abort(new Error('the disk was closed'));
  }

  /** Ends the connection and with it every request. */
  abort(reason: Error): void {
    this.#failure ??= reason;
    this.#socket.destroy();
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }

  /** Whole blocks as `change` does it, in pieces of at most so many bytes; parts of blocks by reading and writing the block. */
  async #change(
    range: Range,
    most: number,
    change: (part: Range) => Promise<unknown>,
    dataOf: (part: Range) => Uint8Array,
  ): Promise<void> {
    await this.#tracked(
      byBlocks(range, this.disk.blocks.minimum).flatMap((part) =>
        part.isWhole ? pieces(part, most).map(change) : [this.#partLimit(() => this.#patch(part, dataOf(part)))],
      ),
    );
  }

  async #tracked(work: readonly Promise<unknown>[]): Promise<void> {
    const ended = Promise.allSettled(work);
    this.#writing.add(ended);
    void ended.then(() => this.#writing.delete(ended));
    await Promise.all(work);
  }

  async #patch(part: Range, data: Uint8Array): Promise<void> {
    const block = widened(part, this.disk.blocks.minimum, this.disk.size);
    const bytes = await this.#request('read', block, undefined, Buffer.allocUnsafe(block.length));
    bytes.set(data, part.start - block.start);
    await this.#request('write', block, bytes);
  }

  #request(command: Command, part: Range, payload?: Uint8Array, into: Buffer = nothing): Promise<Buffer> {
    return this.#limit(() => this.#send(command, part, payload, into));
  }

  #send(command: Command, { start, length }: Range, payload: Uint8Array | undefined, into: Buffer): Promise<Buffer> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const cookie = ++this.#lastCookie;
    const answered = new Promise<Buffer>((resolve, reject) => {
      this.#pending.set(cookie, { answer: new Answer(command, start, into), resolve, reject });
    });
    this.#socket.cork();
    this.#socket.write(requestHeader(command, cookie, start, length));
    if (payload !== undefined) this.#socket.write(payload);
    this.#socket.uncork();
    const timer = setTimeout(
      () => this.abort(new Error(`the server did not answer to ${command} within ${limits.replyMs} ms`)),
      limits.replyMs,
    );
    return answered.finally(() => clearTimeout(timer));
  }

  async #receive(): Promise<void> {
    try {
      for (;;) await this.#reply();
    } catch (error) {
      this.abort(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #reply(): Promise<void> {
    const answerTo = (cookie: bigint): Answer | undefined => this.#pending.get(cookie)?.answer;
    const ended = await readReply(this.#inbox, this.disk.isStructured, answerTo);
    const pending = ended === undefined ? undefined : this.#pending.get(ended);
    if (ended === undefined || pending === undefined) return;
    const error = pending.answer.end();
    this.#pending.delete(ended);
    if (error === undefined) pending.resolve(pending.answer.data);
    else pending.reject(error);
  }
}
