import type { FileHandle } from 'node:fs/promises';

import type { Member } from './member.ts';
import { SourceError } from './source-error.ts';

const block = 512;

const paddedEnd = (member: Member): number => member.offset + Math.ceil(member.size / block) * block;

const endOf = (members: readonly Member[]): number => {
  const last = members.at(-1);
  return last === undefined ? 0 : paddedEnd(last);
};

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** Two zero blocks end a tar. The parser reads on behind them; everybody else stops there, so do we. */
export async function membersBeforeEnd(file: FileHandle, members: readonly Member[]): Promise<Member[]> {
  const kept: Member[] = [];
  for (const member of members) {
    const previousEnd = endOf(kept);
    // Room for two zero blocks and a header; long names and PAX records fill such gaps, too.
    const gap = member.offset - previousEnd;
    if (kept.length > 0 && gap >= 3 * block && (await read(file, previousEnd, 2 * block)).every((byte) => byte === 0)) {
      break;
    }
    kept.push(member);
  }
  return kept;
}

/** Whether an end marker follows the last member; a single zero block is enough. */
export async function endsWithMarker(file: FileHandle, members: readonly Member[]): Promise<boolean> {
  if (members.length === 0) return false;
  const marker = await read(file, endOf(members), 2 * block);
  return marker.length >= block && marker.every((byte) => byte === 0);
}

/** Called when no end marker follows. Returns if nothing is missing: writers that leave out the end blocks exist. */
export async function refuseBrokenArchive(
  file: FileHandle,
  size: number,
  members: readonly Member[],
  error: Error | undefined,
): Promise<void> {
  const last = members.at(-1);
  if (last === undefined) {
    refuseNonArchive(await read(file, 0, block), size, error);
    return;
  }
  if (last.offset + last.size > size) throw cutMember(last, size);
  if (paddedEnd(last) >= size) return;
  if (error !== undefined && !error.message.includes('end of data')) {
    throw new SourceError(
      'OVA_NOT_TAR',
      `the tar is damaged: what follows member "${last.rawName}" at byte ${String(paddedEnd(last))} is no tar header`,
      { cause: error },
    );
  }
  throw new SourceError(
    'OVA_TRUNCATED',
    `the file ends after ${String(size)} bytes in the header of the member that follows "${last.rawName}"; fetch it again`,
  );
}

function cutMember(member: Member, size: number): SourceError {
  const present = Math.max(0, size - member.offset);
  return new SourceError(
    'OVA_TRUNCATED',
    `the file ends after ${String(size)} bytes within member "${member.rawName}", of which ${String(present)} of ` +
      `${String(member.size)} bytes are there; fetch it again`,
  );
}

const compressions: readonly (readonly [string, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['zip', [0x50, 0x4b, 0x03, 0x04]],
  ['bzip2', [0x42, 0x5a, 0x68]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
];

function refuseNonArchive(head: Buffer, size: number, error: Error | undefined): void {
  if (size === 0) throw new SourceError('OVA_TRUNCATED', 'the file is empty; fetch it again');
  const compression = compressions.find(([, magic]) => magic.every((byte, at) => head[at] === byte));
  if (compression !== undefined) {
    throw new SourceError(
      'OVA_COMPRESSED',
      `the file is compressed with ${compression[0]}, but an OVA is a plain tar; decompress it and give the digest of the result`,
    );
  }
  // No error: nothing but zero blocks, an empty archive. That it lacks a descriptor is said elsewhere.
  if (error === undefined) return;
  throw new SourceError(
    'OVA_NOT_TAR',
    'the file is no tar: the checksum of its first header is wrong; check that it is the OVA itself, not a page about it',
    { cause: error },
  );
}
