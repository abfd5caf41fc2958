import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { requestSource, unreachable, type HttpSource, type SourceResponse } from './http-source.ts';
import type { SourceProgress } from './options.ts';
import { SourceError } from './source-error.ts';
import { redactedUrl } from './source-url.ts';

const limits = {
  /** A download that breaks more often than this is handed back; what is there is kept for the next attempt. */
  interruptions: 20,
  /** Restarts from zero, when the server can't resume. */
  restarts: 2,
  pauseMs: 500,
} as const;

export interface DownloadOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: SourceProgress) => void;
  /** Bytes the whole must have; a server that announces another size is not waited for. */
  readonly expectedSize?: number;
  /** What an earlier attempt left in the file. */
  readonly resume?: { readonly size: number; readonly validator: string };
  /** Told as soon as the server has given it, before the first byte is written. */
  readonly onValidator?: (validator: string) => Promise<void>;
}

/**
 * Fetches the OVA into an open file and returns its digest. Resumes after interruptions when the server can. Fails with
 * `SOURCE_HTTP`, `SOURCE_UNREACHABLE` and, for another size than expected, `OVA_TRUNCATED` or `OVA_SHA256_MISMATCH`.
 */
export async function download(
  source: HttpSource,
  file: FileHandle,
  options: DownloadOptions,
): Promise<{ readonly sha256: string; readonly size: number }> {
  const partial = await Partial.open(file, options);
  let interruptions = 0;
  let restarts = 0;
  for (;;) {
    const response = await requestSource(source, partial.resumePoint(), options.signal);
    if (response === undefined) {
      await partial.reset();
      if ((restarts += 1) > limits.restarts) throw brokenOff(source, partial.size, undefined);
      continue;
    }
    refuseOtherSize(source, response.total, options.expectedSize);
    const before = await partial.accept(response);
    const cause = await receive(source, response, partial, options);
    if (cause === undefined) break;
    const canGoOn = partial.resumePoint() !== undefined && partial.size > before;
    if ((interruptions += 1) > limits.interruptions) throw brokenOff(source, partial.size, cause);
    if (canGoOn) continue;
    if ((restarts += 1) > limits.restarts) throw brokenOff(source, partial.size, cause);
    await sleep(limits.pauseMs, undefined, { signal: options.signal });
  }
  refuseOtherSize(source, partial.size, options.expectedSize);
  return partial.finish();
}

/** Reads one response to its end. Returns the cause when it broke off. */
async function receive(
  source: HttpSource,
  response: SourceResponse,
  partial: Partial,
  options: DownloadOptions,
): Promise<unknown> {
  const totalBytes = response.total ?? options.expectedSize;
  const total = totalBytes === undefined ? {} : { totalBytes };
  try {
    for await (const chunk of response.body) {
      await partial.append(chunk);
      options.onProgress({ phase: 'downloading', bytes: partial.size, ...total });
    }
  } catch (error) {
    if (options.signal.aborted) throw options.signal.reason;
    if (error instanceof WriteError) throw error.cause;
    return unreachable(source.url, error, options.signal);
  }
  return response.total !== undefined && partial.size < response.total
    ? new Error('the answer ended early')
    : undefined;
}

/** Tells a full disk from a broken connection. */
class WriteError extends Error {}

/** What has arrived so far: file, digest and how to go on. */
class Partial {
  readonly #file: FileHandle;
  readonly #onValidator: ((validator: string) => Promise<void>) | undefined;
  #hash: Hash = createHash('sha256');
  #validator: string | undefined;
  size = 0;

  private constructor(file: FileHandle, options: DownloadOptions) {
    this.#file = file;
    this.#onValidator = options.onValidator;
  }

  static async open(file: FileHandle, options: DownloadOptions): Promise<Partial> {
    const partial = new Partial(file, options);
    const { resume } = options;
    if (resume === undefined) return partial;
    const buffer = Buffer.allocUnsafeSlow(1024 * 1024);
    while (partial.size < resume.size) {
      options.signal.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, buffer.length, partial.size);
      if (bytesRead === 0) break;
      partial.#hash.update(buffer.subarray(0, bytesRead));
      partial.size += bytesRead;
      options.onProgress({ phase: 'reading', bytes: partial.size, totalBytes: resume.size });
    }
    partial.#validator = resume.validator;
    return partial;
  }

  resumePoint(): { readonly offset: number; readonly validator: string } | undefined {
    if (this.size === 0 || this.#validator === undefined) return undefined;
    return { offset: this.size, validator: this.#validator };
  }

  /** Prepares for a response: one that starts at zero replaces everything. Returns the size before its first byte. */
  async accept(response: SourceResponse): Promise<number> {
    if (response.offset !== this.size) await this.reset();
    if (response.validator !== this.#validator) {
      this.#validator = response.validator;
      if (response.validator !== undefined) await this.#onValidator?.(response.validator);
    }
    return this.size;
  }

  async append(chunk: Uint8Array): Promise<void> {
    for (let done = 0; done < chunk.byteLength;) {
      const { bytesWritten } = await this.#file
        .write(chunk, done, chunk.byteLength - done, this.size + done)
        .catch((cause: unknown) => {
          throw new WriteError('write failed', { cause });
        });
      done += bytesWritten;
    }
    this.#hash.update(chunk);
    this.size += chunk.byteLength;
  }

  async reset(): Promise<void> {
    await this.#file.truncate(0);
    this.#hash = createHash('sha256');
    this.size = 0;
  }

  async finish(): Promise<{ readonly sha256: string; readonly size: number }> {
    await this.#file.truncate(this.size);
    await this.#file.sync();
    return { sha256: this.#hash.digest('hex'), size: this.size };
  }
}

function refuseOtherSize(source: HttpSource, size: number | undefined, expected: number | undefined): void {
  if (size === undefined || expected === undefined || size === expected) return;
  throw new SourceError(
    size < expected ? 'OVA_TRUNCATED' : 'OVA_SHA256_MISMATCH',
    `${redactedUrl(source.url)} has ${String(size)} bytes, the request says ${String(expected)}`,
  );
}

function brokenOff(source: HttpSource, size: number, cause: unknown): SourceError {
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  return new SourceError(
    'SOURCE_UNREACHABLE',
    `the download of ${redactedUrl(source.url)} keeps breaking off, last after ${String(size)} bytes${why}`,
    { permanent: false, cause },
  );
}
