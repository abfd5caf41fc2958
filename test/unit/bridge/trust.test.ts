import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { givenIdentities, ownIdentities } from '../../../workers/bridge/identity.ts';
import { bundleWith, patchFor, webhookFor, type WebhookTarget } from '../../../workers/bridge/webhook-configuration.ts';
import { selfSignedCertificate, type KeyAndCertificate } from '../../../workers/bridge/x509.ts';

const now = new Date('2026-06-01T00:00:00Z');
const hourMs = 3_600_000;

function certificate(endsInHours = 1, hosts: readonly string[] = ['a.example']): KeyAndCertificate {
  const notBefore = new Date(now.getTime() - 48 * hourMs);
  return selfSignedCertificate({
    commonName: 'test',
    hosts,
    notBefore,
    notAfter: new Date(now.getTime() + endsInHours * hourMs),
  });
}

const unpack = (bundle: string): string => Buffer.from(bundle, 'base64').toString();
const pack = (...pems: readonly string[]): string => Buffer.from(pems.join('')).toString('base64');

describe('a certificate made here', () => {
  test('is made out to its hosts, for servers only, signs nothing else, and ends when asked', () => {
    const { certPem } = certificate(1, ['vmflow-bridge.vmflow.svc', '127.0.0.1']);
    const x509 = new X509Certificate(certPem);
    assert.equal(x509.subjectAltName, 'DNS:vmflow-bridge.vmflow.svc, IP Address:127.0.0.1');
    assert.deepEqual(x509.keyUsage, ['1.3.6.1.5.5.7.3.1']);
    assert.equal(x509.ca, false);
    assert.equal(x509.validToDate.getTime(), now.getTime() + hourMs);
    assert.ok(x509.verify(x509.publicKey));
  });

  for (const year of [2049, 2050])
    test(`may end in ${year}`, () => {
      const notAfter = new Date(Date.UTC(year, 5, 1));
      const { certPem } = selfSignedCertificate({ commonName: 'x', hosts: ['x'], notBefore: now, notAfter });
      assert.equal(new X509Certificate(certPem).validToDate.getTime(), notAfter.getTime());
    });

  test('is trusted by who has it in its bundle, and by nobody else', async () => {
    const source = ownIdentities(['127.0.0.1'], 48 * hourMs);
    const [own, other] = [await source.first(), await source.first()];
    const server = createServer({ key: own.keyPem, cert: own.certPem }, (_, response) => response.end('hello'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const agents = [own, other].map(({ certPem }) => new Agent({ connect: { ca: certPem } }));
    try {
      const [trusting, strange] = agents;
      assert.equal(await (await request(url, { dispatcher: trusting! })).body.text(), 'hello');
      await assert.rejects(request(url, { dispatcher: strange! }), /certificate/);
    } finally {
      await Promise.all(agents.map((agent) => agent.close()));
      server.close();
    }
  });

  test('is followed by another when two thirds of its life are over', async () => {
    let clock = now.getTime();
    const source = ownIdentities(['x'], 30 * hourMs, () => clock);
    const first = await source.first();
    clock += 19 * hourMs;
    assert.equal(await source.next(first), undefined);
    clock += 2 * hourMs;
    const second = await source.next(first);
    assert.ok(second !== undefined && second.certPem !== first.certPem);
    assert.equal(await source.next(second), undefined);
  });

  test('is refused for an IPv6 address, in words', () => {
    assert.throws(() => certificate(1, ['::1']), /::1.*IPv4/);
  });
});

describe('a certificate from files', () => {
  let dir: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'vmflow-identity-'));
  });
  after(() => rm(dir, { recursive: true, force: true }));

  const filesIn = (): { certFile: string; keyFile: string; caFile: string } => ({
    certFile: join(dir, 'tls.crt'),
    keyFile: join(dir, 'tls.key'),
    caFile: join(dir, 'ca.crt'),
  });
  async function write(pair: KeyAndCertificate, trust = pair.certPem): Promise<void> {
    const { certFile, keyFile, caFile } = filesIn();
    await Promise.all([writeFile(certFile, pair.certPem), writeFile(keyFile, pair.keyPem), writeFile(caFile, trust)]);
  }

  test('is followed by another when the files change, not before', async () => {
    const [one, two] = [certificate(), certificate()];
    await write(one);
    const source = givenIdentities(filesIn());
    const first = await source.first();
    assert.deepEqual(first, { ...one, trust: one.certPem });
    assert.equal(await source.next(first), undefined);
    await write(two);
    assert.deepEqual(await source.next(first), { ...two, trust: two.certPem });
  });

  test('says which file is wrong and never what is in it', async () => {
    const [one, two] = [certificate(), certificate()];
    const { certFile, keyFile, caFile } = filesIn();
    const source = givenIdentities(filesIn());
    await write({ certPem: one.certPem, keyPem: two.keyPem });
    await assert.rejects(source.first(), new RegExp(`key in ${keyFile} does not belong`));
    await write({ certPem: 'nonsense', keyPem: one.keyPem });
    await assert.rejects(source.first(), new RegExp(`${certFile} holds nothing`));
    await write({ certPem: one.certPem, keyPem: 'secret nonsense' });
    await assert.rejects(
      source.first(),
      (error: Error) => error.message.includes(keyFile) && !error.message.includes('secret'),
    );
    await write(one, 'nonsense');
    await assert.rejects(source.first(), new RegExp(`${caFile} holds nothing`));
    await rm(caFile);
    await assert.rejects(source.first(), new RegExp(`${caFile}.*webhook.caFile`));
  });

  test('leaves the trust to somebody else where no authority is given', async () => {
    const one = certificate();
    await write(one);
    const { certFile, keyFile } = filesIn();
    assert.deepEqual(await givenIdentities({ certFile, keyFile }).first(), one);
  });
});

describe('what the API server trusts', () => {
  const [mine, others, ended] = [certificate(), certificate(), certificate(-1)];
  const table: readonly (readonly [string, string | undefined, readonly string[]])[] = [
    ['nothing before', undefined, [mine.certPem]],
    ['the certificate of another bridge stays', pack(others.certPem), [others.certPem, mine.certPem]],
    ['ours is there already', pack(mine.certPem, others.certPem), [mine.certPem, others.certPem]],
    ['what has ended goes', pack(ended.certPem, others.certPem), [others.certPem, mine.certPem]],
    [
      'what nobody can read goes',
      pack('nonsense', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
      [mine.certPem],
    ],
  ];
  for (const [what, bundle, expected] of table)
    test(what, () => assert.equal(unpack(bundleWith(bundle, mine.certPem, now)), expected.join('')));

  test('stays the same when it is looked at again, also when ours has ended', () => {
    for (const { certPem } of [mine, ended]) {
      const once_ = bundleWith(pack(others.certPem), certPem, now);
      assert.equal(bundleWith(once_, certPem, now), once_);
    }
  });

  test('never grows without end', () => {
    const many = Array.from({ length: 40 }, () => certificate().certPem);
    const kept = unpack(bundleWith(pack(...many), mine.certPem, now)).match(/BEGIN/g);
    assert.equal(kept?.length, 32);
    assert.ok(unpack(bundleWith(pack(...many), mine.certPem, now)).endsWith(mine.certPem));
  });
});

describe('the configuration of the webhook', () => {
  const url: WebhookTarget = { url: 'https://127.0.0.1:1234/admit' };
  const service: WebhookTarget = { service: { namespace: 'vmflow', name: 'vmflow-bridge', path: '/admit', port: 443 } };
  const { certPem } = certificate();
  const wanted = { target: service, timeoutSeconds: 2, trust: certPem };
  const object = (webhooks?: readonly object[]): KubeObject => ({
    metadata: { name: 'vmflow', namespace: '', uid: 'u', resourceVersion: '7', creationTimestamp: '' },
    ...(webhooks === undefined ? {} : { webhooks }),
  });
  const onlyIfUnchanged = { op: 'test', path: '/metadata/resourceVersion', value: '7' };
  const other = { name: 'other.example', clientConfig: { url: 'https://other.example/' } };

  test('is filled in where it is empty', () => {
    const caBundle = pack(certPem);
    const ours = { ...webhookFor(service, 2), clientConfig: { ...service, caBundle } };
    assert.deepEqual(patchFor(object(), wanted, now), [
      onlyIfUnchanged,
      { op: 'add', path: '/webhooks', value: [ours] },
    ]);
  });

  test('gets ours beside those of others', () => {
    const [, change] = patchFor(object([other]), wanted, now);
    assert.ok(change?.op === 'add');
    assert.deepEqual((change.value as object[]).length, 2);
    assert.equal((change.value as object[])[0], other);
  });

  test('is left alone when all is as it should be, whatever else is set in it', () => {
    const clientConfig = { service: { ...service.service, more: 1 }, caBundle: pack(certPem) };
    const tuned = { ...webhookFor(service, 2), clientConfig, timeoutSeconds: 9, namespaceSelector: {} };
    assert.deepEqual(patchFor(object([other, tuned]), wanted, now), []);
  });

  test('is pointed to us and nothing else is changed', () => {
    const elsewhere = { ...webhookFor(service, 2), clientConfig: { ...service, caBundle: pack(certPem) } };
    assert.deepEqual(patchFor(object([other, elsewhere]), { ...wanted, target: url }, now), [
      onlyIfUnchanged,
      { op: 'replace', path: '/webhooks/1/clientConfig', value: { ...url, caBundle: pack(certPem) } },
    ]);
  });

  test('keeps the bundle of whoever else sees to it', () => {
    const foreign = { ...webhookFor(url, 2), clientConfig: { ...url, caBundle: 'Zm9yZWlnbg==' } };
    assert.deepEqual(patchFor(object([foreign]), { target: url, timeoutSeconds: 2 }, now), []);
  });

  test('is the one that workers/deploy ships', async () => {
    const path = new URL('../../../workers/deploy/webhook/vmflow.yaml', import.meta.url);
    const [shipped] = parseAllDocuments(await readFile(path, 'utf8')).map((document) => document.toJS() as KubeObject);
    assert.equal(shipped?.metadata.name, 'vmflow');
    assert.deepEqual((shipped as unknown as { webhooks: unknown }).webhooks, [webhookFor(service, 2)]);
  });
});
