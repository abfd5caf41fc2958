/** One request to a registry or to the service that gives out its tokens. */
export interface RegistryRequest {
  readonly method: 'GET' | 'HEAD' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Whatever came back. Names of headers are in lower case. */
export interface RegistryAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/**
 * The way to one registry: TLS, deadlines, connections. Knows nothing of repositories. Fails with `RegistryError` (`Timeout`,
 * `Unavailable`, `Untrusted`, `Unexpected` for a body that never ends), or with the signal's reason.
 */
export interface RegistryTransport {
  send(request: RegistryRequest): Promise<RegistryAnswer>;
  close(): Promise<void>;
}
