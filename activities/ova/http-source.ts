import { Agent, request, type Dispatcher } from 'undici';

import { errnoOf, SourceError } from './source-error.ts';
import { checkedUrl, redactedUrl } from './source-url.ts';

const limits = {
  /** Includes the time a proxy takes to fetch the first byte itself. */
  headersTimeoutMs: 60_000,
  /** Between two chunks; the download is resumed after it. */
  bodyTimeoutMs: 60_000,
  connectTimeoutMs: 15_000,
  redirects: 10,
} as const;

/** Where an OVA is fetched from and what the server wants to see. */
export interface HttpSource {
  readonly url: URL;
  /** Sent to the URL's own origin only, never to where it redirects. */
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
}

export interface SourceResponse {
  /** First byte the body holds: 0, or what was asked for. */
  readonly offset: number;
  /** Size of the whole, where the server tells. */
  readonly total?: number;
  /** For `If-Range`; absent when the server can't resume. */
  readonly validator?: string;
  readonly body: AsyncIterable<Uint8Array>;
}

/** `ca`: PEM, trusted besides the system's. Close the agent after use. */
export function createAgent(ca: string | undefined): Agent {
  return new Agent({
    allowH2: false,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyTimeoutMs,
    connect: { timeout: limits.connectTimeoutMs, ...(ca === undefined ? {} : { ca }) },
  });
}

/**
 * Asks for the OVA from `resume.offset` on, following redirects. Undefined: the server has nothing there, start anew. Fails with
 * `SOURCE_HTTP`, `SOURCE_UNREACHABLE`, `SOURCE_URL`.
 */
export async function requestSource(
  source: HttpSource,
  resume: { readonly offset: number; readonly validator: string } | undefined,
  signal: AbortSignal,
): Promise<SourceResponse | undefined> {
  const range = resume === undefined ? {} : { range: `bytes=${String(resume.offset)}-`, 'if-range': resume.validator };
  let url = source.url;
  for (let redirects = 0; redirects <= limits.redirects; redirects += 1) {
    const own = url.origin === source.url.origin ? source.headers : {};
    const headers = { ...own, 'accept-encoding': 'identity', ...range };
    const response = await request(url, { dispatcher: source.agent, headers, signal }).catch((error: unknown) => {
      throw unreachable(url, error, signal);
    });
    const location = header(response, 'location');
    if (response.statusCode < 300 || response.statusCode >= 400 || location === undefined) {
      return await readResponse(url, response, resume?.offset ?? 0);
    }
    await discard(response);
    url = checkedUrl(location, url);
  }
  throw new SourceError(
    'SOURCE_URL',
    `${redactedUrl(source.url)} redirects more than ${String(limits.redirects)} times`,
  );
}

async function readResponse(
  url: URL,
  response: Dispatcher.ResponseData,
  asked: number,
): Promise<SourceResponse | undefined> {
  const validator = resumeValidator(response);
  const common = {
    body: response.body as AsyncIterable<Uint8Array>,
    ...(validator === undefined ? {} : { validator }),
  };
  if (response.statusCode === 200) {
    const length = Number(header(response, 'content-length') ?? Number.NaN);
    return { ...common, offset: 0, ...(Number.isFinite(length) ? { total: length } : {}) };
  }
  if (response.statusCode === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(header(response, 'content-range') ?? '') ?? [];
    if (Number(start) === asked) {
      return { ...common, offset: asked, ...(total === undefined || total === '*' ? {} : { total: Number(total) }) };
    }
  }
  await discard(response);
  if (response.statusCode === 206 || response.statusCode === 416) return undefined;
  throw new SourceError('SOURCE_HTTP', `${redactedUrl(url)} answered with HTTP ${String(response.statusCode)}`, {
    permanent: response.statusCode < 500 && ![408, 425, 429].includes(response.statusCode),
    httpStatus: response.statusCode,
  });
}

/** Weak tags can't be used with `If-Range`. */
function resumeValidator(response: Dispatcher.ResponseData): string | undefined {
  if (header(response, 'accept-ranges') === 'none') return undefined;
  const tag = header(response, 'etag');
  return tag !== undefined && !tag.startsWith('W/') ? tag : header(response, 'last-modified');
}

function header(response: Dispatcher.ResponseData, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Frees the connection. The body of a refusal is of no interest, and neither is what happens to it. */
const discard = (response: Dispatcher.ResponseData): Promise<void> => response.body.dump().catch(() => undefined);

/** A failure of the transport; cancellation stays what it is. */
export function unreachable(url: URL, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const code = errnoOf(error) ?? (error instanceof Error ? error.name : 'unknown error');
  const isCertificate = /CERT|TLS|UNABLE_TO|SELF_SIGNED/.test(code);
  return new SourceError('SOURCE_UNREACHABLE', `can't fetch ${redactedUrl(url)}: ${code}`, {
    permanent: isCertificate,
    cause: error,
  });
}
