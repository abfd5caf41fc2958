import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

import { SourceError, errnoOf, unreadable } from './source-error.ts';

/** A range of the archive. */
export interface EntryRange {
  readonly offset: number;
  readonly size: number;
}

/** Large enough for full disk speed, small enough to keep an upload's memory flat. */
const chunkBytes = 256 * 1024;

/**
 * The data of one member, read from the archive in place. Every chunk is a buffer of its own, so that a consumer may keep it
 * until the socket has taken it. Fails with `SOURCE_UNREADABLE`, also when the file ends early.
 */
export async function* openEntry(path: string, entry: EntryRange): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, error);
  });
  try {
    let done = 0;
    while (done < entry.size) {
      const want = Math.min(chunkBytes, entry.size - done);
      const buffer = Buffer.allocUnsafeSlow(want);
      const { bytesRead } = await file.read(buffer, 0, want, entry.offset + done);
      if (bytesRead === 0) throw endedEarly(path, entry.offset + done);
      done += bytesRead;
      yield bytesRead === want ? buffer : buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    throw errnoOf(error) === undefined ? error : unreadable(path, error);
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

/** Hex digest of a range, in a pass of its own. */
export async function hashEntry(
  path: string,
  entry: EntryRange,
  algorithm: string,
  options: { readonly signal?: AbortSignal; readonly onBytes?: (bytes: number) => void } = {},
): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of openEntry(path, entry)) {
    options.signal?.throwIfAborted();
    hash.update(chunk);
    options.onBytes?.(chunk.byteLength);
  }
  return hash.digest('hex');
}
