import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createConfig, parseConfig, secretFileWarnings, type Config } from '../../../activities/config.ts';
import { endpointOf, endpointsOf } from '../../../activities/lookup/endpoints.ts';

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmflow-targets-'));
});
after(() => rm(dir, { recursive: true, force: true }));

const target = (more: object = {}): object => ({
  url: 'https://incus.example:8443',
  clientCertEnv: 'CERT',
  clientKeyEnv: 'KEY',
  ...more,
});
const configOf = (sections: object, environment: NodeJS.ProcessEnv = {}): Config =>
  createConfig(parseConfig(JSON.stringify(sections), 'vmflow.yaml'), 'vmflow.yaml', environment);
const vcenter = { url: 'https://vc.example/sdk', user: 'svc', passwordEnv: 'P' };

describe('targets of batch migrations', () => {
  test('one has its defaults, and its certificate comes from where the file says', async () => {
    const config = configOf({ targets: { tgt: target() } }, { CERT: 'certificate', KEY: 'key' });
    assert.deepEqual(await config.target('tgt'), {
      name: 'tgt',
      url: 'https://incus.example:8443',
      tls: { mode: 'ca' },
      clientCert: 'certificate',
      clientKey: 'key',
      connectionTimeoutMs: 300_000,
      allowPlainHttp: false,
    });
    const { importLimit, createLimit, adapt, type } = config.file.targets.tgt ?? assert.fail();
    assert.deepEqual(
      { importLimit, createLimit, adapt, type },
      { importLimit: 0, createLimit: 0, adapt: 'none', type: 'incus' },
    );
  });

  test('a key that was renewed is used at the next look', async () => {
    const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
    await Promise.all([writeFile(cert, 'c'), writeFile(key, 'first\n', { mode: 0o600 })]);
    const files = { clientCertFile: cert, clientKeyFile: key };
    const config = configOf({ targets: { tgt: { url: 'https://incus.example', ...files } } });
    assert.equal((await config.target('tgt')).clientKey, 'first');
    await writeFile(key, 'second');
    assert.equal((await config.target('tgt')).clientKey, 'second');
  });

  test('one that is not there, or whose secret is missing, is refused in words', async () => {
    const config = configOf({ targets: { tgt: target() } }, { CERT: 'c' });
    await assert.rejects(config.target('other'), /no target "other".*known: tgt/);
    await assert.rejects(config.target('tgt'), /client key of target tgt .*KEY of this worker/);
    await assert.rejects(configOf({}).target('tgt'), /none is configured/);
  });

  test('a key file that others can read is warned about, a certificate file is not', async () => {
    const [cert, key] = [join(dir, 'open-cert.pem'), join(dir, 'open-key.pem')];
    await Promise.all([writeFile(cert, 'c'), writeFile(key, 'k')]);
    await Promise.all([chmod(cert, 0o644), chmod(key, 0o644)]);
    const files = { clientCertFile: cert, clientKeyFile: key };
    const { file } = configOf({ targets: { tgt: { url: 'https://incus.example', ...files } } });
    assert.deepEqual(await secretFileWarnings(file), [`${key} is readable by others: chmod 600 ${key}`]);
    await chmod(key, 0o600);
    assert.deepEqual(await secretFileWarnings(file), []);
  });

  const wrong: readonly (readonly [string, object, RegExp])[] = [
    ['no client certificate', { clientCertEnv: undefined }, /needs clientCertFile or clientCertEnv/],
    ['no client key', { clientKeyEnv: undefined }, /needs .* clientKeyFile or clientKeyEnv/],
    ['two certificates', { clientCertFile: '/c' }, /clientCertFile or clientCertEnv, not both/],
    ['two keys', { clientKeyFile: '/k' }, /clientKeyFile or clientKeyEnv, not both/],
    ['a key in the file', { clientKey: 'secret' }, /clientKey/],
    ['a path in its URL', { url: 'https://incus.example/1.0' }, /without a path/],
    ['user info in its URL', { url: 'https://a:b@incus.example' }, /user:password@/],
    ['another type', { type: 'kubevirt' }, /type/],
    ['a negative limit', { importLimit: -1 }, /importLimit/],
    ['an unknown way to adapt guests', { adapt: 'all' }, /adapt/],
  ];
  for (const [what, change, message] of wrong)
    test(`one with ${what} is refused`, () => {
      assert.throws(() => configOf({ targets: { tgt: target(change) } }), message);
    });

  test('one without TLS needs no certificate', async () => {
    const endpoint = await configOf({ targets: { tgt: { url: 'http://127.0.0.1:1', allowPlainHttp: true } } }).target(
      'tgt',
    );
    assert.deepEqual([endpoint.clientCert, endpoint.clientKey, endpoint.allowPlainHttp], ['', '', true]);
  });

  test('they are among the endpoints, told apart from others of the same name', async () => {
    const config = configOf({
      vcenters: { main: vcenter },
      registries: { both: { url: 'https://registry.example' } },
      targets: { main: target(), both: target(), tgt: target({ tls: { mode: 'thumbprint', sha256: 'AB' } }) },
    });
    const endpoints = await endpointsOf(config);
    assert.deepEqual(
      endpoints.map(({ name, kind }) => [name, kind]),
      [
        ['main', 'vcenter'],
        ['both', 'registry'],
        ['target/main', 'target'],
        ['target/both', 'target'],
        ['tgt', 'target'],
      ],
    );
    const found = await endpointOf(config, 'target/main');
    assert.deepEqual([found.key, found.info.kind, found.info.user], ['main', 'target', 'certificate']);
    assert.equal((await endpointOf(config, 'tgt')).info.tls, 'thumbprint AB');
  });
});

describe('sources and batches', () => {
  test('a vCenter is a source with its defaults, without a word about it', () => {
    const { file } = configOf({ vcenters: { main: vcenter, other: { ...vcenter, source: { importLimit: 5 } } } });
    const defaults = {
      importLimit: 0,
      hostImportLimit: 8,
      syncTimeoutMs: 10_000,
      syncLimit: 1,
      datacenters: [],
    };
    assert.deepEqual(file.vcenters.main?.source, defaults);
    assert.deepEqual(file.vcenters.other?.source, { ...defaults, importLimit: 5 });
  });

  test('batches have their defaults', () => {
    assert.deepEqual(configOf({}).file.batches, {
      tickMs: 30_000,
      shutdownGraceMs: 300_000,
      finalizePauseMs: 10_000,
      archiveAfterMs: 604_800_000,
      diskCopies: 4,
      syncIntervalMs: 600_000,
      disableAutoSync: false,
    });
  });

  const wrong: readonly (readonly [string, object, RegExp])[] = [
    ['a pause of one second between syncs', { batches: { syncIntervalMs: 1_000 } }, /longer than 1000/],
    ['no disk copy at all', { batches: { diskCopies: 0 } }, /diskCopies/],
    ['an unknown key', { batches: { tick: 1 } }, /tick/],
    ['an empty datacenter', { vcenters: { main: { ...vcenter, source: { datacenters: [''] } } } }, /datacenters/],
    ['no VM at a time', { vcenters: { main: { ...vcenter, source: { syncLimit: 0 } } } }, /syncLimit/],
  ];
  for (const [what, sections, message] of wrong)
    test(`${what} is refused`, () => {
      assert.throws(() => configOf(sections), message);
    });
});
