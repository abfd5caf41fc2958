import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { after, test } from 'node:test';

import { downloadExport } from '../../../../activities/vsphere/export-download.ts';
import type { LeaseDeviceUrl } from '../../../../activities/vsphere/port.ts';
import type { Trust } from '../../../../activities/vsphere/tls.ts';
import type { UploadServer } from '../../../../activities/vsphere/upload.ts';
import { selfSigned } from '../../../sim/self-signed.ts';
import { startScriptedVCenter } from '../../vsphere/scripted-vcenter.ts';

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
  return `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const device = (url: string, more: Partial<LeaseDeviceUrl> = {}): LeaseDeviceUrl => ({
  key: 'k',
  importKey: '',
  url: `${url}/nfc/secret-ticket/disk-0.vmdk`,
  isDisk: true,
  ...more,
});

const vcenterAt = (origin: string, trust: Trust = { kind: 'ca' }): UploadServer => ({
  url: new URL(`${origin}/sdk`),
  trust,
  allowPlainHttp: true,
});

/** Another server than the one that hosts the disks. */
const elsewhere = vcenterAt('https://vcenter.invalid');

async function bytesOf(
  server: UploadServer,
  file: LeaseDeviceUrl,
  stallMs = 5_000,
  signal?: AbortSignal,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of downloadExport(server, file, { stallMs, signal })) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test('an exported disk is downloaded, from vCenter or from a host with the thumbprint of the lease', async () => {
  const handler: RequestListener = (request, response) => response.end(`${request.method ?? ''} disk`);
  const plain = await listen(handler);
  assert.equal(await bytesOf(vcenterAt(plain), device(plain)), 'GET disk');
  const host = await listen(handler, true);
  assert.equal(await bytesOf(elsewhere, device(host, { sslThumbprint: certificate.sha1 })), 'GET disk');
});

test('a host that is not the one of the lease gets no request', async () => {
  let requests = 0;
  const host = await listen((_, response) => {
    requests += 1;
    response.end();
  }, true);
  const stranger = device(host, { sslThumbprint: selfSigned().sha1 });
  await assert.rejects(bytesOf(elsewhere, stranger), { code: 'NFC_TLS' });
  await assert.rejects(bytesOf(elsewhere, device(host)), { code: 'NFC_TLS' });
  assert.equal(requests, 0);
});

test('a host that can not be reached is told from a vCenter that can not', async () => {
  const strict = { ...elsewhere, allowPlainHttp: false };
  await assert.rejects(bytesOf(strict, device('http://127.0.0.1:1')), { code: 'NFC_TLS', message: /plain-http/ });
  const tls = device('https://127.0.0.1:1');
  await assert.rejects(bytesOf(elsewhere, tls), { code: 'ESXI_UNREACHABLE', message: /check DNS and firewall/ });
  await assert.rejects(bytesOf(vcenterAt('https://127.0.0.1:1'), tls), { code: 'TRANSPORT' });
});

for (const [status, code] of [
  [404, 'LEASE_LOST'],
  [403, 'LEASE_LOST'],
  [500, 'HTTP'],
  [204, 'HTTP'],
] as const) {
  test(`the status ${status} is ${code}, and no error tells the address`, async () => {
    const origin = await listen((_, response) => void response.writeHead(status).end());
    await assert.rejects(bytesOf(vcenterAt(origin), device(origin)), (error: { code: string; message: string }) => {
      assert.equal(error.code, code);
      assert.doesNotMatch(error.message, /secret-ticket/);
      return true;
    });
  });
}

test('a connection that breaks in the middle is an error, never a short disk', async () => {
  const broken =
    (announce: Record<string, string>): RequestListener =>
    (_, response) => {
      response.writeHead(200, announce);
      response.write('half', () => response.socket?.destroy());
    };
  for (const announce of [{ 'content-length': '8' }, { 'transfer-encoding': 'chunked' }]) {
    const origin = await listen(broken(announce));
    await assert.rejects(bytesOf(vcenterAt(origin), device(origin)), { code: 'TRANSPORT' });
  }
});

test('a server that falls silent is given up, before and in the middle of its answer', async () => {
  const silent = await listen(() => undefined);
  await assert.rejects(bytesOf(vcenterAt(silent), device(silent), 100), {
    code: 'TIMEOUT',
    message: /sent nothing for 100 ms/,
  });
  const stuck = await listen((_, response) => void response.writeHead(200).write('half'));
  await assert.rejects(bytesOf(vcenterAt(stuck), device(stuck), 100), { code: 'TIMEOUT' });
});

test('a slow reader is no silent server', async () => {
  const origin = await listen((_, response) => response.end(Buffer.alloc(1024 * 1024, 1)));
  let bytes = 0;
  for await (const chunk of downloadExport(vcenterAt(origin), device(origin), { stallMs: 200, signal: undefined })) {
    if (bytes === 0) await new Promise((resolve) => setTimeout(resolve, 500));
    bytes += chunk.length;
  }
  assert.equal(bytes, 1024 * 1024);
});

test('an abort ends the download with its own reason', async () => {
  const origin = await listen((_, response) => void response.writeHead(200).write('half'));
  const controller = new AbortController();
  const reason = new Error('cancelled');
  await assert.rejects(async () => {
    const file = downloadExport(vcenterAt(origin), device(origin), { stallMs: 60_000, signal: controller.signal });
    for await (const chunk of file) if (chunk.length > 0) controller.abort(reason);
  }, reason);
});

test('who stops reading closes the connection', async () => {
  let closed: () => void = () => undefined;
  const end = new Promise<void>((resolve) => (closed = resolve));
  const origin = await listen((request, response) => {
    request.socket.once('close', closed);
    response.writeHead(200).write('first');
  });
  for await (const chunk of downloadExport(vcenterAt(origin), device(origin), { stallMs: 60_000, signal: undefined })) {
    if (chunk.length > 0) break;
  }
  await end;
});

const file = { datacenter: '/Folder/DC 0', datastore: 'ds 1', path: 'web 01/a#b&c.vmdk' };
const options = { stallMs: 5_000 };

/** A vCenter whose files are answered by `handler`. */
async function filesOf(
  t: TestContext,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Awaited<ReturnType<typeof startScriptedVCenter>>> {
  const vcenter = await startScriptedVCenter();
  t.after(() => vcenter.close());
  vcenter.onOther(handler);
  return vcenter;
}

test('a file of a datastore is asked for under the cookie of the session, with everything escaped', async (t) => {
  const seen: IncomingMessage[] = [];
  const vcenter = await filesOf(t, (request, response) => {
    seen.push(request);
    if (request.method === 'HEAD') return void response.writeHead(200, { 'content-length': '4711' }).end();
    response.writeHead(206).end('part');
  });
  const session = await vcenter.open();
  assert.equal(await session.vms.fileSize(file, options), 4711);
  const connections = vcenter.connections();
  assert.equal(Buffer.from(await session.vms.readFile(file, 100, 4, options)).toString(), 'part');
  const [head, get] = seen;
  const url = new URL(head?.url ?? '', 'http://x');
  assert.equal(url.pathname, '/folder/web%2001/a%23b%26c.vmdk');
  assert.deepEqual([url.searchParams.get('dcPath'), url.searchParams.get('dsName')], ['/Folder/DC 0', 'ds 1']);
  assert.deepEqual([head?.method, get?.method, get?.headers.range], ['HEAD', 'GET', 'bytes=100-103']);
  assert.ok(seen.every(({ headers }) => headers.cookie === 'vmware_soap_session="session-1"'));
  assert.equal(vcenter.connections(), connections, 'the connection is used again');
});

test('a session that is not known any more is renewed once for files, too', async (t) => {
  const vcenter = await filesOf(t, (request, response) => {
    if (request.headers.cookie !== 'vmware_soap_session="session-2"') return void response.writeHead(401).end();
    response.writeHead(206).end('part');
  });
  const session = await vcenter.open();
  assert.equal((await session.vms.readFile(file, 0, 4, options)).length, 4);
  assert.equal(vcenter.count('Login'), 2);
  vcenter.onOther((_, response) => void response.writeHead(401).end());
  await assert.rejects(session.vms.readFile(file, 0, 4, options), { code: 'HTTP' });
  assert.equal(vcenter.count('Login'), 3);
});

test('a file that is not there has no size', async (t) => {
  const vcenter = await filesOf(t, (_, response) => void response.writeHead(404).end());
  const session = await vcenter.open();
  assert.equal(await session.vms.fileSize(file, options), undefined);
});

for (const [what, status, body, expected] of [
  ['the whole file instead of a part', 200, 'the whole file', { code: 'PROTOCOL', message: /does not serve parts/ }],
  ['fewer bytes than asked', 206, 'abc', { code: 'PROTOCOL', message: /the answer has 3 bytes/ }],
  ['more bytes than asked', 206, 'abcde', { code: 'PROTOCOL', message: /longer than asked/ }],
  ['a range beyond the end', 416, '', { code: 'PROTOCOL', message: /the file ends before/ }],
  ['a failure', 503, '', { code: 'HTTP' }],
] as const) {
  test(`${what} is an error that names file and part`, async (t) => {
    const vcenter = await filesOf(t, (_, response) => void response.writeHead(status).end(body));
    const session = await vcenter.open();
    await assert.rejects(session.vms.readFile(file, 0, 4, options), expected);
    await assert.rejects(
      session.vms.readFile(file, 0, 4, options),
      /\[ds 1\] web 01\/a#b&c\.vmdk, 4 bytes at 0|HTTP status/,
    );
  });
}
