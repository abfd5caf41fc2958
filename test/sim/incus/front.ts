import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { Refusal, sendWire, wireOf, wireOfError, type Answer, type Wire } from './answers.ts';
import { factRoutes, serverView } from './fact-routes.ts';
import type { Effect, Faults } from './faults.ts';
import { instanceRoutes } from './instance-routes.ts';
import { claimVolume, serveVolume } from './nbd-route.ts';
import { operationRoutes } from './operation-routes.ts';
import { findRoute, type Route } from './routes.ts';
import type { Server } from './server.ts';
import { volumeRoutes } from './volume-routes.ts';

const routes: readonly Route[] = [...factRoutes, ...instanceRoutes, ...volumeRoutes, ...operationRoutes];

/** Takes requests, applies faults, knows who is trusted. */
export class Front {
  readonly #server: Server;
  readonly #faults: Faults;
  /** SHA-256 thumbprint of the client certificate that is trusted; undefined: everybody is. */
  readonly #trusted: string | undefined;
  /** Whether the trust in that client was taken back. */
  isRevoked = false;

  constructor(server: Server, faults: Faults, trusted: string | undefined) {
    this.#server = server;
    this.#faults = faults;
    this.#trusted = trusted;
  }

  async request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, query, method } = partsOf(request);
    const isTrusted = this.#isTrusted(request.socket); // now: the client may hang up while it waits
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const sentBody = jsonOf(text);
    const entry = this.#server.journal.openRequest({ method, path, query, body: sentBody, headers: shown(request) });
    const effect = this.#faults.take({ method, path, query, body: sentBody });
    await before(effect);
    if (effect?.kind === 'drop' && effect.when === 'before') return void request.socket.destroy();
    const instead = this.#instead(effect);
    const wire =
      instead?.isDone === false
        ? instead.wire
        : await this.#wire(async () => {
            if (path === '/1.0') return { kind: 'sync', metadata: serverView(this.#server, isTrusted) };
            if (!isTrusted) throw new Refusal(403, 'not authorized');
            const found = findRoute(routes, method, path);
            if (found === undefined) throw new Refusal(404, 'not found');
            const { handle, params } = found;
            const ifMatch = request.headers['if-match'];
            const body = bodyOf(text);
            const project = query['project'] ?? 'default';
            return await handle({ server: this.#server, params, query, project, body, ifMatch, effect });
          });
    if (effect?.kind === 'hold-answer') await effect.until;
    if (effect?.kind === 'drop') return void request.socket.destroy();
    const sent = instead?.wire ?? wire;
    entry.status = sent.status;
    sendWire(response, sent);
  }

  async upgrade(request: IncomingMessage, socket: Duplex): Promise<void> {
    socket.on('error', () => undefined); // the client may leave at any time
    const { path, query, method } = partsOf(request);
    const entry = this.#server.journal.openRequest({ method, path, query, body: undefined, headers: shown(request) });
    const isTrusted = this.#isTrusted(request.socket);
    const effect = this.#faults.take({ method, path, query });
    await before(effect);
    if (effect?.kind === 'drop') return void socket.destroy();
    const instead = this.#instead(effect);
    if (instead !== undefined) {
      endWith(socket, instead.wire);
      return;
    }
    const wanted = {
      path,
      project: query['project'] ?? 'default',
      upgrade: request.headers.upgrade,
      writable: ['1', 'true'].includes(query['writable'] ?? ''),
      effect,
    };
    let volume;
    try {
      if (!isTrusted) throw new Refusal(403, 'not authorized');
      volume = claimVolume(this.#server, wanted);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      entry.status = error.status;
      endWith(socket, wireOfError(error.status, error.message));
      return;
    }
    entry.status = 101;
    await serveVolume(this.#server, volume, wanted, socket);
  }

  #isTrusted(socket: unknown): boolean {
    if (this.isRevoked) return false;
    if (this.#trusted === undefined) return true;
    return socket instanceof TLSSocket && socket.getPeerCertificate().fingerprint256 === this.#trusted;
  }

  #instead(effect: Effect | undefined): { readonly wire: Wire; readonly isDone: boolean } | undefined {
    if (effect?.kind !== 'status' && effect?.kind !== 'page') return undefined;
    const { status, isDone = false } = effect;
    if (effect.kind === 'status') return { wire: wireOfError(status, effect.error ?? 'a fault of the test'), isDone };
    return { wire: { status, headers: { 'content-type': 'text/html' }, body: '<html>proxy</html>' }, isDone };
  }

  async #wire(work: () => Promise<Answer>): Promise<Wire> {
    try {
      return wireOf(await work());
    } catch (error) {
      if (error instanceof Refusal) return wireOfError(error.status, error.message);
      throw error;
    }
  }
}

async function before(effect: Effect | undefined): Promise<void> {
  if (effect?.kind === 'delay') await sleep(effect.ms);
  if (effect?.kind === 'hold') await effect.until;
}

function endWith(socket: Duplex, { status, headers, body }: Wire): void {
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} Refused\r\n${head}\r\n${body}`);
}

function partsOf({ url = '/', method = 'GET' }: IncomingMessage) {
  const [path = '/', query = ''] = url.split('?');
  return { path, method, query: Object.fromEntries(new URLSearchParams(query)) };
}

function shown({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

function jsonOf(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function bodyOf(text: string): unknown {
  const body = jsonOf(text);
  if (body === undefined && text !== '') throw new Refusal(400, 'invalid character in JSON');
  return body;
}
