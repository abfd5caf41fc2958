import type { Duplex } from 'node:stream';
import type { BlockSizes } from './nbd-blocks.ts';
import type { Inbox } from './nbd-inbox.ts';

const magic = {
  greeting: 0x4e42444d41474943n, // NBDMAGIC
  option: 0x49484156454f5054n, // IHAVEOPT
  reply: 0x3e889045565a9n,
} as const;

const fixedNewstyle = 1;
const options = { list: 3, go: 7, structuredReply: 8 } as const;
const replies = { ack: 1, server: 2, info: 3, unknown: 2 ** 31 + 6 } as const;
/** From here on a reply says why not. */
const firstError = 2 ** 31;
const infos = { export: 0, blockSize: 3 } as const;

/** Where a server doesn't say it: what every server takes. */
const usualBlocks: BlockSizes = { minimum: 1, maximum: 32 * 1024 * 1024 };

/** Longer answers to an option come from no NBD server. */
const longestReply = 64 * 1024;

/** What a server says of the disk it serves. */
export interface Export {
  readonly size: number;
  readonly isReadOnly: boolean;
  readonly canFlush: boolean;
  readonly canTrim: boolean;
  readonly canWriteZeroes: boolean;
  readonly blocks: BlockSizes;
  /** Reads are answered in chunks: holes without their zeros, failures with words. */
  readonly isStructured: boolean;
}

/** A server that doesn't speak NBD as it must, or refuses the disk. */
export class NbdRefusal extends Error {
  override readonly name = 'NbdRefusal';
}

/** Brings a new connection to the point where blocks can be read and written. */
export async function shakeHands(socket: Duplex, inbox: Inbox): Promise<Export> {
  const greeting = await inbox.read(18);
  if (greeting.readBigUInt64BE(0) !== magic.greeting || greeting.readBigUInt64BE(8) !== magic.option)
    throw new NbdRefusal('what answers does not speak NBD');
  const flags = greeting.readUInt16BE(16);
  if ((flags & fixedNewstyle) === 0) throw new NbdRefusal('the server speaks only the old form of NBD');
  const accepted = Buffer.alloc(4);
  accepted.writeUInt32BE(flags & 3);
  socket.write(accepted);
  const isStructured = await askForStructuredReplies(socket, inbox);
  return { ...((await go(socket, inbox, '')) ?? (await goToOnly(socket, inbox))), isStructured };
}

async function askForStructuredReplies(socket: Duplex, inbox: Inbox): Promise<boolean> {
  socket.write(optionOf(options.structuredReply, Buffer.alloc(0)));
  const { type, payload } = await replyTo(options.structuredReply, inbox);
  if (type !== replies.ack && type < firstError) throw refused(type, payload);
  return type === replies.ack;
}

type Found = Omit<Export, 'isStructured'>;

/** Servers whose export has a name serve just one all the same. */
async function goToOnly(socket: Duplex, inbox: Inbox): Promise<Found> {
  const names = await list(socket, inbox);
  const [only] = names;
  const found = names.length === 1 && only !== undefined ? await go(socket, inbox, only) : undefined;
  if (found === undefined)
    throw new NbdRefusal(`the server does not say which of its ${names.length} exports is meant`);
  return found;
}

/** Undefined: there is no export of this name. */
async function go(socket: Duplex, inbox: Inbox, name: string): Promise<Found | undefined> {
  const bytes = Buffer.from(name);
  const data = Buffer.alloc(4 + bytes.length + 4);
  data.writeUInt32BE(bytes.length);
  bytes.copy(data, 4);
  data.writeUInt16BE(1, 4 + bytes.length); // one more thing that we want to know
  data.writeUInt16BE(infos.blockSize, 4 + bytes.length + 2);
  socket.write(optionOf(options.go, data));
  let found: Omit<Found, 'blocks'> | undefined;
  let blocks = usualBlocks;
  for (;;) {
    const { type, payload } = await replyTo(options.go, inbox);
    const info = type === replies.info && payload.length >= 2 ? payload.readUInt16BE() : undefined;
    if (info === infos.export && payload.length >= 12)
      found = exportOf(payload.readBigUInt64BE(2), payload.readUInt16BE(10));
    else if (info === infos.blockSize && payload.length >= 14)
      blocks = blockSizes(payload.readUInt32BE(2), payload.readUInt32BE(10));
    else if (type === replies.ack && found !== undefined) return { ...found, blocks };
    else if (type === replies.unknown) return undefined;
    else if (type !== replies.info) throw refused(type, payload);
  }
}

async function list(socket: Duplex, inbox: Inbox): Promise<string[]> {
  socket.write(optionOf(options.list, Buffer.alloc(0)));
  const names: string[] = [];
  for (;;) {
    const { type, payload } = await replyTo(options.list, inbox);
    if (type === replies.ack) return names;
    if (type !== replies.server || payload.length < 4) throw refused(type, payload);
    names.push(payload.subarray(4, 4 + payload.readUInt32BE()).toString('utf8'));
  }
}

async function replyTo(option: number, inbox: Inbox): Promise<{ readonly type: number; readonly payload: Buffer }> {
  const header = await inbox.read(20);
  const length = header.readUInt32BE(16);
  if (header.readBigUInt64BE() !== magic.reply || header.readUInt32BE(8) !== option || length > longestReply)
    throw new NbdRefusal('the server answers in a form that is not NBD');
  return { type: header.readUInt32BE(12), payload: await inbox.read(length) };
}

function optionOf(option: number, data: Buffer): Buffer {
  const header = Buffer.alloc(16);
  header.writeBigUInt64BE(magic.option);
  header.writeUInt32BE(option, 8);
  header.writeUInt32BE(data.length, 12);
  return Buffer.concat([header, data]);
}

function refused(type: number, payload: Buffer): NbdRefusal {
  const words = payload.toString('utf8').slice(0, 200);
  return new NbdRefusal(`the server refuses the disk (reply ${type >>> 0})${words === '' ? '' : `: ${words}`}`);
}

function blockSizes(minimum: number, maximum: number): BlockSizes {
  // As the protocol has them: what is none of these would make us cut ranges into nonsense.
  const isPower = minimum > 0 && (minimum & (minimum - 1)) === 0;
  if (!isPower || minimum > 64 * 1024 || maximum < minimum)
    throw new NbdRefusal(`the server wants blocks of ${minimum} to ${maximum} bytes, which no server may`);
  return { minimum, maximum };
}

function exportOf(size: bigint, flags: number): Omit<Found, 'blocks'> {
  const has = (bit: number): boolean => (flags & (1 << bit)) !== 0;
  return { size: Number(size), isReadOnly: has(1), canFlush: has(2), canTrim: has(5), canWriteZeroes: has(6) };
}
