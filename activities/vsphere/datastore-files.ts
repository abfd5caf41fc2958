import type { Agent } from 'node:http';

import { giveBack } from '../give-back.ts';
import { VSphereError } from './faults.ts';
import { httpError } from './http-exchange.ts';
import type { StreamAnswer } from './http-stream.ts';
import { openStream } from './http-stream.ts';
import type { SessionCore } from './session-core.ts';
import { agentFor } from './tls.ts';
import type { UploadServer } from './upload.ts';
import type { DatastoreFile, StreamOptions } from './vm-port.ts';

const limits = {
  /** Ranges that are read at the same time. */
  sockets: 4,
} as const;

const describe = ({ datastore, path }: DatastoreFile): string => `[${datastore}] ${path}`;

/** Files of datastores over HTTP (`/folder`), under the cookie of the session. */
export class DatastoreFiles {
  readonly #core: SessionCore;
  readonly #server: UploadServer;
  #agent: Agent | undefined;

  constructor(core: SessionCore, server: UploadServer) {
    this.#core = core;
    this.#server = server;
  }

  /** Bytes; undefined: there is no such file. */
  async size(file: DatastoreFile, options: StreamOptions): Promise<number | undefined> {
    const what = `HEAD of ${describe(file)}`;
    return await this.#send('HEAD', file, {}, what, options, async (answer) => {
      // Without a body, but the connection is only free again once it was read.
      await collect(answer, new Uint8Array(0), what);
      if (answer.status === 404) return undefined;
      if (answer.status !== 200 || answer.length === undefined) throw this.#unexpected(what, answer);
      return answer.length;
    });
  }

  /** Exactly these bytes, or `PROTOCOL` where the file ends before, or the server has another idea of ranges. */
  async read(
    file: DatastoreFile,
    start: number,
    length: number,
    { into, ...options }: StreamOptions & { readonly into?: Uint8Array | undefined },
  ): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array(0);
    const isLargeEnough = into !== undefined && into.length >= length;
    const bytes = isLargeEnough ? into.subarray(0, length) : new Uint8Array(length);
    const what = `GET of ${describe(file)}, ${length} bytes at ${start}`;
    const headers = { Range: `bytes=${start}-${start + length - 1}` };
    return await this.#send('GET', file, headers, what, options, async (answer) => {
      if (answer.status !== 206) {
        answer.dispose();
        throw this.#unexpected(what, answer);
      }
      return await collect(answer, bytes, what);
    });
  }

  close(): void {
    this.#agent?.destroy();
  }

  async #send<T>(
    method: 'GET' | 'HEAD',
    file: DatastoreFile,
    headers: Readonly<Record<string, string>>,
    what: string,
    { signal, stallMs }: StreamOptions,
    use: (answer: StreamAnswer) => Promise<T>,
  ): Promise<T> {
    const { url: base, trust } = this.#server;
    const path = file.path.split('/').map(encodeURIComponent).join('/');
    const query = new URLSearchParams({ dcPath: file.datacenter, dsName: file.datastore });
    const url = new URL(`/folder/${path}?${query.toString()}`, base);
    const agent = (this.#agent ??= agentFor(base, trust, { maxSockets: limits.sockets, keepAlive: true }));
    return await this.#core.withCookie(
      async (Cookie) => {
        const answer = await openStream({ method, url, headers: { ...headers, Cookie }, agent, signal, stallMs, what });
        return await use(answer);
      },
      signal === undefined ? {} : { signal },
    );
  }

  #unexpected(what: string, { status }: StreamAnswer): VSphereError {
    const { host } = this.#server.url;
    if (status === 200) return broken(what, `${host} does not serve parts of files`);
    if (status === 416) return broken(what, 'the file ends before');
    return httpError(what, host, status);
  }
}

/** Fills `bytes` with the whole body. */
async function collect(answer: StreamAnswer, bytes: Uint8Array, what: string): Promise<Uint8Array> {
  const { length } = bytes;
  let at = 0;
  for await (const chunk of answer.body) {
    if (at + chunk.length > length) throw broken(what, 'the answer is longer than asked');
    bytes.set(chunk, at);
    at += chunk.length;
    giveBack(chunk);
  }
  if (at < length) throw broken(what, `the answer has ${at} bytes`);
  return bytes;
}

function broken(what: string, why: string): VSphereError {
  const message = `${what}: ${why}.`;
  return new VSphereError('PROTOCOL', message, { kind: 'http', method: what, message });
}
