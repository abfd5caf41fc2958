/** What is wrong with an OVA or with the way to it. The part after the prefix is the specific code of the failure's details. */
export type SourceErrorCode =
  | 'OVA_NOT_TAR'
  | 'OVA_COMPRESSED'
  | 'OVA_TRUNCATED'
  | 'OVA_SHA256_MISMATCH'
  | 'OVA_NO_DESCRIPTOR'
  | 'OVA_MANY_DESCRIPTORS'
  | 'OVA_DESCRIPTOR_NOT_FIRST'
  | 'OVA_UNSAFE_ENTRY'
  | 'OVF_TOO_LARGE'
  | 'OVF_XML'
  | 'OVF_NO_VIRTUAL_SYSTEM'
  | 'OVF_COLLECTION'
  | 'OVF_NO_HARDWARE'
  | 'OVF_ITEM'
  | 'OVF_NETWORKS'
  | 'OVF_DISK'
  | 'OVF_FILE_MISSING'
  | 'OVF_SIZE_MISMATCH'
  | 'OVF_COMPRESSED_FILE'
  | 'OVF_CHUNKED_FILE'
  | 'OVF_CAPACITY'
  | 'OVF_VERSION_MISMATCH'
  | 'VMDK_FORMAT'
  | 'MANIFEST_MISMATCH'
  | 'MANIFEST_MISSING'
  | 'MANIFEST_ALGORITHM'
  /** The file can't be opened or read on this worker. */
  | 'SOURCE_UNREADABLE'
  /** The file changed while it was read. */
  | 'SOURCE_CHANGED'
  /** The URL isn't one we fetch: wrong scheme, user info, endless redirects. */
  | 'SOURCE_URL'
  /** The server answered with a status other than 200 or 206. */
  | 'SOURCE_HTTP'
  /** No connection, or it broke and resuming didn't help. */
  | 'SOURCE_UNREACHABLE'
  /** The cache directory can't be written. */
  | 'SOURCE_CACHE'
  /** The same, because the file system is full. */
  | 'SOURCE_CACHE_FULL';

export interface SourceErrorOptions {
  /** Default true: another attempt meets the same bytes. False: the way to the bytes failed, which passes. */
  readonly permanent?: boolean;
  readonly cause?: unknown;
  readonly httpStatus?: number;
}

/** A failure that lies in the OVA or on the way to it. The message is a sentence for the operator and free of query strings and headers. */
export class SourceError extends Error {
  readonly code: SourceErrorCode;
  readonly permanent: boolean;
  declare readonly httpStatus?: number;

  constructor(code: SourceErrorCode, message: string, options: SourceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SourceError';
    this.code = code;
    this.permanent = options.permanent ?? true;
    if (options.httpStatus !== undefined) this.httpStatus = options.httpStatus;
  }

  /** The same failure with the OVA named in front. */
  about(label: string): SourceError {
    return new SourceError(this.code, `OVA ${label}: ${this.message}`, {
      permanent: this.permanent,
      cause: this.cause,
      ...(this.httpStatus === undefined ? {} : { httpStatus: this.httpStatus }),
    });
  }
}

const missing = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG']);

/** A file system error on the OVA itself: a missing file stays missing, an I/O error of a mount may pass. */
export function unreadable(path: string, cause: unknown): SourceError {
  const errno = errnoOf(cause);
  const why = errno === 'ENOENT' ? 'there is no such file on this worker' : (errno ?? String(cause));
  return new SourceError('SOURCE_UNREADABLE', `can't read OVA file ${path}: ${why}`, {
    permanent: errno !== undefined && missing.has(errno),
    cause,
  });
}

export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
