import { once } from 'node:events';
import {
  connect as connectHttp2,
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import type { SelfSigned } from './self-signed.ts';

/** What stands in front of a Temporal server and lets in only some. */
export interface TemporalFront {
  readonly address: string;
  close(): Promise<void>;
}

/** TLS towards clients that show a certificate of the authority `clients`; in front of the dev server, which has no TLS. */
export async function mutualTls(
  upstream: string,
  server: SelfSigned,
  clients: Pick<SelfSigned, 'certPem'>,
): Promise<TemporalFront> {
  const { hostname, port } = new URL(`http://${upstream}`);
  const open = new Set<Socket>();
  const front = createServer(
    {
      key: server.keyPem,
      cert: server.certPem,
      ca: clients.certPem,
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ['h2'],
    },
    (socket: TLSSocket) => {
      const onward = connect(Number(port), hostname);
      for (const [from, to] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        open.add(from);
        from.on('error', () => to.destroy());
        from.on('close', () => open.delete(from));
        from.pipe(to);
      }
    },
  );
  front.on('tlsClientError', () => undefined); // whoever is refused hears of it himself
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  return {
    address: `localhost:${(front.address() as AddressInfo).port}`,
    async close() {
      for (const socket of open) socket.destroy();
      front.close();
      await once(front, 'close');
    },
  };
}

/** TLS towards clients that send the API key, as Temporal Cloud has it: others get gRPC's status 16, `UNAUTHENTICATED`. */
export async function apiKeys(upstream: string, server: SelfSigned, key: string): Promise<TemporalFront> {
  const onward = connectHttp2(`http://${upstream}`);
  onward.on('error', () => undefined);
  const front = createSecureServer({ key: server.keyPem, cert: server.certPem });
  front.on('sessionError', () => undefined);
  front.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (headers.authorization === `Bearer ${key}`) forward(stream, headers);
    else
      stream.respond(
        {
          ':status': 200,
          'content-type': 'application/grpc',
          'grpc-status': '16',
          'grpc-message': 'Request unauthorized.',
        },
        { endStream: true },
      );
  });

  function forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const request = onward.request({ ...headers, ':scheme': 'http' });
    let trailers: IncomingHttpHeaders = {};
    request.on('error', () => stream.destroy());
    stream.on('close', () => request.destroy());
    request.on('response', (answer, flags) => {
      // 1: the stream ends with its headers, which is how a call fails at once.
      stream.respond(answer, (flags & 1) === 1 ? { endStream: true } : { waitForTrailers: true });
    });
    request.on('trailers', (last: IncomingHttpHeaders) => (trailers = last));
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.pipe(request);
    request.pipe(stream);
  }

  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  return {
    address: `localhost:${(front.address() as AddressInfo).port}`,
    async close() {
      onward.destroy();
      front.close();
      await Promise.resolve();
    },
  };
}
