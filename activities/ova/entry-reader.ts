import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';

import { SourceError, unreadable } from './source-error.ts';

/** A range of the archive. */
export interface EntryRange {
  readonly offset: number;
  readonly size: number;
}

/** Large enough for full disk speed, small enough to keep an upload's memory flat. */
const chunkBytes = 256 * 1024;

/**
 * The data of one member, read from the archive in place, in full chunks but for the last. Every chunk is a buffer of its own;
 * with `ring`, so many buffers are filled in turn, and a chunk is good until `ring - 1` more have been asked for: a large upload
 * then makes no garbage. Fails with `SOURCE_UNREADABLE`, also when the file ends early.
 */
export async function* openEntry(
  path: string,
  entry: EntryRange,
  ring = 0,
): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await openFile(path);
  try {
    const buffers = Array.from({ length: ring }, () => Buffer.allocUnsafeSlow(chunkBytes));
    for (let done = 0, turn = 0; done < entry.size; turn++) {
      const size = Math.min(chunkBytes, entry.size - done);
      const buffer = buffers[turn % ring]?.subarray(0, size) ?? Buffer.allocUnsafeSlow(size);
      for (let filled = 0; filled < size;)
        filled += await readSome(file, path, buffer.subarray(filled), entry, done + filled);
      done += size;
      yield buffer;
    }
  } finally {
    await file.close();
  }
}

function endedEarly(path: string, at: number): SourceError {
  return new SourceError(
    'SOURCE_UNREADABLE',
    `OVA file ${path} ends at byte ${String(at)}, in the middle of a member: it was changed after its inspection`,
    { permanent: false },
  );
}

/** A small range as one buffer. */
export async function readEntry(path: string, entry: EntryRange): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of openEntry(path, entry)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Hex digest of a range, in a pass of its own that needs one buffer only. */
export async function hashEntry(
  path: string,
  entry: EntryRange,
  algorithm: string,
  options: { readonly signal?: AbortSignal; readonly onBytes?: (bytes: number) => void } = {},
): Promise<string> {
  const hash = createHash(algorithm);
  const buffer = Buffer.allocUnsafeSlow(1024 * 1024);
  return withFile(path, async (file) => {
    for (let done = 0; done < entry.size;) {
      options.signal?.throwIfAborted();
      const bytesRead = await readSome(file, path, buffer, entry, done);
      hash.update(buffer.subarray(0, bytesRead));
      done += bytesRead;
      options.onBytes?.(bytesRead);
    }
    return hash.digest('hex');
  });
}

async function withFile<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await openFile(path);
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

const openFile = (path: string): Promise<FileHandle> =>
  open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, error);
  });

async function readSome(
  file: FileHandle,
  path: string,
  buffer: Buffer,
  entry: EntryRange,
  done: number,
): Promise<number> {
  const want = Math.min(buffer.length, entry.size - done);
  const { bytesRead } = await file.read(buffer, 0, want, entry.offset + done).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (bytesRead === 0) throw endedEarly(path, entry.offset + done);
  return bytesRead;
}
