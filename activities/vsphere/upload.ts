import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { setImmediate } from 'node:timers/promises';

import { reasonOf } from './deadline.ts';
import { VSphereError } from './faults.ts';
import type { LeaseDeviceUrl, UploadOptions } from './port.ts';
import type { Trust } from './tls.ts';
import { agentFor, deviceTrust, isCertificateError } from './tls.ts';

const sizes = {
  /** Pieces handed to the socket: large enough for speed, small enough that a stall is seen. */
  pieceBytes: 256 * 1024,
  /** Handed over and not yet taken by the kernel. With one more piece being read, memory stays below 1 MiB per upload. */
  windowBytes: 512 * 1024,
} as const;

/** The vCenter that gave the lease. */
export interface UploadServer {
  readonly url: URL;
  readonly trust: Trust;
  readonly allowPlainHttp: boolean;
}

/** How far a request has come. */
interface Sending {
  readonly request: http.ClientRequest;
  /** The server's answer, at whatever time it comes. */
  readonly answer: Promise<number>;
  answered: boolean;
  connected: boolean;
  /** Bytes handed to the socket, and those of them that it has passed on. */
  given: number;
  sent: number;
  /** Called at every change that a waiting sender should look at. */
  wake: () => void;
  lastMove: number;
  failure: Error | undefined;
}

/** Sends one file to a device URL with an exact length. The first answer of the server is the verdict, early or not. */
export async function upload(
  server: UploadServer,
  device: LeaseDeviceUrl,
  options: UploadOptions,
): Promise<{ readonly status: number; readonly sha1: string }> {
  options.signal.throwIfAborted();
  const url = deviceUrlFor(server, device);
  const sending = open(server, url, device, options);
  const watchdog = setInterval(() => watch(sending, url, options), Math.min(1000, Math.max(10, options.stallMs / 4)));
  const abort = (): void => void sending.request.destroy(reasonOf(options.signal));
  options.signal.addEventListener('abort', abort, { once: true });
  try {
    const sha1 = await sendBody(sending, options);
    const status = await sending.answer;
    verdict(status, url, sending.given === options.length);
    options.onSent(options.length);
    return { status, sha1 };
  } catch (error) {
    throw toUploadError(error, sending, server, url, options);
  } finally {
    clearInterval(watchdog);
    options.signal.removeEventListener('abort', abort);
    sending.request.destroy();
  }
}

/** The URL to use: `*` means the address we already talk to. */
function deviceUrlFor(server: UploadServer, device: LeaseDeviceUrl): URL {
  const url = new URL(device.url.replace(/^(https?:\/\/)\*/, `$1${server.url.hostname}`));
  if (url.protocol === 'https:' || server.allowPlainHttp) return url;
  const message = `The lease names a plain-http address at ${url.host}; uploads go over TLS only.`;
  throw new VSphereError('NFC_TLS', message, { kind: 'http', message });
}

const isSameServer = (server: UploadServer, url: URL): boolean =>
  url.hostname === server.url.hostname && portOf(url) === portOf(server.url);

const portOf = (url: URL): string => (url.port === '' ? (url.protocol === 'http:' ? '80' : '443') : url.port);

function open(server: UploadServer, url: URL, device: LeaseDeviceUrl, options: UploadOptions): Sending {
  const trust = deviceTrust(device, isSameServer(server, url), server.trust);
  const request = (url.protocol === 'http:' ? http : https).request(url, {
    method: options.method,
    agent: agentFor(url, trust, { maxSockets: 1, keepAlive: false }),
    headers: {
      'Content-Length': options.length,
      ...(options.contentType === undefined ? {} : { 'Content-Type': options.contentType }),
      ...(options.overwrite === true ? { Overwrite: 't' } : {}),
      'User-Agent': 'vmflow',
    },
  });
  const sending: Sending = {
    request,
    answer: new Promise((resolve, reject) => {
      request.on('response', (response) => {
        sending.answered = true;
        response.resume();
        resolve(response.statusCode ?? 0);
        sending.wake();
      });
      request.on('error', (error) => {
        sending.failure ??= error;
        reject(error);
      });
      request.on('close', () => {
        sending.failure ??= new Error('the connection was closed');
        reject(sending.failure);
        sending.wake();
      });
    }),
    answered: false,
    connected: false,
    given: 0,
    sent: 0,
    wake: () => undefined,
    lastMove: performance.now(),
    failure: undefined,
  };
  // Looked at when the body is done or has failed; until then it must not count as unhandled.
  sending.answer.catch(() => undefined);
  request.on('socket', (socket) => {
    const connected = (): void => {
      sending.connected = true;
      sending.lastMove = performance.now();
    };
    if (socket.connecting) socket.once('connect', connected);
    else connected();
  });
  return sending;
}

/** Keep-alive of the lease would hold a dead upload for ever: no progress for the given time ends it. */
function watch(sending: Sending, url: URL, { stallMs, length }: UploadOptions): void {
  if (sending.answered || performance.now() - sending.lastMove < stallMs) return;
  const state = sending.sent === length ? 'gave no answer' : 'took no more data';
  const message = `The upload to ${url.host} stalled: it ${state} for ${stallMs} ms after ${sending.sent} of ${length} bytes.`;
  sending.request.destroy(new VSphereError('UPLOAD_STALLED', message, { kind: 'http', message }));
}

async function sendBody(sending: Sending, { body, length, onSent }: UploadOptions): Promise<string> {
  const { request } = sending;
  const hash = createHash('sha1');
  for await (const piece of pieces(body, sending)) {
    if (sending.given + piece.length > length) throw bodyError(`is longer than the announced ${length} bytes`);
    if (!(await hasRoom(sending))) return '';
    write(sending, piece, onSent);
    // The kernel sends while this thread computes.
    hash.update(piece);
  }
  if (sending.answered && sending.given < length) return '';
  if (sending.given < length) throw bodyError(`ended after ${sending.given} of ${length} bytes`);
  request.end();
  return hash.digest('hex');
}

/** The body in pieces, until its end or until the request is over: a source that hangs must not hide that. */
async function* pieces(body: AsyncIterable<Uint8Array>, sending: Sending): AsyncGenerator<Uint8Array, void> {
  const source = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await nextChunk(source, sending);
      if (next === undefined || next.done === true) return;
      for (let at = 0; at < next.value.length; at += sizes.pieceBytes) {
        yield next.value.subarray(at, at + sizes.pieceBytes);
      }
    }
  } finally {
    // Not awaited: it may hang as well. What it fails with now has no bearing.
    source.return?.().catch(() => undefined);
  }
}

function nextChunk(
  source: AsyncIterator<Uint8Array>,
  sending: Sending,
): Promise<IteratorResult<Uint8Array, unknown> | undefined> {
  return new Promise((resolve, reject) => {
    sending.wake = () => {
      if (sending.failure !== undefined) reject(sending.failure);
      else if (sending.answered) resolve(undefined);
    };
    sending.wake();
    source.next().then(resolve, reject);
  });
}

/** Waits until the socket can take another piece. False: the server has answered, nothing more is to be sent. */
async function hasRoom(sending: Sending): Promise<boolean> {
  // An answer that is already here is read before the write to a connection that the server may have closed.
  await setImmediate();
  while (!sending.answered && sending.failure === undefined && sending.given - sending.sent >= sizes.windowBytes) {
    await new Promise<void>((resolve) => {
      sending.wake = resolve;
    });
  }
  if (sending.answered) return false;
  if (sending.failure !== undefined) throw sending.failure;
  return true;
}

function write(sending: Sending, piece: Uint8Array, onSent: (bytes: number) => void): void {
  sending.given += piece.length;
  sending.request.write(piece, (error) => {
    if (error) return;
    sending.sent += piece.length;
    sending.lastMove = performance.now();
    onSent(sending.sent);
    sending.wake();
  });
}

function bodyError(what: string): VSphereError {
  const message = `The file to upload ${what}.`;
  return new VSphereError('UPLOAD_IO', message, { kind: 'source', message });
}

/** Throws unless the whole file was taken. */
function verdict(status: number, url: URL, complete: boolean): void {
  if ((status === 200 || status === 201) && complete) return;
  const early = complete ? '' : ' before the file was sent';
  const message = `The upload to ${url.host} was answered with HTTP status ${status}${early}.`;
  const info = { kind: 'http', httpStatus: status, message } as const;
  if (status === 401 || status === 403 || status === 404) throw new VSphereError('LEASE_LOST', message, info);
  if (status === 413 || status === 507) throw new VSphereError('INSUFFICIENT_SPACE', message, info);
  throw new VSphereError(status >= 500 || status < 300 ? 'UPLOAD_IO' : 'HTTP', message, info);
}

function toUploadError(
  error: unknown,
  sending: Sending,
  server: UploadServer,
  url: URL,
  options: UploadOptions,
): unknown {
  if (options.signal.aborted) return reasonOf(options.signal);
  if (error instanceof VSphereError && error.code === 'TLS_THUMBPRINT' && !isSameServer(server, url)) {
    return new VSphereError('NFC_TLS', error.message, error.info, { cause: error });
  }
  if (error instanceof VSphereError) return error;
  // What the source of the bytes throws is its own affair.
  if (sending.failure === undefined && error !== undefined && !isConnectionError(error)) return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (isCertificateError(error)) {
    const message = `The certificate of ${url.host} could not be verified for the upload: ${reason}.`;
    return new VSphereError('NFC_TLS', message, { kind: 'transport', message }, { cause: error });
  }
  if (!sending.connected && !isSameServer(server, url)) {
    const message =
      `The ESXi host ${url.hostname}:${portOf(url)} can't be reached from this worker: ${reason}. ` +
      'Uploads go to the host directly: check DNS and firewall between worker and host.';
    return new VSphereError('ESXI_UNREACHABLE', message, { kind: 'transport', message }, { cause: error });
  }
  const message = `The upload to ${url.host} broke after ${sending.sent} of ${options.length} bytes: ${reason}.`;
  return new VSphereError('UPLOAD_IO', message, { kind: 'transport', message }, { cause: error });
}

function isConnectionError(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return (
    typeof code === 'string' &&
    /^(E(PIPE|CONN|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_)|ERR_(STREAM|TLS|SSL|HTTP))/.test(code)
  );
}
