import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import type { Cluster, Resource } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { startKubernetes, type KubernetesUnderTest, type KubernetesUser } from '../../stack/kubernetes.ts';
import { connect, operation, setPhase } from './builders.ts';

let kubernetes: KubernetesUnderTest;
let namespace = '';
const clusters: Cluster[] = [];

before(async () => {
  kubernetes = await startKubernetes();
  namespace = await kubernetes.createNamespace();
});
after(async () => {
  await Promise.all(clusters.map((cluster) => cluster.close()));
  await kubernetes.stop();
});

function as(user: KubernetesUser): Cluster {
  const cluster = connect(kubernetes, user);
  clusters.push(cluster);
  return cluster;
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const names: Readonly<Record<KubernetesUser, string>> = {
  admin: 'admin',
  vmflow: 'system:serviceaccount:vmflow:vmflow',
  operator: 'operator',
  viewer: 'viewer',
  vmLayer: 'vm-layer',
  nodeAgent: 'node-agent',
  scheduler: 'system:kube-scheduler',
};

/** What the API server's own authorizer says: the verbs that the user has, in the order of `verbs`. */
async function allowed(user: KubernetesUser, group: string, resource: string, subresource = ''): Promise<string[]> {
  const answers = await Promise.all(
    verbs.map(async (verb) => {
      const { body } = await kubernetes.admin.send('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: names[user],
          groups: ['system:authenticated', 'system:serviceaccounts'],
          resourceAttributes: { namespace, verb, group, resource, subresource },
        },
      });
      return (body as { status: { allowed: boolean } }).status.allowed;
    }),
  );
  return verbs.filter((_, index) => answers[index]);
}

const [ours, internal, cocoon] = [resources.vmop.group, resources.machine.group, resources.set.group];
const read = ['get', 'list', 'watch'];
const write = ['create', 'update', 'patch', 'delete'];

describe('rights', () => {
  const { vmop, vm, machine, instance, migration, set, hibernation } = resources;
  const table: readonly (readonly [KubernetesUser, string, string, string, readonly string[]])[] = [
    ['viewer', ours, vmop.plural, '', read],
    ['viewer', ours, vmop.plural, 'status', []],
    ['operator', ours, vmop.plural, '', [...read, ...write, 'deletecollection']],
    ['operator', ours, vmop.plural, 'status', []],
    ['operator', ours, vmop.plural, 'finalizers', []],
    ['operator', internal, machine.plural, '', []],
    ['vmflow', ours, vmop.plural, '', [...read, ...write]],
    ['vmflow', ours, vmop.plural, 'status', ['update', 'patch']],
    ['vmflow', ours, vmop.plural, 'finalizers', ['update', 'patch']],
    ['vmflow', ours, vm.plural, '', read],
    ['vmflow', ours, vm.plural, 'status', ['update']],
    ['vmflow', internal, machine.plural, '', [...read, ...write]],
    ['vmflow', internal, machine.plural, 'status', ['get', 'update', 'patch']],
    ['vmflow', internal, instance.plural, '', [...read, ...write]],
    ['vmflow', internal, instance.plural, 'status', []],
    ['vmflow', internal, migration.plural, '', [...read, ...write]],
    ['vmflow', internal, migration.plural, 'status', []],
    ['vmflow', '', 'events', '', ['create', 'patch']],
    ['vmflow', '', 'secrets', '', []],
    ['viewer', cocoon, set.plural, '', read],
    ['viewer', cocoon, hibernation.plural, '', read],
    ['viewer', cocoon, set.plural, 'status', []],
    ['viewer', '', 'pods', '', []],
    ['operator', cocoon, set.plural, '', [...read, 'update', 'patch']],
    ['operator', cocoon, set.plural, 'status', []],
    ['operator', cocoon, set.plural, 'finalizers', []],
    ['operator', cocoon, hibernation.plural, '', [...read, ...write, 'deletecollection']],
    ['operator', cocoon, hibernation.plural, 'status', []],
    ['operator', '', 'pods', '', []],
    ['operator', '', 'nodes', '', []],
    ['vmflow', cocoon, set.plural, '', [...read, 'update', 'patch']],
    ['vmflow', cocoon, set.plural, 'status', ['update', 'patch']],
    ['vmflow', cocoon, set.plural, 'finalizers', ['update', 'patch']],
    ['vmflow', cocoon, hibernation.plural, '', [...read, 'create', 'update', 'patch']],
    ['vmflow', cocoon, hibernation.plural, 'status', ['update', 'patch']],
    ['vmflow', cocoon, hibernation.plural, 'finalizers', ['update', 'patch']],
    ['vmflow', '', 'pods', '', [...read, 'create', 'patch', 'delete']],
    ['vmflow', '', 'pods', 'status', []],
    ['vmflow', '', 'pods', 'exec', []],
    ['vmflow', '', 'nodes', '', [...read, 'patch']],
    ['vmflow', '', 'nodes', 'status', []],
    ['vmflow', 'rbac.authorization.k8s.io', 'clusterroles', '', []],
  ];
  for (const [user, group, resource, subresource, expected] of table) {
    const what = subresource === '' ? resource : `${resource}/${subresource}`;
    test(`${user} on ${what}: ${expected.join(', ') || 'none'}`, async () => {
      assert.deepEqual(await allowed(user, group, resource, subresource), expected);
    });
  }
});

describe('the API server', () => {
  test('lets a person ask for an operation and never say what became of it', async () => {
    const person = as('operator');
    const vmflow = as('vmflow');
    const made = await person.create(resources.vmop, namespace, {
      ...operation({ type: 'Stop' }, 'forged'),
      status: { phase: 'Completed' },
    });
    assert.equal(made.status, undefined);
    await assert.rejects(setPhase(person, namespace, 'forged', 'Completed'), { reason: 'Forbidden', status: 403 });
    const patched = await person.patch(resources.vmop, namespace, 'forged', [
      { op: 'add', path: '/status', value: { phase: 'Completed' } },
    ]);
    assert.equal(patched.status, undefined);
    assert.equal((await vmflow.get(resources.vmop, namespace, 'forged'))?.status, undefined);
    await setPhase(vmflow, namespace, 'forged', 'Pending');
    assert.equal(await person.remove(resources.vmop, namespace, 'forged'), true);
  });

  test('shows operations to a viewer and takes none from one', async () => {
    const viewer = as('viewer');
    await viewer.list(resources.vmop, namespace);
    await assert.rejects(viewer.create(resources.vmop, namespace, operation({ type: 'Stop' })), {
      reason: 'Forbidden',
      message: /refused to create VirtualMachineOperation .* \(403\).*viewer/,
    });
  });

  test('lets the service account do all that a signal takes', async () => {
    const [vmflow, layer] = [as('vmflow'), as('vmLayer')];
    await layer.create(resources.machine, namespace, { metadata: { name: 'db-0', annotations: { a: 'b' } }, spec: {} });
    await layer.create(resources.instance, namespace, { metadata: { name: 'db-0' }, spec: {} });
    await vmflow.patch(resources.machine, namespace, 'db-0', [
      { op: 'add', path: '/metadata/annotations/vmflow.dev~1fence', value: '1' },
    ]);
    const requests = [{ action: 'Start' }];
    await vmflow.patch(
      resources.machine,
      namespace,
      'db-0',
      [{ op: 'add', path: '/status', value: { stateChangeRequests: requests } }],
      { status: true },
    );
    await vmflow.patch(resources.instance, namespace, 'db-0', [
      { op: 'add', path: '/spec/terminationGracePeriodSeconds', value: 0 },
    ]);
    const op = await vmflow.create(resources.vmop, namespace, operation({ type: 'Migrate' }, 'owner'));
    await vmflow.patch(resources.vmop, namespace, 'owner', [
      { op: 'add', path: '/metadata/finalizers', value: ['virtualization.deckhouse.io/vmop-cleanup'] },
    ]);
    await vmflow.create(resources.migration, namespace, {
      metadata: {
        name: 'vmop-owner',
        ownerReferences: [
          { apiVersion: op.apiVersion, kind: op.kind, name: 'owner', uid: op.metadata.uid, blockOwnerDeletion: true },
        ],
      },
      spec: { vmiName: 'db-0' },
    });
    await vmflow.remove(resources.migration, namespace, 'vmop-owner');
    await vmflow.remove(resources.instance, namespace, 'db-0', undefined, 0);
  });

  const forbidden: readonly (readonly [string, (vmflow: Cluster) => Promise<unknown>])[] = [
    [
      'change a VM',
      (c) => c.patch(resources.vm, namespace, 'x', [{ op: 'add', path: '/spec/runPolicy', value: 'AlwaysOff' }]),
    ],
    ['remove a VM', (c) => c.remove(resources.vm, namespace, 'x')],
    [
      'claim that an instance runs',
      (c) => c.patch(resources.instance, namespace, 'x', [{ op: 'add', path: '/status', value: {} }], { status: true }),
    ],
    ['read secrets', (c) => c.list(secret, namespace)],
  ];
  const secret: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' };
  for (const [what, act] of forbidden)
    test(`does not let the service account ${what}`, async () => {
      await assert.rejects(act(as('vmflow')), { reason: 'Forbidden' });
    });

  test('does not know a stranger, and the message has no token in it', async () => {
    const stranger = '00000000-dead-beef-0000-000000000000';
    const own = kubernetes.kubeconfig('viewer');
    const path = own.replace('viewer.', 'stranger.');
    await writeFile(path, (await readFile(own, 'utf8')).replace(kubernetes.tokens.viewer, stranger));
    const cluster = createCluster({ kubeconfig: path });
    clusters.push(cluster);
    const error: unknown = await cluster.list(resources.vmop, namespace).catch((caught: unknown) => caught);
    assert.equal((error as { reason: string }).reason, 'Unauthorized');
    assert.ok(!JSON.stringify(error, Object.getOwnPropertyNames(error)).includes(stranger));
  });
});
