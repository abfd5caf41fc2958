import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Cluster, KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { createNode, createPriorityClass, deleteNode, setCordon, setReady } from '../../stack/kubernetes-nodes.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { connect } from './builders.ts';

let kubernetes: KubernetesUnderTest;
let vmflow: Cluster;
let nodeAgent: Cluster;
let namespace = '';

before(async () => {
  kubernetes = await startKubernetes({ scheduler: true });
  vmflow = connect(kubernetes, 'vmflow');
  nodeAgent = connect(kubernetes, 'nodeAgent');
  namespace = await kubernetes.createNamespace();
});
after(async () => {
  await Promise.all([vmflow.close(), nodeAgent.close()]);
  await kubernetes.stop();
});

interface PodOptions {
  readonly pool: string;
  readonly pinnedTo?: string;
  readonly cpu?: string;
  readonly priorityClassName?: string;
}

/** A Pod that stands for a VM, as much of it as the scheduler looks at. */
function vmPod(name: string, { pool, pinnedTo, cpu = '1', priorityClassName }: PodOptions): object {
  const pin = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [pinnedTo] }] },
      ],
    },
  };
  return {
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'agent', image: 'none', resources: { requests: { cpu }, limits: { cpu } } }],
      nodeSelector: { 'cocoonstack.io/pool': pool },
      tolerations: [
        { key: 'virtual-kubelet.io/provider', operator: 'Exists' },
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
      ],
      ...(pinnedTo === undefined ? {} : { affinity: { nodeAffinity: pin } }),
      ...(priorityClassName === undefined ? {} : { priorityClassName }),
    },
  };
}

const create = (name: string, options: PodOptions): Promise<KubeObject> =>
  vmflow.create(resources.pod, namespace, vmPod(name, options));

const read = (name: string): Promise<KubeObject | undefined> => vmflow.get(resources.pod, namespace, name);

async function nodeOf(name: string): Promise<unknown> {
  return (await read(name))?.spec?.['nodeName'];
}

const bound = (name: string, node: string): Promise<unknown> =>
  waitFor(`${name} on ${node}`, async () => (await nodeOf(name)) === node);

/** Waits for these words of the scheduler about a Pod that it can't place: its first ones may be older than a node. */
async function unschedulable(name: string, says: RegExp): Promise<void> {
  await waitFor(`${name} to be unschedulable`, async () => {
    const conditions = (await read(name))?.status?.['conditions'] as
      readonly { type: string; status: string; reason: string; message: string }[] | undefined;
    const said = conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
    assert.equal(said?.reason, 'Unschedulable');
    assert.match(said.message, says);
    return true;
  });
}

/** What the agent of a node does at the end. */
const forget = (name: string): Promise<boolean> => nodeAgent.remove(resources.pod, namespace, name, undefined, 0);

/** Two nodes with room for one VM of one CPU each, in a pool of their own. */
async function pair(pool: string): Promise<readonly [string, string]> {
  const names = [`${pool}-a`, `${pool}-b`] as const;
  for (const name of names) await createNode(kubernetes.admin, name, { pool, room: { cpu: '1' } });
  return names;
}

describe('the scheduler', () => {
  test('puts a pinned Pod on its node, and any other where there is room', async () => {
    const [a, b] = await pair('room');
    await create('pinned', { pool: 'room', pinnedTo: b });
    await bound('pinned', b);
    await create('free', { pool: 'room' });
    await bound('free', a);
    await create('late', { pool: 'room' });
    await unschedulable('late', /^0\/\d+ nodes are available: .*2 Insufficient cpu/);
    await forget('pinned');
    await bound('late', b);
  });

  test('leaves a Pod whose node is cordoned, full, tainted or missing, and says so', async () => {
    const [a, b] = await pair('refusals');
    await create('full', { pool: 'refusals', pinnedTo: a, cpu: '2' });
    await unschedulable('full', /Insufficient cpu/);
    await setCordon(kubernetes.admin, b, true);
    await create('cordoned', { pool: 'refusals', pinnedTo: b });
    await unschedulable('cordoned', /1 node\(s\) were unschedulable/);
    await create('missing', { pool: 'refusals', pinnedTo: 'nowhere' });
    await unschedulable('missing', /didn't match Pod's node affinity\/selector/);
    const taints = [{ key: 'a.b/c', effect: 'NoSchedule' }] as const;
    await createNode(kubernetes.admin, 'refusals-c', { pool: 'refusals', taints });
    await create('tainted', { pool: 'refusals', pinnedTo: 'refusals-c' });
    await unschedulable('tainted', /untolerated taint\(s\)/);
    await setCordon(kubernetes.admin, b, false);
    await bound('cordoned', b);
  });

  test('looks at the pool and keeps Pods without the toleration off VM nodes', async () => {
    await createNode(kubernetes.admin, 'own-a', { pool: 'own', snapshotClass: 'zen4', labels: { tier: 'x' } });
    const node = await vmflow.get(resources.node, '', 'own-a');
    assert.deepEqual(node?.metadata.labels, {
      'kubernetes.io/hostname': 'own-a',
      'cocoonstack.io/pool': 'own',
      'node-role.kubernetes.io/cocoon-vm': '',
      'cocoonstack.io/snapshot-cpu-class': 'zen4',
      tier: 'x',
    });
    await vmflow.create(resources.pod, namespace, {
      metadata: { name: 'stranger' },
      spec: { containers: [{ name: 'c', image: 'none' }], nodeSelector: { tier: 'x' } },
    });
    await unschedulable('stranger', /untolerated taint\(s\)/);
    await create('other-pool', { pool: 'nobodys' });
    await unschedulable('other-pool', /didn't match Pod's node affinity\/selector/);
  });

  for (const [readiness, taint] of [
    ['False', 'node.kubernetes.io/not-ready'],
    ['Unknown', 'node.kubernetes.io/unreachable'],
  ] as const)
    test(`stays off a node whose readiness is ${readiness} until it is ready again`, async () => {
      const name = `ready-${readiness.toLowerCase()}`;
      await createNode(kubernetes.admin, name, { pool: name });
      await setReady(kubernetes.admin, name, readiness);
      const node = await vmflow.get(resources.node, '', name);
      const taints = node?.spec?.['taints'] as readonly { key: string }[];
      const conditions = node?.status?.['conditions'] as readonly { type: string; status: string }[];
      assert.equal(taints.filter(({ key }) => key === taint).length, 2);
      assert.deepEqual(
        conditions.map((condition) => [condition.type, condition.status]),
        [['Ready', readiness]],
      );
      await create(name, { pool: name });
      await unschedulable(name, /untolerated taint\(s\)/);
      await setReady(kubernetes.admin, name, 'True');
      await bound(name, name);
    });

  test('does nothing while it is frozen, goes on when it is thawed and when it is started again', async () => {
    const [a, b] = await pair('frozen');
    const scheduler = kubernetes.scheduler;
    assert.ok(scheduler);
    scheduler.freeze();
    await create('frozen', { pool: 'frozen', pinnedTo: a });
    await stays('unbound', async () => (await nodeOf('frozen')) === undefined, 300);
    scheduler.thaw();
    await bound('frozen', a);
    await scheduler.kill();
    await create('killed', { pool: 'frozen', pinnedTo: b });
    await scheduler.restart();
    await bound('killed', b);
  });

  test('takes up its work after the API server was killed', async () => {
    const [a] = await pair('revived');
    await kubernetes.restart();
    await create('revived', { pool: 'revived', pinnedTo: a });
    await waitFor('the Pod on its node', async () => (await nodeOf('revived')) === a);
  });
});

describe('a Pod of higher priority', () => {
  /** Fills a node with a VM and lets an important Pod ask for the same room. */
  async function contest(pool: string, priorityClassName?: string): Promise<void> {
    await createNode(kubernetes.admin, pool, { pool, room: { cpu: '1' } });
    await create(`${pool}-vm`, { pool, ...(priorityClassName === undefined ? {} : { priorityClassName }) });
    await bound(`${pool}-vm`, pool);
    await createPriorityClass(kubernetes.admin, `${pool}-important`, 1_000_000);
    await create(`${pool}-important`, { pool, priorityClassName: `${pool}-important` });
  }

  const isDeleted = async (name: string): Promise<boolean> => {
    const pod = await read(name);
    return pod === undefined || pod.metadata.deletionTimestamp !== undefined;
  };

  test('takes the seat of a VM without one', async () => {
    await contest('plain');
    await waitFor('the VM to be preempted', () => isDeleted('plain-vm'));
  });

  test('waits where the VM has the priority of VMs', async () => {
    await contest('safe', 'vmflow-vm');
    await unschedulable('safe-important', /Insufficient cpu.*preemption: 0\/\d+ nodes/);
    assert.equal(await isDeleted('safe-vm'), false);
    const { priority, preemptionPolicy } = (await read('safe-vm'))?.spec as Record<string, unknown>;
    assert.deepEqual([priority, preemptionPolicy], [1_000_000_000, 'Never']);
  });

  test('is not preempted by a VM: that waits', async () => {
    await createNode(kubernetes.admin, 'modest', { pool: 'modest', room: { cpu: '1' } });
    await create('ordinary', { pool: 'modest' });
    await bound('ordinary', 'modest');
    await create('modest-vm', { pool: 'modest', priorityClassName: 'vmflow-vm' });
    await unschedulable('modest-vm', /Insufficient cpu/);
    assert.equal(await isDeleted('ordinary'), false);
  });
});

describe('Pods of the cluster', () => {
  test('that are bound stay while they terminate, until their agent forgets them', async () => {
    const [a] = await pair('ending');
    const made = await create('ending', { pool: 'ending', pinnedTo: a });
    await bound('ending', a);
    await vmflow.remove(resources.pod, namespace, 'ending', { uid: made.metadata.uid });
    assert.ok((await read('ending'))?.metadata.deletionTimestamp);
    await assert.rejects(create('ending', { pool: 'ending' }), { reason: 'AlreadyExists' });
    await forget('ending');
    assert.equal(await read('ending'), undefined);
  });

  test('that are not bound are gone at once, unless they were bound meanwhile', async () => {
    const unbound = await create('unbound', { pool: 'nobodys' });
    await unschedulable('unbound', /^0\/\d+ nodes are available/);
    const stale = { uid: unbound.metadata.uid, resourceVersion: unbound.metadata.resourceVersion };
    await assert.rejects(vmflow.remove(resources.pod, namespace, 'unbound', stale), { reason: 'Conflict' });
    await vmflow.remove(resources.pod, namespace, 'unbound', { uid: unbound.metadata.uid });
    assert.equal(await read('unbound'), undefined);
  });

  test('of a node that is removed stay: nobody collects them here', async () => {
    const [a] = await pair('orphan');
    await create('orphan', { pool: 'orphan', pinnedTo: a });
    await bound('orphan', a);
    await deleteNode(kubernetes.admin, a);
    assert.equal(await vmflow.get(resources.node, '', a), undefined);
    assert.equal(await nodeOf('orphan'), a);
  });

  test('get their annotations and status from the agent, which can also announce its node', async () => {
    await nodeAgent.create(resources.node, undefined, { metadata: { name: 'announced' }, spec: {} });
    const made = await create('told', { pool: 'nobodys' });
    await nodeAgent.patch(resources.pod, namespace, 'told', [
      { op: 'add', path: '/metadata/annotations', value: { 'vm.cocoonstack.io/id': 'vm-1' } },
    ]);
    const containerStatuses = [
      { name: 'agent', ready: false, restartCount: 0, image: 'none', imageID: '', state: { running: {} } },
    ];
    const told = await nodeAgent.patch(
      resources.pod,
      namespace,
      'told',
      [
        { op: 'add', path: '/status/phase', value: 'Running' },
        { op: 'add', path: '/status/containerStatuses', value: containerStatuses },
      ],
      { status: true },
    );
    assert.equal(told.metadata.uid, made.metadata.uid);
    assert.equal(told.metadata.annotations?.['vm.cocoonstack.io/id'], 'vm-1');
    assert.equal(told.status?.['phase'], 'Running');
    await assert.rejects(nodeAgent.create(resources.pod, namespace, vmPod('own', { pool: 'x' })), {
      reason: 'Forbidden',
    });
  });
});
