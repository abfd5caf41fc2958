import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { X509Certificate } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { createConfig, parseConfig } from '../../../activities/config.ts';
import { createLookup, type LookupDeps } from '../../../activities/lookup/lookup.ts';
import { createRegistries } from '../../../activities/registry/registries.ts';
import type { Check, EndpointInfo } from '../../../workflows/contracts/lookup.ts';
import { startRegistry, type RegistryOptions, type RegistryUnderTest } from '../../stack/registry.ts';

const registries = createRegistries({ allowInsecureTls: false });
const running: RegistryUnderTest[] = [];
after(async () => {
  await registries.close();
  await Promise.all(running.map((registry) => registry.stop()));
});

async function started(options: RegistryOptions = {}): Promise<RegistryUnderTest> {
  const registry = await startRegistry(options);
  running.push(registry);
  return registry;
}

/** Look-ups of a worker with this `vmflow.yaml`. */
function worker(sections: object, environment: NodeJS.ProcessEnv = {}) {
  const config = createConfig(parseConfig(JSON.stringify(sections), 'vmflow.yaml'), 'vmflow.yaml', environment);
  const unused = { vsphere: {} as LookupDeps['vsphere'], batch: {} as LookupDeps['batch'] };
  const deps = { config, ...unused, registries };
  const activities = createLookup(deps, { buildId: 'test', sdk: '0' });
  return {
    async endpoints(): Promise<readonly EndpointInfo[]> {
      const answer = await activities.lookup({ what: 'endpoints' });
      return answer.what === 'endpoints' ? answer.endpoints : assert.fail(answer.what);
    },
    /** The checks of one endpoint by name. */
    async checks(name: string): Promise<Readonly<Record<string, Check>>> {
      const answer = await activities.lookup({ what: 'endpoint', name });
      const checks = answer.what === 'endpoint' ? answer.checks : assert.fail(answer.what);
      return Object.fromEntries(checks.map((one) => [one.name, one]));
    },
  };
}

/** How the log-in at this registry went. `entry`: more of its entry in `vmflow.yaml`. */
async function logIn(url: string, entry: object = {}, environment: NodeJS.ProcessEnv = {}): Promise<Check> {
  const more = { allowPlainHttp: true, requestTimeoutMs: 5_000, ...entry };
  const checks = await worker({ registries: { snapshots: { url, ...more } } }, environment).checks('snapshots');
  return checks['log in'] ?? assert.fail('no such check');
}

const account = { user: 'vmflow', passwordEnv: 'PASSWORD' };

describe('registries among the endpoints', () => {
  test('each is listed with its address and as whom it is reached, without secrets', async () => {
    const url = 'https://registry.example';
    const one = worker(
      {
        registries: {
          main: { url, ...account },
          tokens: { url, tokenEnv: 'TOKEN', tls: { mode: 'thumbprint', sha256: 'AB:CD' } },
          open: { url: 'http://registry.example', allowPlainHttp: true },
        },
      },
      { PASSWORD: 'planted', TOKEN: 'planted' },
    );
    const endpoints = await one.endpoints();
    assert.deepEqual(endpoints, [
      { name: 'main', kind: 'registry', url, user: 'vmflow', tls: 'ca' },
      { name: 'tokens', kind: 'registry', url, user: 'token', tls: 'thumbprint AB:CD' },
      { name: 'open', kind: 'registry', url: 'http://registry.example', user: 'anonymous', tls: 'plain http' },
    ]);
    await assert.rejects(one.checks('other'), /no endpoint "other" .*known: main, tokens, open/);
  });

  test('one that is called like a vCenter or the cluster is told apart', async () => {
    const url = 'https://registry.example';
    const vcenter = { url: 'https://vc.example/sdk', user: 'svc', passwordEnv: 'PASSWORD' };
    const endpoints = await worker({
      vcenters: { main: vcenter },
      cluster: {},
      registries: { main: { url }, cluster: { url } },
    }).endpoints();
    assert.deepEqual(
      endpoints.map(({ name, kind }) => [name, kind]),
      [
        ['main', 'vcenter'],
        ['cluster', 'cluster'],
        ['registry/main', 'registry'],
        ['registry/cluster', 'registry'],
      ],
    );
    const { url: open } = await started();
    const entry = { url: open, allowPlainHttp: true };
    const both = worker({ vcenters: { main: vcenter }, registries: { main: entry } });
    assert.equal((await both.checks('registry/main'))['log in']?.ok, true);
  });
});

describe('the check of a registry', () => {
  test('one that is there and knows us passes', async () => {
    const { url } = await started();
    assert.deepEqual(await logIn(url), { name: 'log in', ok: true, detail: `${url} as anonymous` });
    const guarded = await started({ auth: 'htpasswd' });
    const known = await logIn(guarded.url, account, { PASSWORD: guarded.password });
    assert.deepEqual([known.ok, known.detail], [true, `${guarded.url} as vmflow`]);
  });

  test('wrong or missing credentials are told with where to renew them, and never shown', async () => {
    const { url } = await started({ auth: 'htpasswd' });
    for (const check of [await logIn(url, account, { PASSWORD: 'planted' }), await logIn(url)]) {
      assert.deepEqual([check.ok, check.failure], [false, 'forbidden']);
      assert.match(check.remedy ?? '', /credentials that registries\.snapshots in vmflow\.yaml refers to/);
      assert.doesNotMatch(JSON.stringify(check), /planted/);
    }
    const missing = await logIn(url, account);
    assert.deepEqual([missing.ok, missing.failure], [false, 'wrong']);
    assert.match(missing.detail, /password of registry snapshots is not in the environment variable PASSWORD/);
    assert.match(missing.remedy ?? '', /correct registries\.snapshots in vmflow\.yaml/);
  });

  test('a certificate that isn’t trusted is shown with its fingerprint, and trusted by that', async () => {
    const { url, certificate } = await started({ tls: true });
    const sha256 = new X509Certificate(certificate?.certPem ?? '').fingerprint256;
    const untrusted = await worker({ registries: { snapshots: { url } } }).checks('snapshots');
    assert.equal(untrusted['certificate']?.detail, `SHA-256 ${sha256}`);
    assert.deepEqual([untrusted['log in']?.ok, untrusted['log in']?.failure], [false, 'unreachable']);
    assert.match(
      untrusted['log in']?.remedy ?? '',
      /compare the fingerprint above .* set tls of registries\.snapshots/,
    );
    assert.equal((await logIn(url, { tls: { mode: 'thumbprint', sha256 } })).ok, true);
  });

  test('one that deletes nothing is told before snapshots pile up', async () => {
    const entry = (url: string): object => ({ registries: { snapshots: { url, allowPlainHttp: true } } });
    const fixed = await worker(entry((await started({ deletion: false })).url)).checks('snapshots');
    assert.deepEqual([fixed['log in']?.ok, fixed['deletion']?.ok, fixed['deletion']?.failure], [true, false, 'wrong']);
    assert.match(fixed['deletion']?.remedy ?? '', /turn deletion on .*storage\.delete\.enabled/);
    const open = await worker(entry((await started()).url)).checks('snapshots');
    assert.deepEqual(open['deletion'], { name: 'deletion', ok: true, detail: 'snapshots can be dropped' });
  });

  test('plain http is refused unless it is allowed', async () => {
    const { url } = await started();
    const check = await logIn(url, { allowPlainHttp: false });
    assert.deepEqual([check.ok, check.failure], [false, 'unreachable']);
    assert.match(check.remedy ?? '', /^use https .*allowPlainHttp/);
  });

  test('one that is away, and what is no registry, are told apart', async () => {
    const registry = await started();
    await registry.kill();
    const away = await logIn(registry.url);
    assert.deepEqual([away.ok, away.failure], [false, 'unreachable']);
    assert.match(away.remedy ?? '', /network and firewall between the workers and the registry/);
    const server = createServer((_, response) => response.end('<html>hello</html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const odd = await logIn(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
    server.close();
    assert.deepEqual([odd.ok, odd.failure], [false, 'wrong']);
    assert.match(odd.remedy ?? '', /check that url of registries\.snapshots/);
  });
});
