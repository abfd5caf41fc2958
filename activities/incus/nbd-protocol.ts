const requestMagic = 0x25609513;

export const commands = { read: 0, write: 1, disconnect: 2, flush: 3, trim: 4, zero: 6 } as const;

export type Command = keyof typeof commands;

export function requestHeader(command: Command, cookie: bigint, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(28);
  bytes.writeUInt32BE(requestMagic);
  bytes.writeUInt16BE(commands[command], 6);
  bytes.writeBigUInt64BE(cookie, 8);
  bytes.writeBigUInt64BE(BigInt(offset), 16);
  bytes.writeUInt32BE(length, 24);
  return bytes;
}

/** The server did not do what one request asked for; `errno` says why, and some servers have words for it. */
export class NbdReplyError extends Error {
  override readonly name = 'NbdReplyError';
  readonly errno: number;

  constructor(command: Command, offset: number, errno: number, words = '') {
    const why = `${errno}${names[errno] ?? ''}${words === '' ? '' : `: ${words}`}`;
    super(`${command} at byte ${offset} failed with error ${why}`);
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
  95: ' (not supported)',
  108: ' (the server is shutting down)',
};
