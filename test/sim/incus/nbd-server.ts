import type { FileHandle } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import type { Effect } from './faults.ts';

export interface NbdDisk {
  readonly handle: FileHandle;
  readonly size: number;
  readonly writable: boolean;
  /** Under which the disk is served; empty: the default. */
  readonly exportName: string;
  readonly effect: Effect | undefined;
  /** Told of the data of each write, bytes. */
  readonly onWrite: (length: number) => void;
}

const flagsOf = (writable: boolean): number => 0x1 | (writable ? 0 : 0x2) | 0x4 | 0x20 | 0x40; // has flags, read-only, flush, trim, write zeroes
/** What real servers answer to all that they refuse, also to writes to what is read-only. */
const invalid = 22;
const zeros = Buffer.alloc(1024 * 1024);

/** Speaks the fixed newstyle form of NBD until the client leaves, with simple replies. */
export async function serveNbd(socket: Duplex, disk: NbdDisk): Promise<void> {
  const input = new Bytes(socket, disk.effect?.kind === 'nbd-cut' ? disk.effect.afterBytes : Infinity);
  try {
    if (await negotiate(socket, input, disk)) await transmit(socket, input, disk);
  } catch {
    // The client, or a fault, has ended the connection.
  } finally {
    socket.destroy();
  }
}

/** False: the client has given up. */
async function negotiate(socket: Duplex, input: Bytes, disk: NbdDisk): Promise<boolean> {
  socket.write(Buffer.concat([Buffer.from('NBDMAGICIHAVEOPT'), u16(0x3)]));
  const noZeroes = ((await input.take(4)).readUInt32BE() & 0x2) !== 0;
  for (;;) {
    const head = await input.take(16);
    const option = head.readUInt32BE(8);
    const data = await input.take(head.readUInt32BE(12));
    const reply = (type: number, payload = Buffer.alloc(0)): void => {
      socket.write(
        Buffer.concat([Buffer.from('0003e889045565a9', 'hex'), u32(option), u32(type), u32(payload.length), payload]),
      );
    };
    const facts = Buffer.concat([u64(BigInt(disk.size)), u16(flagsOf(disk.writable))]);
    switch (option) {
      case 1: // EXPORT_NAME
        if (data.toString() !== disk.exportName) return false;
        socket.write(Buffer.concat([facts, noZeroes ? Buffer.alloc(0) : Buffer.alloc(124)]));
        return true;
      case 2: // ABORT
        reply(1);
        return false;
      case 3: // LIST
        reply(2, Buffer.concat([u32(disk.exportName.length), Buffer.from(disk.exportName)]));
        reply(1);
        break;
      case 7: // GO
        if (data.subarray(4, 4 + data.readUInt32BE()).toString() !== disk.exportName) {
          reply(0x80000006, Buffer.from('export not known'));
          break;
        }
        reply(3, Buffer.concat([u16(0), facts]));
        reply(1);
        return true;
      default:
        reply(0x80000001, Buffer.from('option not supported'));
    }
  }
}

async function transmit(socket: Duplex, input: Bytes, disk: NbdDisk): Promise<void> {
  let writes = 0;
  for (;;) {
    const head = await input.take(28);
    if (head.readUInt32BE() !== 0x25609513) return;
    const command = head.readUInt16BE(6);
    const cookie = head.subarray(8, 16);
    const offset = Number(head.readBigUInt64BE(16));
    const length = head.readUInt32BE(24);
    const payload = command === 1 ? Buffer.from(await input.take(length)) : undefined;
    if (payload !== undefined) {
      disk.onWrite(length);
      if (disk.effect?.kind === 'nbd-flip') payload[length >> 1] = (payload[length >> 1] ?? 0) ^ 0x10;
    }
    const reply = (errno: number, data: Buffer = Buffer.alloc(0)): void => {
      socket.write(Buffer.concat([u32(0x67446698), u32(errno), cookie, data]));
    };
    if (command === 2) return; // DISC
    const isWrite = [1, 4, 6].includes(command);
    const failure = isWrite && disk.effect?.kind === 'nbd-error' ? disk.effect : undefined;
    if (isWrite && !disk.writable) reply(invalid);
    else if (failure !== undefined && writes++ >= (failure.fromWrite ?? 0)) reply(failure.errno);
    else if (command !== 3 && offset + length > disk.size) reply(invalid);
    else reply(...(await perform(disk.handle, command, offset, length, payload)));
  }
}

async function perform(
  handle: FileHandle,
  command: number,
  offset: number,
  length: number,
  payload: Buffer | undefined,
): Promise<[number, Buffer?]> {
  switch (command) {
    case 0: {
      const data = Buffer.alloc(length);
      await handle.read(data, 0, length, offset);
      return [0, data];
    }
    case 1:
      if (payload !== undefined) await handle.write(payload, 0, length, offset);
      return [0];
    case 3:
      await handle.datasync();
      return [0];
    case 4:
    case 6:
      await zero(handle, offset, length);
      return [0];
    default:
      return [invalid];
  }
}

/** What is zero already stays a hole. */
async function zero(handle: FileHandle, offset: number, length: number): Promise<void> {
  const found = Buffer.alloc(zeros.length);
  for (let at = offset; at < offset + length; at += zeros.length) {
    const part = Math.min(zeros.length, offset + length - at);
    await handle.read(found, 0, part, at);
    if (!found.subarray(0, part).equals(zeros.subarray(0, part))) await handle.write(zeros, 0, part, at);
  }
}

const u16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
};
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
};

/** Takes bytes off a connection, up to a number at which it breaks. */
class Bytes {
  readonly #source: AsyncIterator<Buffer>;
  #buffered: Buffer[] = [];
  #length = 0;
  #left: number;

  constructor(socket: Duplex, cutAfter: number) {
    this.#source = (socket as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    this.#left = cutAfter;
  }

  async take(length: number): Promise<Buffer> {
    while (this.#length < length) {
      const next = await this.#source.next();
      if (next.done === true) throw new Error('the client has left');
      this.#left -= next.value.length;
      if (this.#left < 0) throw new Error('cut by a fault');
      this.#buffered.push(next.value);
      this.#length += next.value.length;
    }
    const all = Buffer.concat(this.#buffered);
    this.#buffered = [all.subarray(length)];
    this.#length = all.length - length;
    return all.subarray(0, length);
  }
}
