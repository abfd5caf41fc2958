import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isEncrypted, type Codec } from '../../activities/codec/payload-codec-adapter.ts';

type Payload = Parameters<Codec['decode']>[0][number];

/** What Temporal's remote codec protocol sends and expects: bytes in Base64. */
interface JsonPayload {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly data?: string;
}

export interface CodecServerOptions {
  readonly address: { readonly host: string; readonly port: number };
  readonly codec: Codec;
  /** Origins of Web UIs whose pages may call it, as `https://temporal.example`. */
  readonly origins: readonly string[];
  readonly log: { warn(facts: object, message: string): void };
}

export interface RunningCodecServer {
  readonly port: number;
  close(): Promise<void>;
}

/** One page of a long history, with room to spare. */
const largestBody = 64 * 1024 * 1024;

/**
 * Serves Temporal's remote codec protocol: `POST …/decode` and `…/encode` take and give `{ payloads: [{ metadata, data }] }`. Whoever reaches it
 * can read every payload that he has; it does not ask who that is.
 */
export async function serveCodec(options: CodecServerOptions): Promise<RunningCodecServer> {
  const server = createServer((req, res) => {
    answer(req, res, options).catch((error: unknown) => {
      const { status, message } = error instanceof Refusal ? error : { status: 400, message: messageOf(error) };
      options.log.warn({ path: req.url, status }, `codec request refused: ${message}`);
      if (!res.headersSent) send(res, status, { message });
    });
  });
  server.listen(options.address.port, options.address.host);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => closed(server) };
}

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function answer(req: IncomingMessage, res: ServerResponse, options: CodecServerOptions): Promise<void> {
  allow(req, res, options.origins);
  const path = new URL(req.url ?? '/', 'http://localhost').pathname;
  if (req.method === 'OPTIONS' || path === '/livez') {
    send(res, req.method === 'OPTIONS' ? 204 : 200);
    return;
  }
  const way = /\/(encode|decode)$/.exec(path)?.[1] as 'encode' | 'decode' | undefined;
  if (way === undefined) throw new Refusal(404, 'there are /encode and /decode');
  if (req.method !== 'POST') throw new Refusal(405, `/${way} is for POST`);
  const payloads = payloadsOf(await bodyOf(req));
  // What is encrypted already stays as it is: encrypting twice is read only once.
  const coded = way === 'decode' ? await options.codec.decode(payloads) : await encoded(payloads, options.codec);
  send(res, 200, { payloads: coded.map(toJson) });
}

async function encoded(payloads: Payload[], codec: Codec): Promise<Payload[]> {
  const each = payloads.map(async (one) => (isEncrypted(one) ? [one] : await codec.encode([one])));
  return (await Promise.all(each)).flat();
}

function allow({ headers }: IncomingMessage, res: ServerResponse, origins: readonly string[]): void {
  res.setHeader('vary', 'origin');
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin)) return;
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-allow-credentials', 'true');
  res.setHeader('access-control-allow-methods', 'POST, OPTIONS');
  res.setHeader('access-control-allow-headers', headers['access-control-request-headers'] ?? 'content-type');
}

async function bodyOf(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > largestBody) throw new Refusal(413, `more than ${largestBody} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    throw new Refusal(400, 'the body is no JSON');
  }
}

function payloadsOf(body: unknown): Payload[] {
  const { payloads } = (typeof body === 'object' && body !== null ? body : {}) as { payloads?: unknown };
  if (!Array.isArray(payloads)) throw new Refusal(400, 'the body has no "payloads"');
  return (payloads as JsonPayload[]).map(fromJson);
}

function fromJson({ metadata, data }: JsonPayload): Payload {
  const fields = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value, 'base64')] as const);
  return { metadata: Object.fromEntries(fields), data: Buffer.from(data ?? '', 'base64') };
}

function toJson({ metadata, data }: Payload): JsonPayload {
  const fields = Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)] as const);
  return { metadata: Object.fromEntries(fields), data: base64(data ?? new Uint8Array()) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function send(res: ServerResponse, status: number, body?: object): void {
  res
    .writeHead(status, { 'content-type': 'application/json' })
    .end(body === undefined ? undefined : JSON.stringify(body));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
