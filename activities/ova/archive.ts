import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';

import tar, { type Extract } from 'tar-stream';

import { endsWithMarker, membersBeforeEnd, refuseBrokenArchive } from './archive-end.ts';
import { plainName, type Member } from './member.ts';
import type { RunOptions } from './options.ts';
import { errnoOf, SourceError, unreadable } from './source-error.ts';

const chunkBytes = 1024 * 1024;
/**
 * Buffers are used in turn: garbage of this size is collected late. The parser may hold on to a header record of up to 4 MiB
 * that spans several chunks, and to nothing else once it has asked for more.
 */
const chunksInTurn = 8;

export interface ArchiveScan {
  readonly size: number;
  readonly mtimeMs: number;
  /** Of the whole file, hex. */
  readonly sha256: string;
  readonly members: readonly Member[];
}

export interface ScanOptions extends RunOptions {
  /** Asked at the start of every member; the answer gets its bytes as they pass by and must not keep them. */
  readonly tap?: (member: Member) => ((chunk: Uint8Array) => void) | undefined;
}

/**
 * Reads the archive once from end to end: index and digest of the whole. Memory stays flat. Fails with `OVA_NOT_TAR`,
 * `OVA_COMPRESSED`, `OVA_TRUNCATED`, `SOURCE_UNREADABLE`, `SOURCE_CHANGED`.
 */
export async function scanArchive(path: string, options: ScanOptions = {}): Promise<ArchiveScan> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, error);
  });
  try {
    const before = await file.stat();
    if (!before.isFile()) throw new SourceError('SOURCE_UNREADABLE', `OVA file ${path} is not a regular file`);
    const scan = await readThrough(file, before.size, options);
    const after = await file.stat();
    if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
      throw new SourceError('SOURCE_CHANGED', `OVA file ${path} was changed while it was read; let its writer finish`, {
        permanent: false,
      });
    }
    return { ...scan, size: before.size, mtimeMs: before.mtimeMs };
  } catch (error) {
    throw errnoOf(error)?.startsWith('E') === true ? unreadable(path, error) : error;
  } finally {
    await file.close();
  }
}

async function readThrough(
  file: FileHandle,
  size: number,
  options: ScanOptions,
): Promise<Pick<ArchiveScan, 'sha256' | 'members'>> {
  const parser = startParser(options);
  const whole = createHash('sha256');
  const chunks = Array.from({ length: chunksInTurn }, () => Buffer.allocUnsafeSlow(chunkBytes));
  let bytes = 0;
  try {
    for (const chunk of inTurn(chunks)) {
      options.signal?.throwIfAborted();
      const { bytesRead } = await file.read(chunk, 0, chunkBytes, bytes);
      if (bytesRead === 0) break;
      const data = chunk.subarray(0, bytesRead);
      whole.update(data);
      await parser.write(data);
      if (parser.error !== undefined && parser.members.length === 0) break;
      bytes += bytesRead;
      options.onProgress?.({ phase: 'reading', bytes, totalBytes: size });
    }
    await parser.end();
  } finally {
    parser.destroy();
  }
  const members = await membersBeforeEnd(file, parser.members);
  if (!(await endsWithMarker(file, members))) await refuseBrokenArchive(file, size, members, parser.error);
  return { sha256: whole.digest('hex'), members };
}

function* inTurn<T>(items: readonly T[]): Generator<T, never, undefined> {
  for (;;) yield* items;
}

interface Parser {
  readonly members: readonly Member[];
  readonly error: Error | undefined;
  /** Resolves when the parser wants more. After an error it swallows: data behind the end marker may be anything. */
  write(chunk: Uint8Array): Promise<void>;
  end(): Promise<void>;
  destroy(): void;
}

function startParser(options: ScanOptions): Parser {
  // A tar without a format magic (version 7) is still a tar if its checksum is right.
  const extract = tar.extract({ allowUnknownFormat: true } as object);
  const members: Member[] = [];
  let error: Error | undefined;
  extract.on('error', (cause: Error) => (error ??= cause));
  extract.on('entry', (header, stream, next) => {
    const member = memberOf(header as typeof header & { readonly byteOffset: number });
    members.push(member);
    const tap = options.tap?.(member);
    stream.on('data', (chunk) => tap?.(chunk as Uint8Array));
    stream.on('error', () => undefined);
    stream.on('end', () => next(null));
  });
  return {
    members,
    get error() {
      return error;
    },
    write: (chunk) => settle(extract, () => extract.write(chunk)),
    end: () => settle(extract, () => (extract.end(null), false)),
    destroy: () => {
      extract.destroy();
    },
  };
}

function memberOf(header: {
  readonly name: string;
  readonly type?: string | null;
  readonly size?: number;
  readonly byteOffset: number;
}): Member {
  return {
    rawName: header.name,
    name: plainName(header.name),
    type: header.type ?? undefined,
    offset: header.byteOffset,
    size: header.size ?? 0,
  };
}

/** Runs a step of the parser and waits until it has taken it, ended, or given up. */
function settle(extract: Extract, step: () => boolean): Promise<void> {
  if (extract.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'finish', 'close']) extract.off(event, done);
      resolve();
    };
    for (const event of ['drain', 'finish', 'close']) extract.on(event, done);
    if (step()) done();
  });
}
