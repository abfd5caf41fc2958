import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Registry, RegistryEndpoint } from '../../../activities/registry/port.ts';
import { createRegistries } from '../../../activities/registry/registries.ts';
import { createRegistry } from '../../../activities/registry/undici-adapter.ts';
import { selfSigned } from '../../sim/self-signed.ts';
import { startTcpProxy } from '../../sim/tcp-proxy.ts';
import { startRegistry, type RegistryUnderTest } from '../../stack/registry.ts';
import { waitFor } from '../../support/wait-for.ts';
import { endpointAt, push, refusal, repository } from './builders.ts';

let dir = '';
let real: RegistryUnderTest;
let secure: RegistryUnderTest;
let caFile = '';
const open: Registry[] = [];

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmflow-registry-test-'));
  [real, secure] = await Promise.all([startRegistry(), startRegistry({ tls: true, auth: 'token' })]);
  caFile = join(dir, 'ca.pem');
  await writeFile(caFile, secure.certificate?.certPem ?? '');
});
after(async () => {
  await Promise.all(open.map((registry) => registry.close()));
  await Promise.all([real.stop(), secure.stop(), rm(dir, { recursive: true, force: true })]);
});

function connect(url: string, more: Partial<RegistryEndpoint> = {}, allowInsecureTls = false): Registry {
  const registry = createRegistry(endpointAt(url, more), { allowInsecureTls });
  open.push(registry);
  return registry;
}

const account = (): Partial<RegistryEndpoint> => ({
  credentials: { kind: 'password', user: secure.user, password: secure.password },
});

describe('a certificate', () => {
  const sha256 = (): string => secure.certificate!.sha256;

  for (const [what, tls] of [
    ['its authority', () => ({ mode: 'ca', caFile })],
    ['its SHA-256 thumbprint', () => ({ mode: 'thumbprint', sha256: sha256() })],
    [
      'its thumbprint in another spelling',
      () => ({ mode: 'thumbprint', sha256: sha256().replaceAll(':', '').toLowerCase() }),
    ],
    ['its SHA-1 thumbprint', () => ({ mode: 'thumbprint', sha1: secure.certificate!.sha1 })],
  ] as const satisfies readonly (readonly [string, () => RegistryEndpoint['tls']])[])
    test(`is proven by ${what}`, async () => {
      const registry = connect(secure.url, { ...account(), tls: tls() });
      assert.equal(await registry.manifest(repository, 'nothing'), undefined);
      assert.equal(await registry.manifest(repository, 'nothing'), undefined);
    });

  for (const [what, tls, message] of [
    [
      'of an unknown authority',
      () => ({ mode: 'ca' }),
      /certificate of .* could not be verified.*CA or its thumbprint/,
    ],
    ['of another authority', async () => ({ mode: 'ca', caFile: await otherCa() }), /could not be verified/],
    [
      'with another thumbprint',
      () => ({ mode: 'thumbprint', sha256: selfSigned().sha256 }),
      /has the sha256 thumbprint .*, expected was/,
    ],
    [
      'whose authority can not be read',
      () => ({ mode: 'ca', caFile: '/nowhere/ca.pem' }),
      /CA file \/nowhere\/ca\.pem/,
    ],
  ] as const satisfies readonly (readonly [
    string,
    () => RegistryEndpoint['tls'] | Promise<RegistryEndpoint['tls']>,
    RegExp,
  ])[])
    test(`${what} ends it before anything is said`, async () => {
      const before_ = secure.tokens!.requests().length;
      const registry = connect(secure.url, { ...account(), tls: await tls() });
      assert.match((await refusal(registry.ping(), 'Untrusted')).message, message);
      assert.equal(secure.tokens!.requests().length, before_);
    });

  async function otherCa(): Promise<string> {
    const file = join(dir, 'other.pem');
    await writeFile(file, selfSigned().certPem);
    return file;
  }

  test('goes unproven only where endpoint and worker agree to that', async () => {
    assert.throws(() => connect(secure.url, { tls: { mode: 'insecure' } }), { reason: 'Untrusted' });
    const registry = connect(secure.url, { ...account(), tls: { mode: 'insecure' } }, true);
    await registry.ping();
  });

  test('is no matter of plain http, which has to be allowed', async () => {
    assert.throws(() => connect(real.url, { allowPlainHttp: false }), { reason: 'Untrusted', message: /use https/ });
    await connect(real.url, { tls: { mode: 'thumbprint', sha256: selfSigned().sha256 } }).ping();
  });

  test('does not help where the token service is on plain http: the password stays here', async () => {
    const before_ = secure.tokens!.requests().length;
    const registry = connect(secure.url, { ...account(), tls: { mode: 'ca', caFile }, allowPlainHttp: false });
    assert.match((await refusal(registry.ping(), 'Untrusted')).message, /over plain http.*use https there/);
    assert.equal(secure.tokens!.requests().length, before_);
  });
});

describe('a registry that', () => {
  test('is frozen is given up at the deadline, and used again afterwards', async () => {
    const registry = connect(real.url, { requestTimeoutMs: 300 });
    const { digest } = await push(real, 'frozen');
    real.freeze();
    try {
      for (const attempt of [registry.digest(repository, 'frozen'), registry.remove(repository, 'frozen')].map((one) =>
        refusal(one, 'Timeout'),
      )) {
        const { message, status } = await attempt;
        assert.match(message, /^127\.0\.0\.1:\d+ \(registry main\) did not answer within 300 ms\.$/);
        assert.equal(status, undefined);
      }
    } finally {
      real.thaw();
    }
    // Nobody knows whether the deletion arrived: either answer is one.
    const found = await waitFor('an answer', async () => ({ digest: await registry.digest(repository, 'frozen') }));
    assert.ok([digest, undefined].includes(found.digest));
  });

  test('is down is unavailable, and answers as before when it is up again', async () => {
    const registry = connect(real.url);
    const { digest } = await push(real, 'killed');
    assert.equal(await registry.digest(repository, 'killed'), digest);
    await real.kill();
    const { message } = await refusal(registry.digest(repository, 'killed'), 'Unavailable');
    assert.match(message, /^The connection to 127\.0\.0\.1:\d+ \(registry main\) failed: .*ECONNREFUSED/);
    await refusal(registry.remove(repository, 'killed'), 'Unavailable');
    await real.restart();
    assert.equal(await registry.digest(repository, 'killed'), digest);
  });

  test('is cut off in the middle of an answer leaves the effect unknown', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(real.url).port) });
    const registry = connect(`http://${proxy.address}`);
    await push(real, 'cut');
    proxy.freeze();
    const removal = refusal(registry.remove(repository, 'cut'), 'Unavailable');
    await proxy.cut();
    assert.equal((await removal).status, undefined);
    await proxy.heal();
    assert.equal(await registry.remove(repository, 'cut'), true);
    await proxy.stop();
  });
});

describe('the registries of a process', () => {
  test('are kept as long as nothing about them changes', async () => {
    const registries = createRegistries({ allowInsecureTls: false });
    const first = registries.of(endpointAt(real.url));
    assert.equal(registries.of(endpointAt(real.url)), first);
    assert.notEqual(registries.of(endpointAt(real.url, { name: 'second' })), first);
    const rotated = registries.of(endpointAt(real.url, { credentials: { kind: 'token', token: 'new' } }));
    assert.notEqual(rotated, first);
    await rotated.ping();
    assert.throws(() => registries.of(endpointAt(real.url, { allowPlainHttp: false })), { reason: 'Untrusted' });
    await registries.close();
  });

  test('let what is under way end when they begin anew', async () => {
    const registries = createRegistries({ allowInsecureTls: false });
    await push(real, 'rotated');
    const old = registries.of(endpointAt(real.url));
    await old.ping();
    const reading = old.digest(repository, 'rotated');
    const renewed = registries.of(endpointAt(real.url, { requestTimeoutMs: 20_000 }));
    assert.equal(await reading, await renewed.digest(repository, 'rotated'));
    await registries.close();
  });
});
