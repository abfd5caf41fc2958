import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';

import type { TlsPolicy } from '../../../activities/vsphere/port.ts';
import { createVSphere } from '../../../activities/vsphere/vsphere-adapter.ts';
import { selfSigned } from '../../sim/self-signed.ts';
import { envelope, serviceContent } from './scripted-vcenter.ts';

const certificate = selfSigned();
const stranger = selfSigned();
const requests: string[] = [];
let encryptedBytes = 0;
let handshakes: { readonly sni: unknown; readonly reused: boolean }[] = [];
let url: string;
let folder: string;
const server = createServer({ key: certificate.keyPem, cert: certificate.certPem }, (request, response) => {
  requests.push(request.url ?? '');
  response.end(envelope('RetrieveServiceContent', serviceContent()));
});

before(async () => {
  server.on('secureConnection', (socket) => {
    handshakes.push({ sni: socket.servername, reused: socket.isSessionReused() });
    socket.on('data', (data: Buffer) => (encryptedBytes += data.length));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/sdk`;
  folder = await mkdtemp(join(tmpdir(), 'vmflow-tls-'));
  await writeFile(join(folder, 'ca.pem'), certificate.certPem);
  await writeFile(join(folder, 'other.pem'), stranger.certPem);
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  requests.length = 0;
  encryptedBytes = 0;
  handshakes = [];
});

async function open(
  tls: TlsPolicy,
  more: { allowInsecureTls?: boolean; url?: string; plain?: boolean } = {},
): Promise<string> {
  const vsphere = createVSphere({ allowInsecureTls: more.allowInsecureTls ?? false });
  const endpoint = { name: 'vc', url: more.url ?? url, user: 'u', password: 'p', tls };
  const session = await vsphere.open(more.plain === true ? { ...endpoint, allowPlainHttp: true } : endpoint);
  await session.close();
  return session.about.apiVersion;
}

test('a certificate of a known CA is accepted', async () => {
  assert.equal(await open({ mode: 'ca', caFile: join(folder, 'ca.pem') }), '8.0.3.0');
});

test('without the CA the certificate is refused as TLS_CA before any request', async () => {
  await assert.rejects(open({ mode: 'ca' }), { code: 'TLS_CA', outcomeUnknown: false });
  await assert.rejects(open({ mode: 'ca', caFile: join(folder, 'other.pem') }), { code: 'TLS_CA' });
  assert.deepEqual(requests, []);
});

test('the right thumbprint is accepted, SHA-256 or SHA-1, with or without colons, in any case', async () => {
  const { sha256, sha1 } = certificate;
  for (const policy of [{ sha256 }, { sha1 }, { sha256: sha256.replaceAll(':', '').toLowerCase() }]) {
    assert.equal(await open({ mode: 'thumbprint', ...policy }), '8.0.3.0');
  }
});

test('with a wrong thumbprint not one byte of a request is written', async () => {
  for (const policy of [
    { sha256: stranger.sha256 },
    { sha1: stranger.sha1 },
    { sha256: stranger.sha256, sha1: certificate.sha1 },
  ]) {
    await assert.rejects(open({ mode: 'thumbprint', ...policy }), (error: Error & { code: string }) => {
      assert.equal(error.code, 'TLS_THUMBPRINT');
      const [expected = ''] = Object.values(policy);
      assert.ok(error.message.includes(expected), 'names the expected one');
      return true;
    });
  }
  await assert.rejects(open({ mode: 'thumbprint' }), { code: 'TLS_THUMBPRINT' });
  assert.equal(encryptedBytes, 0);
  assert.deepEqual(requests, []);
});

test('the found thumbprint is shown, so that a renewed certificate can be checked', async () => {
  await assert.rejects(open({ mode: 'thumbprint', sha1: stranger.sha1 }), new RegExp(certificate.sha1));
});

test('TLS sessions are not resumed and no server name is sent for an address', async () => {
  await open({ mode: 'thumbprint', sha256: certificate.sha256 });
  await open({ mode: 'thumbprint', sha256: certificate.sha256 });
  assert.deepEqual(handshakes, Array(2).fill({ sni: false, reused: false }));
});

test('insecure needs the consent of the worker', async () => {
  await assert.rejects(open({ mode: 'insecure' }), { code: 'TLS_INSECURE_FORBIDDEN' });
  assert.deepEqual(handshakes, [], 'no connection is made');
  assert.equal(await open({ mode: 'insecure' }, { allowInsecureTls: true }), '8.0.3.0');
});

test('plain http is refused unless the endpoint allows it', async () => {
  const plain = 'http://127.0.0.1:1/sdk';
  await assert.rejects(open({ mode: 'ca' }, { url: plain }), { code: 'TLS_INSECURE_FORBIDDEN' });
  await assert.rejects(open({ mode: 'ca' }, { url: plain, plain: true }), { code: 'TRANSPORT', outcomeUnknown: false });
});
