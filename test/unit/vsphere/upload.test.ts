import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttp } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { openEntry } from '../../../activities/ova/entry-reader.ts';
import type { LeaseDeviceUrl, UploadOptions } from '../../../activities/vsphere/port.ts';
import type { Trust } from '../../../activities/vsphere/tls.ts';
import type { UploadServer } from '../../../activities/vsphere/upload.ts';
import { upload } from '../../../activities/vsphere/upload.ts';
import { uploadRing } from '../../../activities/vsphere/upload-stream.ts';
import { selfSigned } from '../../sim/self-signed.ts';
import { waitFor } from '../../support/wait-for.ts';

const certificate = selfSigned();
const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(handler: RequestListener, tls = false): Promise<string> {
  const server = tls
    ? createHttps({ key: certificate.keyPem, cert: certificate.certPem }, handler)
    : createHttp(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
}

const device = (url: string, more: Partial<LeaseDeviceUrl> = {}): LeaseDeviceUrl => ({
  key: 'k',
  importKey: 'd',
  url,
  isDisk: true,
  ...more,
});

const vcenterAt = (origin: string, trust: Trust = { kind: 'ca' }): UploadServer => ({
  url: new URL(`${origin}/sdk`),
  trust,
  allowPlainHttp: true,
});

async function* chunks(data: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) {
    await Promise.resolve();
    yield data.subarray(at, at + size);
  }
}

const disk = randomBytes(3_000_017);

const options = (more: Partial<UploadOptions> = {}): UploadOptions => ({
  method: 'POST',
  contentType: 'application/x-vnd.vmware-streamVmdk',
  length: disk.length,
  body: chunks(disk, 700_001),
  stallMs: 10_000,
  signal: new AbortController().signal,
  onSent: () => undefined,
  ...more,
});

/** Reads everything, then answers. */
const swallow =
  (status: number, seen: (request: IncomingMessage, sha1: string) => void = () => undefined): RequestListener =>
  (request, response) => {
    const hash = createHash('sha1');
    request.on('data', (chunk: Buffer) => hash.update(chunk));
    request.on('end', () => {
      seen(request, hash.digest('hex'));
      response.writeHead(status).end();
    });
  };

test('buffers that a file fills in turn arrive unharmed at a server that reads slowly', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-upload-'));
  const path = join(dir, 'disk.vmdk');
  const data = randomBytes(12_000_017);
  await writeFile(path, data);
  let received = '';
  const origin = await listen((request, response) => {
    const hash = createHash('sha1');
    request.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      request.pause();
      setImmediate(() => request.resume());
    });
    request.on('end', () => {
      received = hash.digest('hex');
      response.writeHead(200).end();
    });
  }, true);
  const trust: Trust = { kind: 'pin', algorithm: 'sha256', fingerprint: certificate.sha256 };
  const body = openEntry(path, { offset: 0, size: data.length }, uploadRing);
  await upload(vcenterAt(origin, trust), device(`${origin}/x`), options({ length: data.length, body }));
  assert.equal(received, createHash('sha1').update(data).digest('hex'));
  await rm(dir, { recursive: true });
});

test('a disk is sent with its exact length, never chunked, and whole', async () => {
  let headers: IncomingMessage['headers'] = {};
  let received = '';
  const sent: number[] = [];
  const origin = await listen(swallow(201, (request, sha1) => ([headers, received] = [request.headers, sha1])));
  const result = await upload(
    vcenterAt(origin),
    device(`${origin}/nfc/x`),
    options({ onSent: (bytes) => sent.push(bytes) }),
  );
  assert.deepEqual(result, { status: 201 });
  assert.equal(received, createHash('sha1').update(disk).digest('hex'));
  assert.equal(headers['content-length'], String(disk.length));
  assert.equal(headers['transfer-encoding'], undefined);
  assert.equal(headers['content-type'], 'application/x-vnd.vmware-streamVmdk');
  assert.equal(headers['overwrite'], undefined);
  assert.equal(headers.cookie, undefined);
  assert.equal(sent.at(-1), disk.length);
  assert.deepEqual(
    sent,
    sent.toSorted((a, b) => a - b),
  );
});

test('a file that the server did not expect is PUT with Overwrite and without type', async () => {
  let seen: IncomingMessage | undefined;
  const origin = await listen(swallow(200, (request) => (seen = request)));
  const { contentType, ...rest } = options({ method: 'PUT', overwrite: true, length: 0 });
  assert.ok(contentType !== undefined, 'disks have one');
  await upload(vcenterAt(origin), device(`${origin}/nfc/x`), { ...rest, body: chunks(new Uint8Array(), 1) });
  assert.equal(seen?.method, 'PUT');
  assert.equal(seen.headers['overwrite'], 't');
  assert.equal(seen.headers['content-type'], undefined);
  assert.equal(seen.headers['content-length'], '0');
});

test('a host of * means the address of the vCenter', async () => {
  const origin = await listen(swallow(200));
  const url = `${origin.replace('127.0.0.1', '*')}/nfc/x`;
  assert.equal((await upload(vcenterAt(origin), device(url), options())).status, 200);
});

for (const [status, code] of [
  [401, 'LEASE_LOST'],
  [403, 'LEASE_LOST'],
  [404, 'LEASE_LOST'],
  [413, 'INSUFFICIENT_SPACE'],
  [507, 'INSUFFICIENT_SPACE'],
  [500, 'UPLOAD_IO'],
  [503, 'UPLOAD_IO'],
  [400, 'HTTP'],
] as const) {
  test(`status ${status} means ${code}`, async () => {
    const origin = await listen(swallow(status));
    await assert.rejects(
      upload(vcenterAt(origin), device(`${origin}/nfc/secret-lease`), options()),
      (error: Error & { code: string; info: { httpStatus: number } }) => {
        assert.deepEqual([error.code, error.info.httpStatus], [code, status]);
        assert.ok(!JSON.stringify(error).includes('secret-lease') && !error.message.includes('secret-lease'));
        return true;
      },
    );
  });
}

test('an answer before the body is done is the verdict, also when the connection breaks right after it', async () => {
  for (let round = 0; round < 20; round += 1) {
    const origin = await listen((request, response: ServerResponse) => {
      request.once('data', () => {
        response.writeHead(500, { Connection: 'close' }).end('no space');
        response.once('finish', () => request.socket.destroySoon());
      });
    });
    const big = { length: 50_000_000, body: chunks(Buffer.alloc(50_000_000), 65_536) };
    await assert.rejects(upload(vcenterAt(origin), device(`${origin}/nfc/x`), options(big)), {
      code: 'UPLOAD_IO',
      message: /status 500/,
    });
  }
});

test('a success before the body is done is none', async () => {
  const origin = await listen((request, response) => {
    request.once('data', () => response.writeHead(200).end());
  });
  const big = { length: 50_000_000, body: chunks(Buffer.alloc(50_000_000), 65_536) };
  await assert.rejects(upload(vcenterAt(origin), device(`${origin}/nfc/x`), options(big)), {
    code: 'UPLOAD_IO',
    message: /before the file was sent/,
  });
});

test('a broken connection is UPLOAD_IO and tells how far it came', async () => {
  const origin = await listen((request) => void request.once('data', () => request.socket.resetAndDestroy()));
  const big = { length: 50_000_000, body: chunks(Buffer.alloc(50_000_000), 65_536) };
  await assert.rejects(upload(vcenterAt(origin), device(`${origin}/nfc/x`), options(big)), {
    code: 'UPLOAD_IO',
    message: /broke after \d+ of 50000000 bytes/,
  });
});

test('a server that takes nothing more stalls the upload', async () => {
  const origin = await listen((request) => void request.pause());
  const big = { length: 50_000_000, body: chunks(Buffer.alloc(50_000_000), 65_536), stallMs: 200 };
  await assert.rejects(upload(vcenterAt(origin), device(`${origin}/nfc/x`), options(big)), {
    code: 'UPLOAD_STALLED',
    message: /took no more data/,
  });
});

test('a server that never answers and a source that never ends are stalls, too', async () => {
  const origin = await listen((request) => void request.resume());
  const server = vcenterAt(origin);
  await assert.rejects(upload(server, device(`${origin}/nfc/x`), options({ stallMs: 200 })), {
    code: 'UPLOAD_STALLED',
    message: /gave no answer/,
  });
  let returned = false;
  const body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => undefined),
      return: () => {
        returned = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
  await assert.rejects(upload(server, device(`${origin}/nfc/x`), options({ body, stallMs: 100 })), {
    code: 'UPLOAD_STALLED',
  });
  assert.ok(returned, 'the source is released');
});

test('a refused connection is ESXI_UNREACHABLE with host and port, but UPLOAD_IO at the vCenter itself', async () => {
  const origin = 'http://127.0.0.1:1';
  await assert.rejects(upload(vcenterAt('http://127.0.0.1:2'), device(`${origin}/nfc/x`), options()), {
    code: 'ESXI_UNREACHABLE',
    message: /127\.0\.0\.1:1 can't be reached/,
  });
  await assert.rejects(upload(vcenterAt(origin), device(`${origin}/nfc/x`), options()), { code: 'UPLOAD_IO' });
});

test('a source that is shorter or longer than announced is no upload', async () => {
  let complete = 0;
  const origin = await listen(swallow(200, () => (complete += 1)));
  const run = (length: number): Promise<unknown> =>
    upload(vcenterAt(origin), device(`${origin}/nfc/x`), options({ length, body: chunks(disk, 65_536) }));
  await assert.rejects(run(disk.length + 1), { code: 'UPLOAD_IO', message: /ended after/ });
  await assert.rejects(run(disk.length - 1), { code: 'UPLOAD_IO', message: /longer than/ });
  assert.equal(complete, 0);
});

test('what the source throws is passed on as it is', async () => {
  const origin = await listen(swallow(200));
  const failure = Object.assign(new Error('the download broke'), { code: 'ECONNRESET' });
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(disk.subarray(0, 1000));
    throw failure;
  }
  await assert.rejects(upload(vcenterAt(origin), device(`${origin}/nfc/x`), options({ body: broken() })), failure);
});

test('an abort ends the upload with its own reason and closes the connection', async () => {
  let closed = false;
  const origin = await listen((request) => {
    request.resume();
    request.on('close', () => (closed = true));
  });
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield await Promise.resolve(disk);
  }
  const controller = new AbortController();
  const reason = new Error('cancelled');
  let sent = 0;
  const running = upload(
    vcenterAt(origin),
    device(`${origin}/nfc/x`),
    options({ length: 1e12, body: endless(), signal: controller.signal, onSent: (bytes) => (sent = bytes) }),
  );
  await waitFor('some bytes', () => sent > 0);
  controller.abort(reason);
  await assert.rejects(running, reason);
  await waitFor('the server to see the end', () => closed);
});

test('little of the source is taken before the socket takes it', async () => {
  const origin = await listen((request) => void request.pause());
  let taken = 0;
  async function* source(): AsyncGenerator<Uint8Array> {
    for (;;) {
      taken += 65_536;
      yield await Promise.resolve(Buffer.alloc(65_536));
    }
  }
  let sent = 0;
  const body = options({ length: 1e9, body: source(), stallMs: 300, onSent: (bytes) => (sent = bytes) });
  await assert.rejects(upload(vcenterAt(origin), device(`${origin}/nfc/x`), body), { code: 'UPLOAD_STALLED' });
  assert.ok(taken - sent <= 1024 * 1024, `${taken - sent} bytes in flight`);
});

test('an ESXi host is proven by the thumbprint or certificate of its lease, else by a CA', async () => {
  const origin = await listen(swallow(200), true);
  const server = vcenterAt('https://127.0.0.1:1', { kind: 'ca' });
  const send = (more: Partial<LeaseDeviceUrl>): Promise<{ status: number }> =>
    upload(server, device(`${origin}/nfc/x`, more), options({ body: chunks(disk, 65_536) }));
  assert.equal((await send({ sslThumbprint: certificate.sha1 })).status, 200);
  assert.equal((await send({ sslCertificate: certificate.certPem })).status, 200);
  await assert.rejects(send({ sslThumbprint: selfSigned().sha1 }), { code: 'NFC_TLS' });
  await assert.rejects(send({ sslCertificate: selfSigned().certPem }), { code: 'NFC_TLS' });
  await assert.rejects(send({}), { code: 'NFC_TLS' });
  await assert.rejects(upload({ ...server, url: new URL(origin) }, device(`${origin}/x`), options()), {
    code: 'NFC_TLS',
  });
});

test('at its own address the trust of the vCenter holds, whatever the lease says', async () => {
  const origin = await listen(swallow(200), true);
  const pin: Trust = { kind: 'pin', algorithm: 'sha256', fingerprint: certificate.sha256 };
  const result = await upload(
    vcenterAt(origin, pin),
    device(`${origin}/x`, { sslThumbprint: selfSigned().sha1 }),
    options(),
  );
  assert.equal(result.status, 200);
});

test('a plain-http device URL is refused unless plain http is allowed', async () => {
  const origin = await listen(swallow(200));
  await assert.rejects(upload({ ...vcenterAt(origin), allowPlainHttp: false }, device(`${origin}/x`), options()), {
    code: 'NFC_TLS',
  });
});
