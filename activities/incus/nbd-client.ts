import type { Duplex } from 'node:stream';
import pLimit from 'p-limit';
import { shakeHands, type Export } from './nbd-handshake.ts';
import { Inbox } from './nbd-inbox.ts';

const limits = {
  /** Below what every server takes in one request (32 MiB), large enough for full speed. */
  chunkBytes: 4 * 1024 * 1024,
  /** Carries no data: the server may take its time for more at once. */
  zeroBytes: 256 * 1024 * 1024,
  inFlight: 2,
  /** Of one request; slow storage included. */
  replyMs: 120_000,
  /** For a server to take note that we leave. */
  goodbyeMs: 2_000,
} as const;

const magic = { request: 0x25609513, reply: 0x67446698 } as const;
const commands = { read: 0, write: 1, disconnect: 2, flush: 3, zero: 6 } as const;

/** The server did not do what one request asked for; `errno` says why. */
export class NbdReplyError extends Error {
  override readonly name = 'NbdReplyError';
  readonly errno: number;

  constructor(command: string, offset: number, errno: number) {
    super(`${command} at byte ${offset} failed with error ${errno}${names[errno] ?? ''}`);
    this.errno = errno;
  }
}

export const outOfSpace = 28;

const names: Readonly<Record<number, string>> = {
  1: ' (not permitted)',
  5: ' (input/output)',
  12: ' (out of memory)',
  22: ' (invalid)',
  [outOfSpace]: ' (no space)',
  108: ' (the server is shutting down)',
};

interface Pending {
  readonly command: keyof typeof commands;
  readonly offset: number;
  /** Bytes that follow a good reply. */
  readonly answerLength: number;
  readonly resolve: (data: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Blocks of one disk over an NBD connection. Every range is cut into chunks of which two are under way at a time. Fails with
 * `NbdReplyError` for one request, with whatever ended the connection for all of them.
 */
export class NbdClient {
  readonly disk: Export;
  readonly #socket: Duplex;
  readonly #inbox: Inbox;
  readonly #pending = new Map<bigint, Pending>();
  readonly #limit = pLimit(limits.inFlight);
  readonly #running = new Set<Promise<unknown>>();
  #lastCookie = 0n;
  #failure: Error | undefined;

  private constructor(socket: Duplex, inbox: Inbox, disk: Export) {
    this.#socket = socket;
    this.#inbox = inbox;
    this.disk = disk;
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

  async read(start: number, length: number): Promise<Buffer> {
    const parts = pieces(start, length, limits.chunkBytes);
    return Buffer.concat(
      await Promise.all(parts.map((part) => this.#request('read', part.start, part.length, undefined, part.length))),
    );
  }

  async write(start: number, data: Uint8Array): Promise<void> {
    await Promise.all(
      pieces(start, data.length, limits.chunkBytes).map((part) =>
        this.#request(
          'write',
          part.start,
          part.length,
          data.subarray(part.start - start, part.start - start + part.length),
        ),
      ),
    );
  }

  async zero(start: number, length: number): Promise<void> {
    if (!this.disk.canWriteZeroes) {
      const zeros = Buffer.alloc(Math.min(length, limits.chunkBytes));
      for (const part of pieces(start, length, zeros.length))
        await this.write(part.start, zeros.subarray(0, part.length));
      return;
    }
    await Promise.all(
      pieces(start, length, limits.zeroBytes).map((part) => this.#request('zero', part.start, part.length)),
    );
  }

  /** Covers every write that was begun before, also one that nobody has waited for yet. */
  async flush(): Promise<void> {
    await Promise.allSettled(this.#running);
    await this.#request('flush', 0, 0);
  }

  /** Says goodbye; what wasn't flushed may be lost. Never fails. */
  async close(): Promise<void> {
    if (!this.#socket.destroyed && this.#failure === undefined) {
      const left = new Promise((resolve) => this.#socket.once('close', resolve));
      this.#socket.end(header('disconnect', 0n, 0, 0));
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

  #request(
    command: Pending['command'],
    offset: number,
    length: number,
    payload?: Uint8Array,
    answerLength = 0,
  ): Promise<Buffer> {
    const running = this.#limit(() => this.#send(command, offset, length, payload, answerLength));
    this.#running.add(running);
    const forget = (): boolean => this.#running.delete(running);
    running.then(forget, forget);
    return running;
  }

  #send(
    command: Pending['command'],
    offset: number,
    length: number,
    payload: Uint8Array | undefined,
    answerLength: number,
  ): Promise<Buffer> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const cookie = ++this.#lastCookie;
    const answered = new Promise<Buffer>((resolve, reject) => {
      this.#pending.set(cookie, { command, offset, answerLength, resolve, reject });
    });
    this.#socket.cork();
    this.#socket.write(header(command, cookie, offset, length));
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
    const head = await this.#inbox.read(16);
    const cookie = head.readBigUInt64BE(8);
    const pending = this.#pending.get(cookie);
    if (head.readUInt32BE() !== magic.reply || pending === undefined)
      throw new Error('the server sent a reply that is not known');
    const errno = head.readUInt32BE(4);
    const data = errno === 0 ? await this.#inbox.read(pending.answerLength) : undefined;
    this.#pending.delete(cookie);
    if (data !== undefined) pending.resolve(data);
    else pending.reject(new NbdReplyError(pending.command, pending.offset, errno));
  }
}

function header(command: keyof typeof commands, cookie: bigint, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(28);
  bytes.writeUInt32BE(magic.request);
  bytes.writeUInt16BE(commands[command], 6);
  bytes.writeBigUInt64BE(cookie, 8);
  bytes.writeBigUInt64BE(BigInt(offset), 16);
  bytes.writeUInt32BE(length, 24);
  return bytes;
}

/** A range in pieces of at most so many bytes. */
function pieces(start: number, length: number, most: number): { readonly start: number; readonly length: number }[] {
  return Array.from({ length: Math.ceil(length / most) }, (_, index) => ({
    start: start + index * most,
    length: Math.min(most, length - index * most),
  }));
}
