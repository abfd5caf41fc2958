import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { setImmediate } from 'node:timers/promises';

import { reasonOf } from './deadline.ts';
import { VSphereError } from './faults.ts';
import type { LeaseDeviceUrl, UploadOptions } from './port.ts';
import type { Trust } from './tls.ts';
import { agentFor, deviceTrust, isCertificateError } from './tls.ts';

/** Pieces handed to the socket: large enough for speed, small enough that a stall is seen and memory stays flat. */
const pieceBytes = 256 * 1024;

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
  /** Bytes that the socket has taken. */
  sent: number;
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
    return { status: verdict(status, url, sending.sent === options.length), sha1 };
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
      });
      request.on('error', (error) => {
        sending.failure ??= error;
        reject(error);
      });
      request.on('close', () => reject(sending.failure ?? new Error('the connection was closed')));
    }),
    answered: false,
    connected: false,
    sent: 0,
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
  const hash = createHash('sha1');
  let given = 0;
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes);
      given += piece.length;
      if (given > length) throw bodyError(`is longer than the announced ${length} bytes`);
      const written = write(sending, piece);
      hash.update(piece);
      await written;
      onSent(sending.sent);
      if (sending.answered) return '';
    }
  }
  if (given < length) throw bodyError(`ended after ${given} of ${length} bytes`);
  sending.request.end();
  return hash.digest('hex');
}

/** Resolves when the socket has taken the piece, or when the server has answered meanwhile. */
async function write(sending: Sending, piece: Uint8Array): Promise<void> {
  const { request } = sending;
  // An answer that is already here is read before the write to a connection that the server may have closed.
  await setImmediate();
  if (sending.answered) return;
  if (sending.failure !== undefined) throw sending.failure;
  await new Promise<void>((resolve, reject) => {
    const answered = (): void => finish(undefined);
    const failed = (): void => finish(sending.failure ?? new Error('the connection was closed'));
    const finish = (error: Error | null | undefined): void => {
      request.off('response', answered);
      request.off('close', failed);
      if (error) reject(error);
      else resolve();
    };
    request.once('response', answered);
    request.once('close', failed);
    request.write(piece, (error) => {
      if (!error) {
        sending.sent += piece.length;
        sending.lastMove = performance.now();
      }
      finish(error);
    });
  });
}

function bodyError(what: string): VSphereError {
  const message = `The file to upload ${what}.`;
  return new VSphereError('UPLOAD_IO', message, { kind: 'source', message });
}

/** The status itself when the file was taken; throws otherwise. */
function verdict(status: number, url: URL, complete: boolean): number {
  if ((status === 200 || status === 201) && complete) return status;
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
