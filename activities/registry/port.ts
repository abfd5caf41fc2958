import type { TlsPolicy } from '../vsphere/port.ts';

export type { TlsPolicy };

/** Who we are. How it is shown (Basic, or a token for it) is what the registry asks for. */
export type RegistryCredentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  /** A bearer token that was made for us and is sent as it is. */
  | { readonly kind: 'token'; readonly token: string };

/** One registry of `vmflow.yaml` with its secrets resolved. Never logged, never put into a workflow. */
export interface RegistryEndpoint {
  readonly name: string;
  /** `https://host[:port]` */
  readonly url: string;
  /** Stands before every repository, without slashes at its ends; empty: nothing. */
  readonly prefix: string;
  readonly credentials: RegistryCredentials;
  readonly tls: TlsPolicy;
  readonly allowPlainHttp: boolean;
  /** Per request, its whole answer included. */
  readonly requestTimeoutMs: number;
}

export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:…` */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

/** What a reference stands for, as the registry holds it: the body was checked against the digest. */
export interface Manifest {
  /** `sha256:…` */
  readonly digest: string;
  readonly mediaType: string;
  readonly artifactType?: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absent in an index. */
  readonly config?: Descriptor;
  readonly layers: readonly Descriptor[];
}

export type RegistryErrorReason =
  /** 401: no credentials, or wrong ones. */
  | 'Unauthorized'
  /** 403, or 401 that says that the right is missing. */
  | 'Forbidden'
  /** 405 or UNSUPPORTED on a DELETE. */
  | 'DeletionDisabled'
  /** 429 */
  | 'TooManyRequests'
  /** No such name can exist: it is never sent, or the registry says so. */
  | 'Invalid'
  /** The certificate could not be proven, or the connection would be readable by others. */
  | 'Untrusted'
  /** No answer within the time: nothing is known about the effect. */
  | 'Timeout'
  /** 5xx, network: nothing is known about the effect. */
  | 'Unavailable'
  /** An answer that a registry doesn't give, such as a 404 that doesn't say what is missing: it proves nothing. */
  | 'Unexpected';

/** A request that the registry refused, didn't get or answered oddly. Its message has no headers, tokens or query strings. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly reason: RegistryErrorReason;
  readonly status: number | undefined;
  readonly retryAfterS: number | undefined;

  constructor(
    reason: RegistryErrorReason,
    message: string,
    init: { status?: number | undefined; retryAfterS?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: init.cause });
    this.reason = reason;
    this.status = init.status;
    this.retryAfterS = init.retryAfterS;
  }
}

export interface CallOptions {
  /** Ends the call with the signal's own reason. */
  readonly signal?: AbortSignal;
}

/**
 * What the activities need of an OCI registry. Repositories are given without the prefix of the endpoint; a reference is a tag or
 * a digest. Every request has a deadline. Fails with `RegistryError`; "absent" is an answer only where the registry says in so
 * many words that manifest, blob or repository is unknown.
 */
export interface Registry {
  /** Undefined: absent. */
  manifest(repository: string, reference: string, options?: CallOptions): Promise<Manifest | undefined>;
  /** Digest of what the reference stands for, without reading it; undefined: absent. */
  digest(repository: string, reference: string, options?: CallOptions): Promise<string | undefined>;
  /**
   * By tag: that tag only. By digest: every tag with that content. False: it was absent. After `Timeout` and `Unavailable` it
   * may be gone.
   */
  remove(repository: string, reference: string, options?: CallOptions): Promise<boolean>;
  hasBlob(repository: string, digest: string, options?: CallOptions): Promise<boolean>;
  /** Proves that a registry is there and knows us. */
  ping(options?: CallOptions): Promise<void>;
  close(): Promise<void>;
}
