import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import { stringify } from 'yaml';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { ProcessKind } from '../../../workers/settings.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { freePort, startProcess, type SupervisedProcess } from '../../stack/processes.ts';
import { connectTemporal, type TemporalUnderTest } from '../../support/shared-temporal.ts';
import { waitFor } from '../../support/wait-for.ts';
import { connect, operation } from '../kubernetes/builders.ts';
import { applyStrictly } from './applied.ts';
import { imageTree, type ImageTree } from './image-tree.ts';
import { deployDir, kustomized, ofKind } from './kustomized.ts';

/** The processes of the overlay, from nothing but the files of the image, each with the token of its own account. */
describe('what the image has', () => {
  let tree: ImageTree;
  let kubernetes: KubernetesUnderTest;
  let temporal: TemporalUnderTest;
  let dir = '';
  const taskQueue = `image-${randomUUID()}`;
  const running = new Map<ProcessKind, SupervisedProcess>();

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'vmflow-pods-'));
    tree = await imageTree();
    kubernetes = await startKubernetes({ bare: true });
    temporal = await connectTemporal();
    await applyStrictly(kubernetes.admin, await kustomized('overlays/single'));
  });
  after(async () => {
    await Promise.all([...running.values()].map((process_) => process_.stop(60_000)));
    await temporal.stop();
    await kubernetes.stop();
    await tree.remove();
    await rm(dir, { recursive: true, force: true });
  });

  /** A kubeconfig with a token that the API server has made for the account. */
  async function kubeconfigOf(account: string): Promise<string> {
    const path = `/api/v1/namespaces/vmflow/serviceaccounts/${account}/token`;
    const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const { body } = await kubernetes.admin.send('POST', path, asked);
    const { token } = (body as { readonly status: { readonly token: string } }).status;
    const authority = Buffer.from(kubernetes.caPem).toString('base64');
    const config = {
      clusters: [{ name: 'it', cluster: { server: kubernetes.url, 'certificate-authority-data': authority } }],
      users: [{ name: 'it', user: { token } }],
      contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
      'current-context': 'it',
    };
    const file = join(dir, `${account}.kubeconfig`);
    await writeFile(file, stringify(config), { mode: 0o600 });
    return file;
  }

  /** Node refuses it every write outside of a folder of its own, as the Pod's file system does. */
  async function start(kind: ProcessKind, configuration: string): Promise<SupervisedProcess> {
    const configPath = join(dir, `${kind}.yaml`);
    await writeFile(configPath, configuration);
    const process_ = await startProcess({
      name: `The ${kind} of the image`,
      command: process.execPath,
      args: [
        ...['--permission', '--allow-fs-read=*', `--allow-fs-write=${dir}`, '--allow-addons', '--allow-worker'],
        `dist/workers/${kind}.js`,
      ],
      cwd: tree.dir,
      env: {
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace,
        VMFLOW_CONFIG: configPath,
        VMFLOW_HEALTH_ADDRESS: '127.0.0.1:0',
        VMFLOW_TASK_QUEUE: taskQueue,
        NODE_ENV: 'production',
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: '1',
      },
      ready: (line) => /"msg":"(worker|bridge) started"/.test(line),
      readyWithinMs: 60_000,
    });
    running.set(kind, process_);
    return process_;
  }

  async function isReady(process_: SupervisedProcess): Promise<boolean> {
    const [, port = ''] = /"healthPort":(\d+)/.exec(process_.output()) ?? [];
    const { statusCode, body } = await request(`http://127.0.0.1:${port}/readyz`);
    await body.dump();
    return statusCode === 200;
  }

  test('are the built programs and the packages for production, no tools and no sources', () => {
    for (const path of ['package.json', 'dist/workers/bridge.js', 'dist/workers/workflow-bundle.js'])
      assert.ok(existsSync(join(tree.dir, path)), path);
    for (const path of ['node_modules/typescript', 'node_modules/prettier', 'workers', 'test'])
      assert.ok(!existsSync(join(tree.dir, path)), path);
    assert.deepEqual(tree.elsewhere, ['/etc/ssl/certs/ca-certificates.crt']);
  });

  test('is run by the user that the Pods name, on the Node that the code is made for', async () => {
    const text = await readFile(join(deployDir, 'Dockerfile'), 'utf8');
    const users = [...text.matchAll(/^USER (\d+):(\d+)$/gm)].map(([, user, group]) => [Number(user), Number(group)]);
    assert.equal(users.length, 1);
    for (const { spec } of ofKind(await kustomized('base'), 'Deployment')) {
      const { runAsUser, runAsGroup, runAsNonRoot } = spec.template.spec.securityContext;
      assert.deepEqual([[runAsUser, runAsGroup], runAsNonRoot], [users[0], true]);
    }
    const images = [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    assert.deepEqual(images, [`node:${process.versions.node.split('.')[0]}-slim`, images[0]]);
  });

  test('is a transfer worker that runs with the configuration of the overlay and without a token', async () => {
    const map = ofKind(await kustomized('overlays/single'), 'ConfigMap').find(({ data }) => 'vmflow.yaml' in data);
    const worker = await start('transfer', map!.data['vmflow.yaml']!);
    await waitFor('the transfer worker to be ready', () => isReady(worker));
  });

  test('is a bridge and a control worker whose accounts may carry out an operation', async () => {
    const registries = { snapshots: { url: 'https://registry.example' } }; // with it sets are watched too
    const webhook = `127.0.0.1:${await freePort()}`;
    const bridge = await start(
      'bridge',
      stringify({
        cluster: { kubeconfig: await kubeconfigOf('vmflow-bridge') },
        webhook: { listen: webhook, url: `https://${webhook}/admit` },
        registries,
      }),
    );
    const control = await start(
      'control',
      stringify({ cluster: { kubeconfig: await kubeconfigOf('vmflow-control') }, registries }),
    );
    await waitFor('both to be ready', async () => (await isReady(bridge)) && (await isReady(control)));

    const person = connect(kubernetes, 'admin');
    try {
      const namespace = await kubernetes.createNamespace();
      const refused = operation({ type: 'Migrate', migrate: { nodeSelector: { 'no label': 'x' } } }, 'refused');
      await assert.rejects(person.create(resources.vmop, namespace, refused), { reason: 'Denied' });
      await person.create(resources.vmop, namespace, operation({ type: 'Stop' }, 'taken'));
      const phase = await waitFor('the operation to end', async () => {
        const status = (await person.get(resources.vmop, namespace, 'taken'))?.status;
        return ['Completed', 'Failed'].find((one) => one === status?.['phase']);
      });
      assert.equal(phase, 'Failed'); // there is no such VM
    } finally {
      await person.close();
    }
    for (const one of [bridge, control]) assert.doesNotMatch(one.output(), /forbidden|ERR_ACCESS_DENIED/i);
  });
});
