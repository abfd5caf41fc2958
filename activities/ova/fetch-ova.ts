import { mkdir, open } from 'node:fs/promises';

import { scanArchive } from './archive.ts';
import { download } from './download.ts';
import type { HttpSource } from './http-source.ts';
import type { RunOptions } from './options.ts';
import { noteValidator, removePartial, type PartialFile } from './partials.ts';
import { errnoOf, SourceError, type SourceErrorCode } from './source-error.ts';
import { redactedUrl } from './source-url.ts';

/** How often a wrong download is repeated from zero before it counts as what the server has. */
const freshDownloads: ReadonlyMap<SourceErrorCode, number> = new Map([
  ['OVA_TRUNCATED', 2],
  ['OVA_SHA256_MISMATCH', 1],
]);

export interface Wanted {
  /** Absent: whatever the server has. */
  readonly sha256?: string;
  readonly size?: number;
}

/**
 * Fetches an OVA into a partial file and makes sure that it is the wanted one. A partial that may be continued stays when the
 * connection fails; all others are removed.
 */
export async function fetchOva(
  source: HttpSource,
  wanted: Wanted,
  first: PartialFile,
  next: () => PartialFile,
  run: Required<RunOptions>,
): Promise<{ readonly partial: PartialFile; readonly sha256: string; readonly size: number }> {
  const failures = new Map<SourceErrorCode, number>();
  for (let partial = first; ; partial = next()) {
    try {
      const got = await downloadTo(partial, source, wanted, run);
      if (wanted.sha256 !== undefined && got.sha256 !== wanted.sha256)
        throw await wrongBytes(source, partial, wanted, got, run);
      return { partial, ...got };
    } catch (error) {
      const code = error instanceof SourceError ? error.code : undefined;
      if (!isWorthKeeping(error, wanted, run)) await removePartial(partial);
      const allowed = code === undefined ? undefined : freshDownloads.get(code);
      if (code === undefined || allowed === undefined) throw cacheError(error);
      const count = (failures.get(code) ?? 0) + 1;
      if (count > allowed) throw error;
      failures.set(code, count);
    }
  }
}

/** The next attempt goes on with it when only the way to the server failed. */
const isWorthKeeping = (error: unknown, wanted: Wanted, run: Required<RunOptions>): boolean =>
  wanted.sha256 !== undefined && (run.signal.aborted || (error instanceof SourceError && !error.permanent));

async function downloadTo(
  partial: PartialFile,
  source: HttpSource,
  wanted: Wanted,
  run: Required<RunOptions>,
): Promise<{ readonly sha256: string; readonly size: number }> {
  const file = await open(partial.path, partial.resume === undefined ? 'wx+' : 'r+', 0o600);
  try {
    return await download(source, file, {
      ...run,
      ...(wanted.size === undefined ? {} : { expectedSize: wanted.size }),
      ...(partial.resume === undefined ? {} : { resume: partial.resume }),
      onValidator: (validator) => noteValidator(partial, validator),
    });
  } finally {
    await file.close();
  }
}

/** A cut archive is the likelier reason, and the better message, than another archive. */
async function wrongBytes(
  source: HttpSource,
  partial: PartialFile,
  wanted: Wanted,
  got: { readonly sha256: string; readonly size: number },
  run: Required<RunOptions>,
): Promise<SourceError> {
  const url = redactedUrl(source.url);
  try {
    await scanArchive(partial.path, run);
  } catch (error) {
    if (error instanceof SourceError && error.code === 'OVA_TRUNCATED') return error.about(url);
    if (!(error instanceof SourceError)) throw error;
  }
  return new SourceError(
    'OVA_SHA256_MISMATCH',
    `OVA ${url}: the server's file has the sha256 ${got.sha256} (${String(got.size)} bytes), the request says ` +
      `${wanted.sha256 ?? ''}; check which of the two is outdated`,
  );
}

/** Errors of the file system, as seen from the cache. */
export function cacheError(error: unknown): unknown {
  const errno = errnoOf(error);
  if (error instanceof SourceError || errno === undefined || !/^E[A-Z0-9]+$/.test(errno)) return error;
  if (errno === 'ENOSPC' || errno === 'EDQUOT') {
    return new SourceError('SOURCE_CACHE_FULL', `the worker's OVA cache is full (${errno}); make room in it`, {
      permanent: false,
      cause: error,
    });
  }
  return new SourceError('SOURCE_CACHE', `the worker's OVA cache can't be used: ${errno}`, {
    permanent: ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR'].includes(errno),
    cause: error,
  });
}

/** Creates the cache directory, readable for the worker only: OVAs may hold secrets. */
export async function prepareCache(cacheDir: string): Promise<void> {
  await mkdir(cacheDir, { recursive: true, mode: 0o700 });
}
