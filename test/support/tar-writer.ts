import { createHash, type Hash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';

/** Data of a member: bytes, or a size whose bytes are made while they are written. */
export type Body =
  | Uint8Array
  | {
      readonly size: number;
      /** First bytes; the rest is filled. */
      readonly head?: Uint8Array;
      /** `zeros` (default) leaves a hole in the file; `pattern` never repeats within a chunk and doesn't compress away. */
      readonly fill?: 'zeros' | 'pattern';
    };

export interface TarMemberSpec {
  readonly name: string;
  readonly body?: Body;
  /** Type flag of the header; default `0`, a file. `2` symlink, `1` hard link, `3` device, `5` directory. */
  readonly typeFlag?: string;
  readonly linkName?: string;
  /** How the size is recorded; default octal. `pax` puts 0 into the header and the size into a PAX record. */
  readonly sizeAs?: 'octal' | 'base256' | 'pax';
  /** Recorded instead of the true size. */
  readonly claimedSize?: number;
  /** Further PAX records; with `path` the name. */
  readonly pax?: Readonly<Record<string, string>>;
  /** Puts the name into a GNU long name entry. */
  readonly gnuLongName?: boolean;
}

export interface TarOptions {
  /** Zero blocks at the end; default 2. */
  readonly endBlocks?: number;
  readonly trailer?: Uint8Array;
  /** Format magic; default ustar. */
  readonly magic?: 'ustar' | 'gnu' | 'v7';
}

const block = 512;
const stepBytes = 1024 * 1024;

export const bodySize = (body: Body): number => (body instanceof Uint8Array ? body.byteLength : body.size);

/** The body in chunks of at most 1 MiB. The chunks of a filled body share one buffer. */
export function* bodyChunks(body: Body): Generator<Uint8Array, void, undefined> {
  if (body instanceof Uint8Array) {
    yield body;
    return;
  }
  const head = body.head ?? new Uint8Array();
  if (head.byteLength > 0) yield head.subarray(0, body.size);
  const fill = body.fill === 'pattern' ? pattern() : new Uint8Array(stepBytes);
  for (let left = body.size - head.byteLength; left > 0; left -= stepBytes) {
    yield fill.subarray(0, Math.min(left, stepBytes));
  }
}

let madePattern: Buffer | undefined;

/** The same on every run and not compressible; made once. */
function pattern(): Uint8Array {
  return (madePattern ??= makePattern());
}

function makePattern(): Buffer {
  const bytes = Buffer.alloc(stepBytes);
  for (let at = 0, digest = Buffer.from('seed'); at < stepBytes; at += 32) {
    digest = createHash('sha256').update(digest).digest();
    digest.copy(bytes, at);
  }
  return bytes;
}

/** Hex digest of a body without holding it. */
export function bodyDigest(body: Body, algorithm: string): string {
  const hash: Hash = createHash(algorithm);
  for (const chunk of bodyChunks(body)) hash.update(chunk);
  return hash.digest('hex');
}

/** Writes a tar of these members exactly as described, valid or not. */
export async function writeTar(
  path: string,
  members: readonly TarMemberSpec[],
  options: TarOptions = {},
): Promise<void> {
  const file = await open(path, 'w');
  try {
    let position = 0;
    for (const member of members) position = await writeMember(file, position, member, options.magic ?? 'ustar');
    position += (options.endBlocks ?? 2) * block;
    if (options.trailer !== undefined) {
      await file.write(options.trailer, 0, options.trailer.byteLength, position);
      position += options.trailer.byteLength;
    }
    await file.truncate(position);
  } finally {
    await file.close();
  }
}

async function writeMember(
  file: FileHandle,
  start: number,
  member: TarMemberSpec,
  magic: NonNullable<TarOptions['magic']>,
): Promise<number> {
  const body = member.body ?? new Uint8Array();
  const size = member.claimedSize ?? bodySize(body);
  let position = start;
  const put = async (bytes: Uint8Array): Promise<void> => {
    await file.write(bytes, 0, bytes.byteLength, position);
    position += bytes.byteLength;
  };
  const pax = { ...member.pax, ...(member.sizeAs === 'pax' ? { size: String(size) } : {}) };
  if (Object.keys(pax).length > 0) await put(extension('x', 'PaxHeaders/x', paxRecords(pax)));
  if (member.gnuLongName === true) await put(extension('L', '././@LongLink', Buffer.from(`${member.name}\0`)));
  await put(
    header({
      name: member.name,
      size: member.sizeAs === 'pax' ? 0 : size,
      base256: member.sizeAs === 'base256',
      typeFlag: member.typeFlag ?? '0',
      linkName: member.linkName ?? '',
      magic,
    }),
  );
  // Zeros are left out: the final truncate makes a hole of them.
  if (body instanceof Uint8Array || body.fill === 'pattern') for (const chunk of bodyChunks(body)) await put(chunk);
  else {
    const end = position + body.size;
    await put((body.head ?? new Uint8Array()).subarray(0, body.size));
    position = end;
  }
  return Math.ceil(position / block) * block;
}

function extension(typeFlag: string, name: string, data: Buffer): Buffer {
  const padded = Buffer.alloc(Math.ceil(data.length / block) * block);
  data.copy(padded);
  return Buffer.concat([
    header({ name, size: data.length, base256: false, typeFlag, linkName: '', magic: 'ustar' }),
    padded,
  ]);
}

/** `<length> key=value\n`, where the length counts itself. */
function paxRecords(records: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    let length = rest + 1;
    while (String(length).length + rest !== length) length += 1;
    return `${String(length)} ${key}=${value}\n`;
  });
  return Buffer.from(lines.join(''));
}

interface HeaderFields {
  readonly name: string;
  readonly size: number;
  readonly base256: boolean;
  readonly typeFlag: string;
  readonly linkName: string;
  readonly magic: NonNullable<TarOptions['magic']>;
}

function header(fields: HeaderFields): Buffer {
  const bytes = Buffer.alloc(block);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  bytes.write(fields.name, 0, 100);
  bytes.write(octal(0o644, 7), 100);
  bytes.write(octal(0, 7), 108);
  bytes.write(octal(0, 7), 116);
  if (fields.base256) {
    bytes[124] = 0x80;
    bytes.writeBigUInt64BE(BigInt(fields.size), 128);
  } else {
    bytes.write(octal(fields.size, 11), 124);
  }
  bytes.write(octal(0, 11), 136);
  bytes.write('        ', 148);
  bytes.write(fields.typeFlag, 156);
  bytes.write(fields.linkName, 157, 100);
  if (fields.magic === 'ustar') bytes.write('ustar\x0000', 257);
  if (fields.magic === 'gnu') bytes.write('ustar  \0', 257);
  const checksum = bytes.reduce((sum, byte) => sum + byte, 0);
  bytes.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148);
  return bytes;
}
