import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { createConfig, parseConfig } from '../../../activities/config.ts';
import { OperationError } from '../../../activities/failures.ts';
import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import { ClusterError, type Cluster } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { createRegistries } from '../../../activities/registry/registries.ts';
import { createLookup } from '../../../activities/lookup/lookup.ts';
import type { LookupDeps } from '../../../activities/lookup/lookup.ts';
import type { Check, LookupAnswer, LookupRequest } from '../../../workflows/contracts/lookup.ts';
import { selfSigned } from '../../sim/self-signed.ts';
import { startKubernetes } from '../../stack/kubernetes.ts';
import { freePort } from '../../stack/processes.ts';
import { connect, operation } from '../kubernetes/builders.ts';
import { waitFor } from '../../support/wait-for.ts';
import { webhookUnderTest, type WebhookUnderTest } from '../bridge/webhook-under-test.ts';

type Ask = <W extends LookupRequest['what']>(
  request: Extract<LookupRequest, { what: W }>,
) => Promise<Extract<LookupAnswer, { what: W }>>;

/** Look-ups of a worker with this cluster. `more`: further sections of `vmflow.yaml`. */
function lookups(cluster: Cluster | undefined, kubeconfig: string, more = ''): Ask {
  const text = cluster === undefined ? '{}' : `cluster: { kubeconfig: "${kubeconfig}" }\n${more}`;
  const config = createConfig(parseConfig(text, 'vmflow.yaml'), 'vmflow.yaml');
  const vsphere = {} as LookupDeps['vsphere'];
  const registries = createRegistries({ allowInsecureTls: false });
  const batch = {} as LookupDeps['batch'];
  const deps = { config, vsphere, batch, registries, ...(cluster === undefined ? {} : { cluster }) };
  const activities = createLookup(deps, { buildId: 'test', sdk: '0' });
  return (async (request) => await activities.lookup(request)) as Ask;
}

/** With a registry there are sets. Nobody asks this one. */
const aRegistry = 'registries: { snapshots: { url: "https://registry.example" } }\n';

/** The checks of the endpoint `cluster` by name. */
async function checksOf(ask: Ask): Promise<Readonly<Record<string, Check>>> {
  const { checks } = await ask({ what: 'endpoint', name: 'cluster' });
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

describe('look-ups of a cluster', () => {
  let it: WebhookUnderTest;
  let ask: Ask;
  const open: Cluster[] = [];

  before(async () => {
    it = await webhookUnderTest();
    ask = lookups(it.vmflow, it.kubernetes.kubeconfig('vmflow'));
  });
  after(async () => {
    await Promise.all(open.map((cluster) => cluster.close()));
    await it.stop();
  });
  beforeEach(async () => await it.reset());

  function as(user: 'operator' | 'viewer' | 'admin'): Cluster {
    const cluster = connect(it.kubernetes, user);
    open.push(cluster);
    return cluster;
  }

  async function vm(namespace: string, name: string, labels: Record<string, string> = {}): Promise<void> {
    await as('admin').create(resources.vm, namespace, { metadata: { name, labels }, spec: { runPolicy: 'Manual' } });
  }

  test('VMs come in pages, by namespace, name or label, as the cluster has them at that moment', async () => {
    const [one, two] = [await it.kubernetes.createNamespace('one'), await it.kubernetes.createNamespace('two')];
    const admin = as('admin');
    const body = (name: string): object => ({
      metadata: { name, labels: { app: 'web' } },
      spec: { runPolicy: 'Manual' },
    });
    await Promise.all(Array.from({ length: 700 }, (_, i) => admin.create(resources.vm, one, body(`web-${String(i)}`))));
    await vm(two, 'web-7');
    const first = await ask({ what: 'vms', namespace: one });
    assert.equal(first.truncated, true);
    const second = await ask({ what: 'vms', namespace: one, after: first.next ?? '' });
    assert.deepEqual([first.items.length + second.items.length, second.truncated], [700, false]);
    const twins = await ask({ what: 'vms', name: 'web-7' });
    assert.deepEqual(twins.items.map(({ namespace }) => namespace).sort(), [one, two].sort());
    assert.deepEqual((await ask({ what: 'vms', namespace: two, selector: 'app=web' })).items, []);
    assert.deepEqual(
      (await ask({ what: 'vms', namespace: two })).items.map(({ name, phase, runPolicy }) => [name, phase, runPolicy]),
      [['web-7', 'Pending', 'Manual']],
    );
  });

  test('a selector that is none is a mistake of the one who asks', async () => {
    await assert.rejects(
      ask({ what: 'vms', selector: '((' }),
      (err) =>
        err instanceof OperationError && err.type === 'InvalidRequest' && err.details.code === 'SELECTOR_INVALID',
    );
  });

  test('a VM comes with its active operations and the five newest; operations are found by name or uid', async () => {
    const [one, two] = [await it.kubernetes.createNamespace('one'), await it.kubernetes.createNamespace('two')];
    await vm(one, 'db-0');
    const person = as('operator');
    const uids: string[] = [];
    for (let i = 0; i < 7; i++) {
      const { metadata } = await person.create(resources.vmop, one, operation({ type: 'Stop' }, `stop-${String(i)}`));
      uids.push(metadata.uid);
      if (i === 0) continue;
      const condition = {
        ...{ type: 'Completed', status: 'True', reason: 'OperationCompleted', message: 'done' },
        lastTransitionTime: '2026-03-01T10:00:00Z',
      };
      const value = { phase: 'Completed', conditions: [condition] };
      await it.vmflow.patch(resources.vmop, one, metadata.name, [{ op: 'add', path: '/status', value }], {
        status: true,
      });
    }
    await person.create(resources.vmop, two, operation({ type: 'Start' }, 'stop-1'));
    const found = await ask({ what: 'vm', namespace: one, name: 'db-0' });
    assert.equal(found.vm?.name, 'db-0');
    assert.equal(found.operations.length, 6);
    assert.deepEqual(
      found.operations.filter(({ endedAt }) => endedAt === undefined).map(({ name }) => name),
      ['stop-0'],
    );
    assert.equal((await ask({ what: 'vm', namespace: one, name: 'other' })).vm, undefined);
    assert.equal((await ask({ what: 'vmops', namespace: one, vmName: 'db-0' })).items.length, 7);
    assert.deepEqual((await ask({ what: 'vmops', namespace: one, vmName: 'other' })).items, []);
    assert.equal((await ask({ what: 'vmop', nameOrUid: 'stop-1' })).found.length, 2);
    assert.deepEqual(
      (await ask({ what: 'vmop', nameOrUid: uids[1] ?? '' })).found.map(({ namespace, name }) => [namespace, name]),
      [[one, 'stop-1']],
    );
  });

  test('without a cluster in the configuration every question says what to add', async () => {
    const none = lookups(undefined, '');
    for (const question of [
      { what: 'vms' },
      { what: 'vm', namespace: 'a', name: 'b' },
      { what: 'vmop', nameOrUid: 'x' },
    ])
      await assert.rejects(none(question as never), /names no Kubernetes cluster/);
    assert.deepEqual((await none({ what: 'endpoints' })).endpoints, []);
    await assert.rejects(none({ what: 'endpoint', name: 'cluster' }), /no endpoint "cluster" .*known: none/);
  });

  test('the cluster is listed with its address and user, and a healthy one passes every check', async () => {
    const { endpoints } = await ask({ what: 'endpoints' });
    assert.deepEqual(endpoints, [
      { name: 'cluster', kind: 'cluster', url: it.kubernetes.url, user: 'vmflow', tls: 'ca' },
    ]);
    const checks = await checksOf(ask);
    assert.deepEqual(Object.keys(checks), [
      'log in',
      'resource definitions',
      'permissions',
      'admission webhook',
      'intake',
    ]);
    for (const check of Object.values(checks)) assert.equal(check.ok, true, check.detail);
    assert.match(checks['admission webhook']?.detail ?? '', /none is configured/);
    assert.equal(checks['resource definitions']?.detail, 'all 5');
  });

  test('with a registry the kinds of sets and the rights for them are looked at too', async () => {
    const checks = await checksOf(lookups(it.vmflow, it.kubernetes.kubeconfig('vmflow'), aRegistry));
    for (const check of Object.values(checks)) assert.equal(check.ok, true, check.detail);
    assert.equal(checks['resource definitions']?.detail, 'all 7');
    const { permissions } = await checksOf(lookups(as('operator'), it.kubernetes.kubeconfig('operator'), aRegistry));
    assert.deepEqual([permissions?.ok, permissions?.failure], [false, 'forbidden']);
    for (const missing of [
      /patch cocoonsets\/status/,
      /update cocoonsets\/finalizers/,
      /patch cocoonhibernations\/status/,
      /create pods/,
      /delete pods/,
      /patch nodes/,
    ])
      assert.match(permissions?.detail ?? '', missing);
    assert.doesNotMatch(permissions?.detail ?? '', /create cocoonhibernations(,|$)/);
  });

  test('the rights of the webhook are not asked for: the bridge may have an account of its own', async () => {
    const wanting = 'webhook: { url: "https://127.0.0.1:1/admit" }';
    const { permissions } = await checksOf(lookups(as('operator'), it.kubernetes.kubeconfig('operator'), wanting));
    assert.match(permissions?.detail ?? '', /patch virtualmachineoperations\/status/);
    assert.doesNotMatch(
      permissions?.detail ?? '',
      /validatingwebhookconfigurations|update virtualmachineoperations(,|$)/,
    );
  });

  test('who may too little is told which verbs are missing', async () => {
    const checks = await checksOf(lookups(as('operator'), it.kubernetes.kubeconfig('operator')));
    const { ok, detail = '', failure, remedy = '' } = checks['permissions'] ?? {};
    assert.deepEqual([ok, failure], [false, 'forbidden']);
    assert.match(detail, /patch virtualmachineoperations\/status/);
    assert.match(detail, /delete internalvirtualizationvirtualmachineinstances/);
    assert.doesNotMatch(detail, /create virtualmachineoperations(,|$)/);
    assert.doesNotMatch(detail, /cocoon|pods|nodes/);
    assert.match(remedy, /workers\/deploy\/rbac/);
  });

  test('where only the kinds of sets are missing theirs are to be applied, and not over those of the cluster', async () => {
    const vmsOnly: Cluster = {
      ...it.vmflow,
      get: (kind, ...which) =>
        kind.plural.startsWith('cocoon')
          ? Promise.reject(new ClusterError('NotFound', `no ${kind.plural}`))
          : it.vmflow.get(kind, ...which),
    };
    const checks = await checksOf(lookups(vmsOnly, it.kubernetes.kubeconfig('vmflow'), aRegistry));
    assert.equal(
      checks['resource definitions']?.remedy,
      'kubectl apply -f workers/deploy/crds/cocoonsets.yaml -f workers/deploy/crds/cocoonhibernations.yaml',
    );
  });

  test('which registry keeps the snapshots and whether the priority class is there shows before a VM is on its way', async () => {
    const kubeconfig = it.kubernetes.kubeconfig('vmflow');
    const checked = async (registries: readonly string[], migrations: object) => {
      const entries = registries.map((name) => [name, { url: 'https://registry.example' }]);
      const more = stringify({ registries: Object.fromEntries(entries) as object, migrations });
      return await checksOf(lookups(it.vmflow, kubeconfig, more));
    };
    const good = await checked(['main', 'spare'], { registry: 'spare', priorityClass: 'vmflow-vm' });
    assert.deepEqual(
      [good['snapshots']?.ok, good['snapshots']?.detail, good['priority class']?.ok],
      [true, 'kept in registry spare', true],
    );
    const bad = await checked(['main', 'spare'], { priorityClass: 'nowhere' });
    assert.deepEqual([bad['snapshots']?.ok, bad['priority class']?.ok], [false, false]);
    assert.match(bad['snapshots']?.detail ?? '', /several registries are configured \(main, spare\)/);
    assert.match(bad['snapshots']?.remedy ?? '', /migrations\.registry/);
    assert.match(bad['priority class']?.detail ?? '', /no PriorityClass nowhere/);
    assert.match(bad['priority class']?.remedy ?? '', /workers\/deploy\/scheduling/);
    const unknown = await checked(['main'], { registry: 'other' });
    assert.match(unknown['snapshots']?.detail ?? '', /names "other"/);
    assert.equal(unknown['priority class'], undefined);
    assert.deepEqual(await as('admin').list(resources.pod, 'default'), []);
  });

  /** The files of a certificate for `vmflow.yaml`. */
  async function filesOf(pem: { certPem: string; keyPem: string; caPem: string }): Promise<Record<string, string>> {
    const paths = {
      certFile: join(it.dir, 'tls.crt'),
      keyFile: join(it.dir, 'tls.key'),
      caFile: join(it.dir, 'ca.crt'),
    };
    await writeFile(paths.certFile, pem.certPem);
    await writeFile(paths.keyFile, pem.keyPem);
    await writeFile(paths.caFile, pem.caPem);
    return paths;
  }

  test('the webhook: in effect with a bridge behind it, silent without one, not trusted with one of a wrong authority, missing where one is wanted', async () => {
    const port = await freePort();
    const wanting = lookups(
      it.vmflow,
      it.kubernetes.kubeconfig('vmflow'),
      `webhook: { url: "https://127.0.0.1:${String(port)}/admit" }`,
    );
    const missing = (await checksOf(wanting))['admission webhook'];
    assert.deepEqual([missing?.ok, missing?.failure], [false, 'wrong']);
    assert.match(missing?.detail ?? '', /not in effect/);
    const bridge = await it.start();
    await it.inEffect(await it.kubernetes.createNamespace());
    const there = (await checksOf(wanting))['admission webhook'];
    assert.deepEqual([there?.ok, there?.detail], [true, 'installed, and the bridge answers']);
    await bridge.stop();
    const mistaken = await it.start(await filesOf({ ...selfSigned(), caPem: selfSigned().certPem }));
    const untrusted = await waitFor('the API server to ask a bridge that it can not trust', async () => {
      const check = (await checksOf(wanting))['admission webhook'];
      return check !== undefined && /x509/.test(check.detail) ? check : undefined;
    });
    assert.match(untrusted.detail, /the API server doesn't trust the bridge: .*x509/);
    assert.match(untrusted.remedy ?? '', /publish its certificate: its log says .*caFile has to be the authority/);
    await mistaken.stop();
    const silent = (await checksOf(wanting))['admission webhook'];
    assert.deepEqual([silent?.ok, silent?.failure], [false, 'unreachable']);
    assert.match(silent?.detail ?? '', /the bridge doesn't answer/);
    assert.match(silent?.remedy ?? '', /^start the bridge/);
    assert.deepEqual(await as('admin').list(resources.vmop, 'default'), []);
  });

  test('operations that nobody takes up are told', async (t) => {
    const namespace = await it.kubernetes.createNamespace('idle');
    await as('operator').create(resources.vmop, namespace, operation({ type: 'Stop' }, 'overlooked'));
    assert.equal((await checksOf(ask))['intake']?.ok, true);
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 90_000 });
    const intake = (await checksOf(ask))['intake'];
    assert.deepEqual([intake?.ok, intake?.failure], [false, 'wrong']);
    assert.match(intake?.detail ?? '', /operations have been waiting for more than a minute/);
  });

  test('an API server that is away, isn’t trusted or doesn’t know us is told apart', async () => {
    const broken = async (change: (config: string) => string): Promise<Check | undefined> => {
      const path = join(it.dir, 'broken.kubeconfig');
      await writeFile(path, change(await readFile(it.kubernetes.kubeconfig('vmflow'), 'utf8')));
      const cluster = createCluster({ kubeconfig: path, requestTimeoutMs: 20_000 });
      open.push(cluster);
      const checks = Object.values(await checksOf(lookups(cluster, path)));
      assert.equal(checks.length, 1);
      return checks[0];
    };
    const port = await freePort();
    const away = await broken((config) => config.replace(it.kubernetes.url, `https://127.0.0.1:${String(port)}`));
    assert.deepEqual([away?.name, away?.ok, away?.failure], ['log in', false, 'unreachable']);
    assert.match(away?.detail ?? '', /ECONNREFUSED/);
    const other = Buffer.from(it.proxy.certPem).toString('base64');
    const untrusted = await broken((config) =>
      config.replace(/certificate-authority-data: \S+/, `certificate-authority-data: ${other}`),
    );
    assert.deepEqual([untrusted?.name, untrusted?.ok, untrusted?.failure], ['certificate', false, 'unreachable']);
    assert.match(untrusted?.remedy ?? '', /certificate-authority-data/);
    const stranger = await broken((config) => config.replace(/token: \S+/, 'token: planted-t0ken'));
    assert.deepEqual([stranger?.name, stranger?.ok, stranger?.failure], ['log in', false, 'forbidden']);
    assert.doesNotMatch(JSON.stringify([away, untrusted, stranger]), /planted/);
  });
});

test('a cluster without our definitions is told which are missing', async () => {
  const kubernetes = await startKubernetes({ bare: true });
  const cluster = connect(kubernetes, 'admin');
  try {
    const checks = await checksOf(lookups(cluster, kubernetes.kubeconfig('admin')));
    const { ok, detail = '', remedy } = checks['resource definitions'] ?? {};
    assert.deepEqual([ok, remedy, checks['intake']], [false, 'kubectl apply -f workers/deploy/crds', undefined]);
    assert.match(detail, /virtualmachineoperations\.virtualization\.deckhouse\.io/);
    assert.doesNotMatch(detail, /cocoon/);
    const withSets = await checksOf(lookups(cluster, kubernetes.kubeconfig('admin'), aRegistry));
    assert.match(
      withSets['resource definitions']?.detail ?? '',
      /cocoonsets\.cocoonset\.cocoonstack\.io, cocoonhibernations\.cocoonset\.cocoonstack\.io/,
    );
  } finally {
    await cluster.close();
    await kubernetes.stop();
  }
});
