import type { Inbox } from './nbd-inbox.ts';
import { NbdReplyError, type Command } from './nbd-protocol.ts';

const magic = { simple: 0x67446698, chunk: 0x668e33ef } as const;
const lastChunk = 1;
const chunks = { none: 0, data: 1, hole: 2, error: 0x8001, errorAt: 0x8002 } as const;
/** Set in the types of all chunks that say that something failed. */
const failed = 0x8000;

/** Longer explanations of a failure come from no NBD server. */
const longestError = 8 * 1024;

/** One request and what the server has said to it so far. */
export class Answer {
  readonly command: Command;
  readonly offset: number;
  /** Read: filled by the chunks of the reply. */
  readonly data: Buffer;
  #missing: number;
  #error: NbdReplyError | undefined;

  /** `data`: for what a good reply carries. */
  constructor(command: Command, offset: number, data: Buffer) {
    this.command = command;
    this.offset = offset;
    this.data = data;
    this.#missing = data.length;
  }

  /** The failure, once the reply is over. Fails where a reply calls itself good and left bytes out. */
  end(): NbdReplyError | undefined {
    if (this.#error === undefined && this.#missing > 0) throw new Error('the server left bytes out of what was read');
    return this.#error;
  }

  fail(errno: number, words = ''): void {
    this.#error ??= new NbdReplyError(this.command, this.offset, errno, words);
  }

  /** Takes note of bytes that come now; answers the part of `data` where they belong. */
  place(offset: number, length: number): Buffer {
    const at = offset - this.offset;
    // No byte comes twice: with this, none can be missing where the sum is right.
    if (at < 0 || at + length > this.data.length || length > this.#missing)
      throw new Error('the server sent bytes that were not asked for');
    this.#missing -= length;
    return this.data.subarray(at, at + length);
  }
}

/** Reads one reply, or one chunk of one, off the connection. Answers the cookie of the request that it ends, where it ends one. */
export async function readReply(
  inbox: Inbox,
  isStructured: boolean,
  answerTo: (cookie: bigint) => Answer | undefined,
): Promise<bigint | undefined> {
  const head = await inbox.read(16);
  const cookie = head.readBigUInt64BE(8);
  const answer = answerTo(cookie);
  const kind = head.readUInt32BE();
  if (answer === undefined || (kind !== magic.simple && !(isStructured && kind === magic.chunk)))
    throw new Error('the server sent a reply that is not known');
  if (kind === magic.simple) {
    await takeSimple(inbox, head.readUInt32BE(4), answer, isStructured);
    return cookie;
  }
  const length = (await inbox.read(4)).readUInt32BE();
  await takeChunk(inbox, head.readUInt16BE(6), length, answer);
  return (head.readUInt16BE(4) & lastChunk) === 0 ? undefined : cookie;
}

async function takeSimple(inbox: Inbox, errno: number, answer: Answer, isStructured: boolean): Promise<void> {
  if (errno !== 0) answer.fail(errno);
  else if (answer.data.length > 0) {
    // What follows such a reply can't be told apart from the next one.
    if (isStructured) throw new Error('the server answered a read in the form that it has given up');
    await inbox.fill(answer.place(answer.offset, answer.data.length));
  }
}

async function takeChunk(inbox: Inbox, type: number, length: number, answer: Answer): Promise<void> {
  if (type === chunks.data && length > 8) {
    const offset = Number((await inbox.read(8)).readBigUInt64BE());
    await inbox.fill(answer.place(offset, length - 8));
  } else if (type === chunks.hole && length === 12) {
    const payload = await inbox.read(length);
    answer.place(Number(payload.readBigUInt64BE()), payload.readUInt32BE(8)).fill(0);
  } else if ((type & failed) !== 0 && length >= 6 && length <= longestError) {
    const payload = await inbox.read(length);
    answer.fail(payload.readUInt32BE(), payload.toString('utf8', 6, 6 + payload.readUInt16BE(4)));
  } else if (type !== chunks.none || length !== 0)
    throw new Error(`the server sent a chunk of the unknown type ${type}`);
}
