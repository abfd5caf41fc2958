import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { after, afterEach, before, describe, test } from 'node:test';
import { ClusterError } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { ownIdentities, type Identity } from '../../../workers/bridge/identity.ts';
import { operation, setPhase } from '../kubernetes/builders.ts';
import { startTcpProxy } from '../../sim/tcp-proxy.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { configurationPath, refusal, webhookUnderTest, type WebhookUnderTest } from './webhook-under-test.ts';

let it: WebhookUnderTest;
let namespace = '';
let targets = 0;

before(async () => {
  it = await webhookUnderTest();
  namespace = await it.kubernetes.createNamespace();
});
afterEach(async () => {
  await Promise.all(fires.splice(0).map(({ stop }) => stop()));
  await it.reset();
});
after(async () => await it.stop());

interface Configured {
  readonly webhooks: readonly {
    readonly name: string;
    readonly timeoutSeconds: number;
    readonly clientConfig: { readonly caBundle?: string; readonly url?: string };
  }[];
}

async function configured(): Promise<Configured['webhooks']> {
  return ((await it.kubernetes.admin.send('GET', configurationPath)).body as Partial<Configured>).webhooks ?? [];
}

async function trusted(): Promise<readonly string[]> {
  const bundle = (await configured()).find(({ name }) => name.startsWith('vmops.'))?.clientConfig.caBundle ?? '';
  return (
    Buffer.from(bundle, 'base64')
      .toString()
      .match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----\n/g) ?? []
  );
}

/** The certificate that new connections are shown. */
async function shown(port: number): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return new X509Certificate(raw).toString();
}

const create = (spec: Readonly<Record<string, unknown>>, name?: string) =>
  it.person.create(resources.vmop, namespace, operation({ virtualMachineName: 'nobody', ...spec }, name));

interface Fire {
  readonly count: () => number;
  readonly stop: () => Promise<readonly unknown[]>;
}
const fires: Fire[] = [];

/**
 * Creations one after the other from now on; the refusals there were. Connections last, so that a certificate that isn't trusted
 * yet would go unnoticed for a while: what new connections are shown is compared with what is trusted all the time.
 */
function underFire(port?: number): Fire {
  const failures: unknown[] = [];
  let [isOver, count] = [false, 0];
  const shoot = async (): Promise<void> => {
    while (!isOver) {
      count += 1;
      const virtualMachineName = `target-${targets++}`;
      await create({ type: 'Stop', virtualMachineName }).catch((error: unknown) => failures.push(error));
    }
  };
  const compare = async (): Promise<void> => {
    while (!isOver && port !== undefined) {
      const certificate = await shown(port);
      if (!(await trusted()).includes(certificate)) failures.push('a certificate is shown that is not trusted');
    }
  };
  const done = Promise.all([shoot(), shoot(), compare()]);
  const fire: Fire = {
    count: () => count,
    async stop() {
      isOver = true;
      await done;
      return failures;
    },
  };
  fires.push(fire);
  return fire;
}

describe('the configuration in the API server', () => {
  test('is created where there is none, with the rights that vmflow has', async () => {
    const webhook = await it.start();
    await waitFor('it', () => webhook.isPublished());
    const [only, ...others] = await configured();
    assert.equal(others.length, 0);
    assert.equal(only?.clientConfig.url, `https://127.0.0.1:${webhook.port}/admit`);
    assert.deepEqual(await trusted(), [await shown(webhook.port)]);
    await it.inEffect(namespace);
  });

  test('keeps what an administrator has set and gets what is missing', async () => {
    const rules = [{ apiGroups: ['x.example'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['xs'] }];
    const common = {
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      clientConfig: { url: 'https://127.0.0.1:1/x' },
    };
    await it.kubernetes.admin.apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'vmflow' },
      webhooks: [
        { name: 'other.x.example', rules, ...common },
        { name: 'vmops.virtualization.deckhouse.io', rules, timeoutSeconds: 7, ...common },
      ],
    } as never);
    const webhook = await it.start();
    await waitFor('it', () => webhook.isPublished());
    const [other, ours] = await configured();
    assert.equal(other?.clientConfig.url, 'https://127.0.0.1:1/x');
    assert.equal(ours?.timeoutSeconds, 7);
    assert.equal(ours.clientConfig.url, `https://127.0.0.1:${webhook.port}/admit`);
  });

  test('is put in order again when somebody takes it away', async () => {
    const webhook = await it.start();
    await waitFor('it', () => webhook.isPublished());
    await it.kubernetes.admin.send('DELETE', configurationPath);
    await it.inEffect(namespace);
    assert.equal((await trusted()).length, 1);
  });

  test('is waited for while the API server does not answer', async () => {
    const refused = it.proxy.refuse({ method: 'get validatingwebhookconfigurations' }, 503, 'ServiceUnavailable');
    const webhook = await it.start();
    await stays('unpublished', () => !webhook.isPublished(), 200);
    refused.remove();
    await it.inEffect(namespace);
    await waitFor('readiness', () => webhook.isPublished());
  });

  test('is the only one that vmflow may touch, and never to delete', async () => {
    const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
    const allowed = async (name: string): Promise<readonly string[]> => {
      const answers = await Promise.all(verbs.map(async (verb) => [verb, await mayVmflow(verb, name)] as const));
      return answers.filter(([, may]) => may).map(([verb]) => verb);
    };
    assert.deepEqual(await allowed('vmflow'), ['get', 'create', 'patch']);
    assert.deepEqual(await allowed('other'), []);
    assert.deepEqual(await allowed(''), []);
  });
});

async function mayVmflow(verb: string, name: string): Promise<boolean> {
  const { body } = await it.kubernetes.admin.send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: 'system:serviceaccount:vmflow:vmflow',
      resourceAttributes: {
        verb,
        name,
        group: 'admissionregistration.k8s.io',
        resource: 'validatingwebhookconfigurations',
      },
    },
  });
  return (body as { status: { allowed: boolean } }).status.allowed;
}

describe('a creation', () => {
  test('is refused with 403, in the words of the rule, and leaves nothing', async () => {
    await it.start();
    await it.inEffect(namespace);
    await create({ type: 'Stop', virtualMachineName: 'words' }, 'first');
    const error: unknown = await create({ type: 'Start', virtualMachineName: 'words' }, 'second').catch(
      (e: unknown) => e,
    );
    assert.ok(error instanceof ClusterError);
    assert.deepEqual([error.status, error.reason], [403, 'Denied']);
    assert.equal(
      error.message,
      'operation "first" (Stop) is still active for VirtualMachine "words"; Start cannot supersede it and it should finish first',
    );
    assert.equal(await it.vmflow.get(resources.vmop, namespace, 'second'), undefined);
    assert.deepEqual(it.rejections, ['Stop Start']);
  });

  test('a dry run is answered the same and not counted', async () => {
    await it.start();
    await it.inEffect(namespace);
    await create({ type: 'Stop', virtualMachineName: 'dry' });
    const body = operation({ type: 'Start', virtualMachineName: 'dry' });
    assert.equal(await refusal(it.person.create(resources.vmop, namespace, body, { dryRun: true })), 'Denied');
    assert.deepEqual(it.rejections, []);
  });

  test('of a name that exists is answered with "already exists", not refused', async () => {
    await it.start();
    await it.inEffect(namespace);
    await create({ type: 'Stop', virtualMachineName: 'twice' }, 'twice');
    assert.equal(await refusal(create({ type: 'Stop', virtualMachineName: 'twice' }, 'twice')), 'AlreadyExists');
  });

  test('is judged by what the store holds: an end that was just written frees the VM', async () => {
    await it.start();
    await it.inEffect(namespace);
    for (let round = 0; round < 200; round += 1) {
      const { metadata } = await create({ type: round % 2 === 0 ? 'Stop' : 'Start', virtualMachineName: 'free' });
      await setPhase(it.vmflow, namespace, metadata.name, round % 3 === 0 ? 'Failed' : 'Completed');
    }
    assert.deepEqual(it.rejections, []);
  });

  test('a VM whose run policy rules a take-over out refuses it; one that can not be read does not', async () => {
    await it.start();
    await it.inEffect(namespace);
    const people = await it.kubernetes.admin.send(
      'POST',
      `/apis/virtualization.deckhouse.io/v1alpha2/namespaces/${namespace}/virtualmachines`,
      {
        apiVersion: 'virtualization.deckhouse.io/v1alpha2',
        kind: 'VirtualMachine',
        metadata: { name: 'always' },
        spec: { runPolicy: 'AlwaysOn' },
      },
    );
    assert.equal(people.status, 201);
    await create({ type: 'Migrate', virtualMachineName: 'always' }, 'move');
    const stop = (): Promise<unknown> => create({ type: 'Stop', virtualMachineName: 'always' });
    await assert.rejects(stop(), { reason: 'Denied', message: /run policy is AlwaysOn/ });
    assert.deepEqual(it.rejections, ['Migrate Stop']);
    it.proxy.refuse({ method: 'get virtualmachines' }, 403, 'Forbidden');
    assert.equal(await refusal(stop()), undefined);
  });

  for (const [what, spec] of [
    ['by a rule of the schema', { type: 'Start', force: true }],
    ['by the schema', { type: 'Sleep' }],
  ] as const)
    test(`is refused ${what} with 422, before anybody is asked`, async () => {
      await it.start();
      await it.inEffect(namespace);
      const virtualMachineName = `schema-${targets++}`;
      await create({ type: 'Stop', virtualMachineName });
      await assert.rejects(create({ virtualMachineName, ...spec }), { status: 422, reason: 'Invalid' });
      assert.deepEqual(it.rejections, []);
    });
});

describe('what was not asked is not created', () => {
  test('when the webhook is gone', async () => {
    const webhook = await it.start();
    await it.inEffect(namespace);
    await webhook.stop();
    await assert.rejects(create({ type: 'Stop' }), {
      status: 500,
      reason: 'Unavailable',
      message: /failed calling webhook/,
    });
  });

  test('when what is active can not be read in time: the error says so, before the API server loses its patience', async () => {
    await it.start();
    await it.inEffect(namespace);
    const never = it.proxy.hold({ method: 'list virtualmachineoperations', times: Infinity });
    // These are the words of the webhook: the API server's own would be that it didn't answer.
    await assert.rejects(create({ type: 'Stop' }), {
      status: 500,
      reason: 'Unavailable',
      message: /can't tell whether this operation may be created: .*not be read within 1500 ms/,
    });
    never.release();
  });

  test('when what is active can not be read at all', async () => {
    await it.start();
    await it.inEffect(namespace);
    it.proxy.refuse({ method: 'list virtualmachineoperations' }, 503, 'ServiceUnavailable');
    await assert.rejects(create({ type: 'Stop' }), { status: 500, reason: 'Unavailable', message: /can't tell/ });
  });

  test('and is asked again when the API server has been restarted', async () => {
    await it.start();
    await it.inEffect(namespace);
    await it.kubernetes.restart();
    await it.inEffect(namespace);
    assert.equal(await refusal(create({ type: 'Stop' })), undefined);
  });
});

describe('no creation fails', () => {
  /** A slow machine is no failure of the webhook's. */
  const patient = { timeoutSeconds: 30 };

  test('while the certificate is replaced, again and again', async () => {
    // Replaced after two thirds of 8.6 s.
    const webhook = await it.start({ certificateDays: 0.0001, ...patient }, { checkMs: 500 });
    await it.inEffect(namespace);
    const seen = new Set([await shown(webhook.port)]);
    const fire = underFire(webhook.port);
    await waitFor('four certificates', async () => seen.add(await shown(webhook.port)).size >= 4);
    assert.deepEqual(await fire.stop(), []);
    assert.ok(fire.count() > 50);
    assert.ok((await trusted()).length <= 3, 'those that have ended are trusted no more');
  });

  test('while given files change: with the authority known before it is used', async () => {
    const files = {
      certFile: join(it.dir, 'tls.crt'),
      keyFile: join(it.dir, 'tls.key'),
      caFile: join(it.dir, 'ca.crt'),
    };
    const source = ownIdentities(['127.0.0.1'], 3_600_000);
    const write = async ({ certPem, keyPem, trust = '' }: Identity): Promise<void> => {
      await Promise.all([
        writeFile(files.certFile, certPem),
        writeFile(files.keyFile, keyPem),
        writeFile(files.caFile, trust),
      ]);
    };
    const [one, two] = [await source.first(), await source.first()];
    await write(one);
    const webhook = await it.start({ ...files, ...patient }, { checkMs: 500 });
    await it.inEffect(namespace);
    assert.equal(await shown(webhook.port), one.certPem);
    const fire = underFire(webhook.port);
    await writeFile(files.certFile, two.certPem); // its key is still the old one: nothing to use
    await stays('the old one', async () => (await shown(webhook.port)) === one.certPem, 500);
    await write(two);
    await waitFor('the new one', async () => (await shown(webhook.port)) === two.certPem);
    await waitFor('some more creations', () => fire.count() > 50);
    assert.deepEqual(await fire.stop(), []);
    assert.deepEqual(await trusted(), [one.certPem, two.certPem]);
  });

  test('when there are two bridges and one takes over from the other: both are trusted', async () => {
    const target = { port: 1 }; // read for each connection
    const balancer = await startTcpProxy(target);
    try {
      const url = `https://${balancer.address}/admit`;
      const first = await it.start({ url, ...patient }, { drainMs: 1_000 });
      target.port = first.port;
      await it.inEffect(namespace);
      const fire = underFire();
      const second = await it.start({ url, ...patient });
      await waitFor('trust in both', async () => (await trusted()).length === 2 && second.isPublished());
      assert.deepEqual(new Set(await trusted()), new Set([await shown(first.port), await shown(second.port)]));
      target.port = second.port;
      await first.stop();
      const before = fire.count();
      await waitFor('creations that only the second allows', () => fire.count() > before + 20);
      assert.deepEqual(await fire.stop(), []);
    } finally {
      await balancer.stop();
    }
  });
});
