import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export interface SeenRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export interface FileServer {
  readonly origin: string;
  readonly requests: readonly SeenRequest[];
}

export type Answer = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

/** An HTTP server on loopback that records what it is asked; `nth` counts from 1. */
export async function startServer(t: TestContext, answer: Answer): Promise<FileServer> {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url!, headers: request.headers });
    answer(request, response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, requests };
}

export interface ServeOptions {
  /** Hangs up after so many bytes of the body. */
  readonly cutAfter?: number;
  /** Answers 200 with everything, whatever range was asked for. */
  readonly ignoreRange?: boolean;
  readonly etag?: string;
}

/** Serves bytes as a good file server does, ranges included. */
export function serve(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  options: ServeOptions = {},
): void {
  const etag = options.etag ?? '"v1"';
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const partial = start > 0 && options.ignoreRange !== true && request.headers['if-range'] === etag;
  const body = partial ? bytes.subarray(start) : bytes;
  response.writeHead(partial ? 206 : 200, {
    'content-length': body.length,
    'accept-ranges': 'bytes',
    etag,
    ...(partial
      ? { 'content-range': `bytes ${String(start)}-${String(bytes.length - 1)}/${String(bytes.length)}` }
      : {}),
  });
  if (options.cutAfter === undefined) response.end(body);
  else response.write(body.subarray(0, options.cutAfter), () => response.destroy());
}
