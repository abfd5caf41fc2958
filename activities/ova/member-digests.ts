import { createHash, type Hash } from 'node:crypto';

import { hashEntry } from './entry-reader.ts';
import { parseManifest, type ManifestLine } from './manifest.ts';
import { topLevelFiles, type Member } from './member.ts';
import type { RunOptions } from './options.ts';

/** Manifests have a line per file; a larger one isn't worth keeping while the archive passes by. */
export const maxManifestBytes = 1024 * 1024;

/**
 * Computes members' digests while the archive is read, as far as a manifest has told which: what comes before it (the
 * descriptor, as a rule; with the manifest at the end, everything) is read a second time when its digest is asked for.
 */
export class MemberDigests {
  readonly #path: string;
  readonly #running = new Map<number, { readonly algorithm: string; readonly hash: Hash }>();
  readonly #manifest: Buffer[] = [];
  #manifestName: string | undefined;
  #lines: readonly ManifestLine[] | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** For `scanArchive`. */
  readonly tap = (member: Member): ((chunk: Uint8Array) => void) | undefined => {
    if (this.#manifestName === undefined) return this.#manifestTap(member);
    const algorithm = this.#expectedLines().find((line) => line.name === member.name)?.algorithm;
    if (algorithm === undefined) return undefined;
    const hash = createHash(algorithm);
    this.#running.set(member.offset, { algorithm, hash });
    return (chunk) => void hash.update(chunk);
  };

  async digest(member: Member, algorithm: string, options: RunOptions): Promise<string> {
    const running = this.#running.get(member.offset);
    if (running?.algorithm === algorithm) return running.hash.copy().digest('hex');
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
