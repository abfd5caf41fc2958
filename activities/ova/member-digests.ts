import { createHash, type Hash } from 'node:crypto';

import { hashEntry } from './entry-reader.ts';
import { parseManifest, type ManifestLine } from './manifest.ts';
import { topLevelFiles, type Member } from './member.ts';
import type { RunOptions } from './options.ts';

/** Manifests have a line per file; a larger one isn't worth keeping while the archive passes by. */
export const maxManifestBytes = 1024 * 1024;

/** What vCenter tells of an uploaded file. Taken here once, so that no upload has to. */
export const uploadAlgorithm = 'sha1';

/**
 * Computes members' digests while the archive is read: the one of uploads for all, and another as far as a manifest has told
 * which. What comes before the manifest (the descriptor, as a rule; with the manifest at the end, everything) is read a second
 * time when its other digest is asked for.
 */
export class MemberDigests {
  readonly #path: string;
  readonly #running = new Map<number, ReadonlyMap<string, Hash>>();
  readonly #manifest: Buffer[] = [];
  #manifestName: string | undefined;
  #lines: readonly ManifestLine[] | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** For `scanArchive`. */
  readonly tap = (member: Member): ((chunk: Uint8Array) => void) | undefined => {
    const keep = this.#manifestName === undefined ? this.#manifestTap(member) : undefined;
    if (keep !== undefined) return keep;
    const told =
      this.#manifestName === undefined ? undefined : this.#expectedLines().find((line) => line.name === member.name);
    const algorithms = new Set([uploadAlgorithm, ...(told === undefined ? [] : [told.algorithm])]);
    const hashes = new Map([...algorithms].map((algorithm) => [algorithm, createHash(algorithm)]));
    this.#running.set(member.offset, hashes);
    return (chunk) => {
      for (const hash of hashes.values()) hash.update(chunk);
    };
  };

  async digest(member: Member, algorithm: string, options: RunOptions): Promise<string> {
    const running = this.#running.get(member.offset)?.get(algorithm);
    if (running !== undefined) return running.copy().digest('hex');
    let bytes = 0;
    return hashEntry(this.#path, member, algorithm, {
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      onBytes: (count) => {
        bytes += count;
        options.onProgress?.({ phase: 'reading', bytes, totalBytes: member.size });
      },
    });
  }

  #manifestTap(member: Member): ((chunk: Uint8Array) => void) | undefined {
    if (topLevelFiles([member], '.mf').length === 0 || member.size > maxManifestBytes) return undefined;
    this.#manifestName = member.name;
    // A copy: the chunk belongs to a large read buffer.
    return (chunk) => void this.#manifest.push(Buffer.from(chunk));
  }

  /** A guess to save the second pass only, so an unreadable manifest counts as empty here and is refused where it matters. */
  #expectedLines(): readonly ManifestLine[] {
    if (this.#lines !== undefined) return this.#lines;
    try {
      this.#lines = parseManifest(this.#manifestName ?? '', Buffer.concat(this.#manifest).toString('utf8'));
    } catch {
      this.#lines = [];
    }
    return this.#lines;
  }
}
