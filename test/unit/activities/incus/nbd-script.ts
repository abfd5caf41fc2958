import { duplexPair, type Duplex } from 'node:stream';
import { waitFor } from '../../../support/wait-for.ts';

export const greeting = Buffer.from('NBDMAGICIHAVEOPT\0\x03', 'latin1');

const options = { go: 7, structuredReply: 8 } as const;
const replies = { ack: 1, info: 3, unsupported: 0x80000001 } as const;

export interface Request {
  readonly command: number;
  readonly cookie: Buffer;
  readonly offset: number;
  readonly length: number;
  /** Of a write. */
  readonly data: Buffer;
}

export interface Offer {
  readonly size?: number;
  /** Of the export; default: flush, write zeroes. */
  readonly flags?: number;
  readonly isStructured?: boolean;
  readonly blocks?: { readonly minimum: number; readonly maximum: number };
}

/** Types of the chunks of structured replies. */
export const chunk = { none: 0, data: 1, hole: 2, error: 0x8001, errorAt: 0x8002 } as const;

/** The far side of a connection, that shakes hands and then does what a test says: it answers no request by itself. */
export class Script {
  readonly requests: Request[] = [];
  readonly socket: Duplex;
  readonly #far: Duplex;
  readonly #offer: Offer;
  #buffer = Buffer.alloc(0);
  #stage: 'flags' | 'options' | 'requests' = 'flags';

  constructor(offer: Offer = {}) {
    this.#offer = offer;
    [this.socket, this.#far] = duplexPair();
    this.#far.on('error', () => undefined);
    this.#far.write(greeting);
    this.#far.on('data', (bytes: Buffer) => {
      this.#buffer = Buffer.concat([this.#buffer, bytes]);
      while (this.#parse());
    });
  }

  reply({ cookie }: Pick<Request, 'cookie'>, errno = 0, data: Buffer = Buffer.alloc(0)): void {
    this.#far.write(Buffer.concat([u32(0x67446698), u32(errno), cookie, data]));
  }

  /** One chunk of a structured reply. */
  chunk({ cookie }: Pick<Request, 'cookie'>, type: number, payload: Buffer, isLast: boolean): void {
    const head = Buffer.concat([u32(0x668e33ef), u16(isLast ? 1 : 0), u16(type), cookie, u32(payload.length)]);
    this.#far.write(Buffer.concat([head, payload]));
  }

  say(bytes: Buffer): void {
    this.#far.write(bytes);
  }

  async arrived(count: number): Promise<void> {
    await waitFor(`${count} requests`, () => this.requests.length >= count);
  }

  /** What was sent until now has arrived: a round trip of the event loop later nothing more comes. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** False: more bytes are needed. */
  #parse(): boolean {
    if (this.#stage === 'flags') {
      if (this.#take(4) === undefined) return false;
      this.#stage = 'options';
      return true;
    }
    return this.#stage === 'options' ? this.#option() : this.#request();
  }

  #option(): boolean {
    const head = this.#peek(16);
    if (head === undefined || this.#take(16 + head.readUInt32BE(12)) === undefined) return false;
    const { isStructured, blocks, size = 64 * 2 ** 20, flags = 0x45 } = this.#offer;
    const option = head.readUInt32BE(8);
    const reply = (type: number, data: Buffer = Buffer.alloc(0)): void =>
      this.say(Buffer.concat([Buffer.from('0003e889045565a9', 'hex'), u32(option), u32(type), u32(data.length), data]));
    if (option === options.structuredReply) reply(isStructured === true ? replies.ack : replies.unsupported);
    if (option !== options.go) return true;
    reply(replies.info, Buffer.concat([u16(0), u64(size), u16(flags)]));
    if (blocks !== undefined)
      reply(replies.info, Buffer.concat([u16(3), u32(blocks.minimum), u32(4_096), u32(blocks.maximum)]));
    reply(replies.ack);
    this.#stage = 'requests';
    return true;
  }

  #request(): boolean {
    const head = this.#peek(28);
    if (head === undefined) return false;
    const [command, length] = [head.readUInt16BE(6), head.readUInt32BE(24)];
    const whole = this.#take(28 + (command === 1 ? length : 0));
    if (whole === undefined) return false;
    const offset = Number(head.readBigUInt64BE(16));
    this.requests.push({ command, cookie: whole.subarray(8, 16), offset, length, data: whole.subarray(28) });
    return true;
  }

  #peek(length: number): Buffer | undefined {
    return this.#buffer.length < length ? undefined : this.#buffer.subarray(0, length);
  }

  #take(length: number): Buffer | undefined {
    const taken = this.#peek(length);
    if (taken === undefined) return undefined;
    this.#buffer = this.#buffer.subarray(length);
    return Buffer.from(taken);
  }
}

export const u16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
};
export const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
export const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};
