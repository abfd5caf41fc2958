import http from 'node:http';
import https from 'node:https';
import { setImmediate } from 'node:timers/promises';

import { VSphereError } from './faults.ts';
import type { UploadOptions } from './port.ts';
import type { Trust } from './tls.ts';
import { agentFor } from './tls.ts';

const sizes = {
  /** Pieces handed to the socket: large enough for speed, small enough that a stall is seen. */
  pieceBytes: 256 * 1024,
  /** Handed over and not yet taken by the kernel. With one more piece being read, memory stays below 1 MiB per upload. */
  windowBytes: 512 * 1024,
} as const;

/**
 * So many buffers of one piece may the body fill in turn: when another piece is asked for, the socket has taken all but the
 * window and the piece given last.
 */
export const uploadRing = sizes.windowBytes / sizes.pieceBytes + 2;

/** How far a request has come. */
export interface Sending {
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

/** Opens the request; its connection is made, and its certificate proven, before the first byte of the body is asked for. */
export function openSending(url: URL, trust: Trust, options: UploadOptions): Sending {
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

/** Sends the body. Ends early when the server has answered. */
export async function sendBody(sending: Sending, { body, length, onSent }: UploadOptions): Promise<void> {
  const { request } = sending;
  for await (const piece of pieces(body, sending)) {
    if (sending.given + piece.length > length) throw bodyError(`is longer than the announced ${length} bytes`);
    if (!(await hasRoom(sending))) return;
    write(sending, piece, onSent);
  }
  if (sending.answered && sending.given < length) return;
  if (sending.given < length) throw bodyError(`ended after ${sending.given} of ${length} bytes`);
  request.end();
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
      if (sending.answered) resolve(undefined);
      else if (sending.failure !== undefined) reject(sending.failure);
    };
    sending.wake();
    source.next().then(resolve, reject);
  });
}

/** Waits until the socket can take another piece. False: the server has answered, nothing more is to be sent. */
async function hasRoom(sending: Sending): Promise<boolean> {
  while (!sending.answered && sending.failure === undefined && sending.given - sending.sent >= sizes.windowBytes) {
    await new Promise<void>((resolve) => {
      sending.wake = resolve;
    });
  }
  // An answer that is already here is read before the write to a connection that the server may have closed: the second
  // turn of the event loop is the first that is sure to read.
  await setImmediate();
  await setImmediate();
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
