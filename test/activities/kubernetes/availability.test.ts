import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, describe, test } from 'node:test';
import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import { ClusterError, type Cluster } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { selfSigned } from '../../sim/self-signed.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { waitFor } from '../../support/wait-for.ts';
import { connect, operation } from './builders.ts';

let kubernetes: KubernetesUnderTest;
/** Gives up after a second. */
let cluster: Cluster;
let patient: Cluster;
let namespace = '';

before(async () => {
  kubernetes = await startKubernetes();
  cluster = connect(kubernetes, 'vmflow', 1_000);
  patient = connect(kubernetes, 'vmflow');
  namespace = await kubernetes.createNamespace();
});
after(async () => {
  kubernetes.thaw();
  await Promise.all([cluster.close(), patient.close()]);
  await kubernetes.stop();
});

async function failure(attempt: Promise<unknown>): Promise<ClusterError> {
  const error: unknown = await attempt.then(
    () => assert.fail('succeeded'),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof ClusterError, String(error));
  return error;
}

describe('an API server', () => {
  test('that is frozen fails a call at its deadline, and answers again when it is thawed', async () => {
    await cluster.list(resources.vmop, namespace);
    kubernetes.freeze();
    const error = await failure(cluster.list(resources.vmop, namespace));
    assert.equal(error.reason, 'Unavailable');
    assert.match(error.message, /list VirtualMachineOperation objects of test-\w+: not within the deadline/);
    kubernetes.thaw();
    await waitFor('an answer', async () => await cluster.list(resources.vmop, namespace));
  });

  test('that was killed is unavailable, never forbidding, until it is ready again', async () => {
    await kubernetes.kill();
    assert.match((await failure(cluster.list(resources.vmop))).message, /ECONNREFUSED|other side closed|socket/);
    const reasons = new Set<string>();
    const answered = waitFor('an answer', async () => {
      const answer = await cluster.list(resources.vmop).catch((error: unknown) => error);
      if (answer instanceof ClusterError) reasons.add(answer.reason);
      return !(answer instanceof Error);
    });
    await kubernetes.restart();
    await answered;
    for (const reason of reasons) assert.ok(['Unavailable', 'TooManyRequests'].includes(reason), reason);
  });
});

describe('a webhook', () => {
  const certificate = selfSigned();
  let server: Server | undefined;

  afterEach(async () => {
    server?.close();
    server?.closeAllConnections();
    await kubernetes.removeWebhook();
  });

  /** Answers every review with this status, or never. */
  async function install(answer: { readonly code: number; readonly message: string } | 'never'): Promise<void> {
    server = createServer({ key: certificate.keyPem, cert: certificate.certPem }, (request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        if (answer === 'never') return;
        const { uid } = (JSON.parse(text) as { request: { uid: string } }).request;
        const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ ...review, response: { uid, allowed: false, status: answer } }));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await kubernetes.installWebhook({
      url: `https://127.0.0.1:${port}/`,
      caPem: certificate.certPem,
      timeoutSeconds: answer === 'never' ? 1 : 10,
    });
  }

  const ask = (): Promise<unknown> => patient.create(resources.vmop, namespace, operation({ type: 'Start' }));
  const words =
    'operation "a" (Stop) is still active for VirtualMachine "b"; Start cannot supersede it and it should finish first';

  test('that refuses is quoted without what the API server puts in front', async () => {
    await install({ code: 403, message: words });
    const error = await failure(ask());
    assert.deepEqual([error.reason, error.status, error.message], ['Denied', 403, words]);
  });

  test('that does not answer makes the API server unavailable for creations', async () => {
    await install('never');
    const error = await failure(ask());
    assert.deepEqual([error.reason, error.status], ['Unavailable', 500]);
    assert.match(error.message, /failed calling webhook/);
  });

  test('that is not there, too; an operation that breaks a rule is refused before it is asked', async () => {
    await kubernetes.installWebhook({ url: 'https://127.0.0.1:1/', caPem: certificate.certPem });
    assert.deepEqual((await failure(ask())).reason, 'Unavailable');
    const forced = patient.create(resources.vmop, namespace, operation({ type: 'Start', force: true }));
    assert.deepEqual((await failure(forced)).reason, 'Invalid');
  });
});

describe('a kubeconfig', () => {
  test('that is not there is said at once, with its path', () => {
    assert.throws(() => createCluster({ kubeconfig: '/nowhere/config' }), /kubeconfig \/nowhere\/config: .*ENOENT/);
  });
});
