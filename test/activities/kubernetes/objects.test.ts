import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Cluster } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { connect, operation, setPhase } from './builders.ts';

let kubernetes: KubernetesUnderTest;
let cluster: Cluster;
let vmLayer: Cluster;
let namespace = '';

before(async () => {
  kubernetes = await startKubernetes({ audit: true });
  cluster = connect(kubernetes, 'vmflow');
  vmLayer = connect(kubernetes, 'vmLayer');
  namespace = await kubernetes.createNamespace();
});
after(async () => {
  await cluster.close();
  await vmLayer.close();
  await kubernetes.stop();
});

describe('objects', () => {
  test('are created, read, listed, changed and removed', async () => {
    const made = await cluster.create(resources.vmop, namespace, operation({ type: 'Stop' }, 'all-verbs'));
    assert.equal(made.kind, 'VirtualMachineOperation');
    assert.deepEqual(await cluster.get(resources.vmop, namespace, 'all-verbs'), made);
    const patched = await cluster.patch(resources.vmop, namespace, 'all-verbs', [
      { op: 'add', path: '/metadata/labels', value: { tier: 'db' } },
      { op: 'add', path: '/metadata/annotations', value: { 'vmflow.dev/seq': '1' } },
    ]);
    assert.notEqual(patched.metadata.resourceVersion, made.metadata.resourceVersion);
    assert.deepEqual(await cluster.list(resources.vmop, namespace, 'tier=db'), [patched]);
    assert.deepEqual(await cluster.list(resources.vmop, namespace, 'tier=web'), []);
    assert.ok((await cluster.list(resources.vmop)).some(({ metadata }) => metadata.uid === made.metadata.uid));
    assert.equal(await cluster.remove(resources.vmop, namespace, 'all-verbs'), true);
    assert.equal(await cluster.get(resources.vmop, namespace, 'all-verbs'), undefined);
    assert.equal(await cluster.remove(resources.vmop, namespace, 'all-verbs'), false);
  });

  test('get a name from the server where they bring only its beginning', async () => {
    const made = await cluster.create(resources.vmop, namespace, operation({ type: 'Stop' }));
    assert.match(made.metadata.name, /^op-.{5}$/);
  });

  test('are not created by a dry run', async () => {
    const made = await cluster.create(resources.vmop, namespace, operation({ type: 'Stop' }, 'dry'), { dryRun: true });
    assert.equal(made.metadata.name, 'dry');
    assert.equal(await cluster.get(resources.vmop, namespace, 'dry'), undefined);
  });

  test('of a name that is taken are refused as such', async () => {
    await cluster.create(resources.vmop, namespace, operation({ type: 'Stop' }, 'taken'));
    await assert.rejects(cluster.create(resources.vmop, namespace, operation({ type: 'Stop' }, 'taken')), {
      name: 'ClusterError',
      reason: 'AlreadyExists',
      status: 409,
    });
  });

  test('in a namespace that is not there are refused', async () => {
    assert.equal(await cluster.get(resources.vmop, 'nowhere', 'x'), undefined);
    await assert.rejects(cluster.create(resources.vmop, 'nowhere', operation({ type: 'Stop' })), {
      reason: 'NotFound',
    });
  });

  test('of built-in kinds work the same: an event is created once', async () => {
    const event = {
      metadata: { name: 'op-1.started' },
      involvedObject: { kind: 'VirtualMachineOperation', namespace, name: 'op-1' },
      reason: 'VirtualMachineOperationStarted',
      message: 'started',
      type: 'Normal',
      firstTimestamp: '2026-01-01T00:00:00Z',
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingComponent: 'vmflow',
      reportingInstance: 'vmflow',
      action: 'Start',
    };
    const made = await cluster.create(resources.event, namespace, event);
    assert.equal(made.kind, 'Event');
    assert.equal(made.metadata.name, 'op-1.started');
    await assert.rejects(cluster.create(resources.event, namespace, event), { reason: 'AlreadyExists' });
    const [listed] = await vmLayer.list(resources.event, namespace);
    assert.equal(listed?.kind, 'Event');
    assert.equal(listed.metadata.uid, made.metadata.uid);
  });
});

describe('compare and set', () => {
  test('a status is written only on the version that was read', async () => {
    const made = await cluster.create(resources.vmop, namespace, operation({ type: 'Stop' }, 'cas'));
    const first = await setPhase(cluster, namespace, 'cas', 'Pending', made.metadata.resourceVersion);
    await assert.rejects(setPhase(cluster, namespace, 'cas', 'Failed', made.metadata.resourceVersion), {
      reason: 'Conflict',
    });
    const read = await cluster.get(resources.vmop, namespace, 'cas');
    assert.deepEqual(read?.status, { phase: 'Pending' });
    assert.equal(read.metadata.resourceVersion, first.metadata.resourceVersion);
  });

  test('of ten writers at once on one version one wins', async () => {
    const made = await cluster.create(resources.vmop, namespace, operation({ type: 'Stop' }, 'race'));
    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, () => setPhase(cluster, namespace, 'race', 'Pending', made.metadata.resourceVersion)),
    );
    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const answer of answers)
      if (answer.status === 'rejected') assert.equal((answer.reason as { reason: string }).reason, 'Conflict');
  });

  test('a patch with a failed test changes nothing, and so does one on a path that is not there', async () => {
    await vmLayer.create(resources.machine, namespace, {
      metadata: { name: 'db-0', annotations: { 'vmflow.dev/fence': '7' } },
    });
    const path = '/metadata/annotations/vmflow.dev~1fence';
    const write = { op: 'add', path: '/metadata/annotations/x', value: 'y' } as const;
    for (const guard of [
      { op: 'test', path, value: '6' },
      { op: 'test', path: '/metadata/annotations/nothing', value: '6' },
      { op: 'remove', path: '/metadata/annotations/nothing' },
    ] as const)
      await assert.rejects(cluster.patch(resources.machine, namespace, 'db-0', [guard, write]), { reason: 'Conflict' });
    const machine = await cluster.patch(resources.machine, namespace, 'db-0', [
      { op: 'test', path, value: '7' },
      write,
    ]);
    assert.deepEqual(machine.metadata.annotations, { 'vmflow.dev/fence': '7', x: 'y' });
  });

  test('a patch of an object that is not there is no conflict', async () => {
    await assert.rejects(
      cluster.patch(resources.machine, namespace, 'gone', [{ op: 'add', path: '/metadata/labels', value: {} }]),
      { reason: 'NotFound' },
    );
  });

  test('only the object that was meant is removed', async () => {
    const { metadata } = await vmLayer.create(resources.instance, namespace, { metadata: { name: 'db-0' }, spec: {} });
    for (const preconditions of [{ uid: 'another' }, { uid: metadata.uid, resourceVersion: '1' }])
      await assert.rejects(cluster.remove(resources.instance, namespace, 'db-0', preconditions), {
        reason: 'Conflict',
      });
    assert.ok(await cluster.get(resources.instance, namespace, 'db-0'));
    assert.equal(await cluster.remove(resources.instance, namespace, 'db-0', { uid: metadata.uid }, 0), true);
    assert.equal(await cluster.get(resources.instance, namespace, 'db-0'), undefined);
  });

  test('an object with a finalizer stays until that is taken off', async () => {
    const body = { metadata: { name: 'held', finalizers: ['vmflow.dev/test'] }, spec: {} };
    await vmLayer.create(resources.instance, namespace, body);
    await cluster.remove(resources.instance, namespace, 'held', undefined, 0);
    const held = await cluster.get(resources.instance, namespace, 'held');
    assert.ok(held?.metadata.deletionTimestamp);
    await vmLayer.patch(resources.instance, namespace, 'held', [{ op: 'remove', path: '/metadata/finalizers' }]);
    assert.equal(await cluster.get(resources.instance, namespace, 'held'), undefined);
  });
});

describe('the audit log', () => {
  test('tells who wrote what, to which object', async () => {
    const { metadata } = await cluster.create(resources.vmop, namespace, operation({ type: 'Stop' }, 'audited'));
    await setPhase(cluster, namespace, 'audited', 'Pending');
    await cluster.remove(resources.vmop, namespace, 'audited', { uid: metadata.uid });
    const events = (await kubernetes.auditEvents()).filter(
      ({ name, namespace: ns }) => ns === namespace && name === 'audited',
    );
    assert.deepEqual(
      events.map(({ verb, subresource = '', code, uid, user, userAgent }) => [
        verb,
        subresource,
        code,
        uid,
        user,
        userAgent,
      ]),
      [
        ['create', '', 201, metadata.uid, 'system:serviceaccount:vmflow:vmflow', 'test-vmflow'],
        ['patch', 'status', 200, metadata.uid, 'system:serviceaccount:vmflow:vmflow', 'test-vmflow'],
        ['delete', '', 200, metadata.uid, 'system:serviceaccount:vmflow:vmflow', 'test-vmflow'],
      ],
    );
  });
});
