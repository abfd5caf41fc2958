import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createConfig, parseConfig } from '../../../activities/config.ts';
import { OperationError } from '../../../activities/failures.ts';
import type { Cluster, KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { createRegistries } from '../../../activities/registry/registries.ts';
import { createLookup, type LookupDeps } from '../../../activities/lookup/lookup.ts';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import type { LookupAnswer, LookupRequest } from '../../../workflows/contracts/lookup.ts';
import { lookupProblem } from '../../../workflows/lookup/request-shape.ts';
import { nodeNamed } from '../../stack/kubernetes-nodes.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { connect } from '../kubernetes/builders.ts';

let kubernetes: KubernetesUnderTest;
let admin: Cluster;
let vmflow: Cluster;

before(async () => {
  kubernetes = await startKubernetes();
  admin = connect(kubernetes, 'admin');
  vmflow = connect(kubernetes, 'vmflow');
});
after(async () => {
  await Promise.all([admin.close(), vmflow.close()]);
  await kubernetes.stop();
});

/** Asks as a worker does, with its rights; the question has to have its shape. */
async function ask<W extends LookupRequest['what']>(
  request: Extract<LookupRequest, { what: W }>,
  cluster = vmflow,
): Promise<Extract<LookupAnswer, { what: W }>> {
  assert.equal(lookupProblem(request), undefined);
  const config = createConfig(parseConfig('{}', 'vmflow.yaml'), 'vmflow.yaml');
  const registries = createRegistries({ allowInsecureTls: false });
  const unused = { vsphere: {} as LookupDeps['vsphere'], batch: {} as LookupDeps['batch'] };
  const deps: LookupDeps = { config, ...unused, registries, cluster };
  const answer = await createLookup(deps, { buildId: 'test', sdk: '0' }).lookup(request);
  assert.equal(answer.what, request.what);
  return answer as never;
}

async function aSet(namespace: string, name: string, spec: object = {}, labels = {}): Promise<KubeObject> {
  const body = { metadata: { name, labels }, spec: { agent: { image: 'base:1' }, ...spec } };
  return await admin.create(resources.set, namespace, body);
}

/** The main Pod of a set on a node. `ownerUid` of another set: it is somebody else's of that name. */
async function mainPod(set: KubeObject, nodeName: string, ownerUid = set.metadata.uid): Promise<KubeObject> {
  const { namespace, name } = set.metadata;
  const owner = { apiVersion: 'cocoonset.cocoonstack.io/v1', kind: 'CocoonSet', name, uid: ownerUid, controller: true };
  const metadata = {
    name: `${name}-0`,
    labels: { [cocoonKeys.setName]: name, [cocoonKeys.role]: 'main' },
    annotations: { [cocoonKeys.vmName]: `vk-${namespace}-${name}-0`, [cocoonKeys.vmId]: 'vm-1' },
    ownerReferences: [owner],
  };
  const spec = {
    nodeName,
    automountServiceAccountToken: false,
    containers: [{ name: 'agent', image: 'placeholder' }],
  };
  return await admin.create(resources.pod, namespace, { metadata, spec });
}

async function status(set: KubeObject, value: object): Promise<void> {
  const { namespace, name } = set.metadata;
  await admin.patch(resources.set, namespace, name, [{ op: 'add', path: '/status', value }], { status: true });
}

const migrating = {
  ...{ type: 'Migrating', status: 'False', reason: 'TargetUnschedulable', message: 'the target is cordoned' },
  lastTransitionTime: '2026-03-01T10:00:00Z',
};

test('sets come with phase, node, target and what their migration is at, by namespace, name or label', async () => {
  const [one, two] = [await kubernetes.createNamespace('one'), await kubernetes.createNamespace('two')];
  const web = await aSet(one, 'web', { nodeName: 'node-b' }, { app: 'web' });
  await mainPod(web, 'node-a');
  await status(web, {
    phase: 'Running',
    observedGeneration: 1,
    readyAgents: 1,
    desiredAgents: 1,
    conditions: [migrating],
  });
  await aSet(one, 'fresh', { suspend: true, agent: { image: 'base:1', replicas: 2 } });
  await aSet(two, 'web');
  const { items, truncated } = await ask({ what: 'sets', namespace: one });
  assert.equal(truncated, false);
  const [fresh, shown] = items;
  assert.deepEqual(shown, {
    ...{ namespace: one, name: 'web', uid: web.metadata.uid, generation: 1, observedGeneration: 1 },
    ...{ readyAgents: 1, desiredAgents: 1, phase: 'Running', node: 'node-a', target: 'node-b', migrating },
    createdAt: new Date(web.metadata.creationTimestamp).toISOString(),
  });
  assert.deepEqual(
    [fresh?.name, fresh?.phase, fresh?.node, fresh?.target, fresh?.suspend, fresh?.desiredAgents],
    ['fresh', undefined, undefined, undefined, true, 3],
  );
  const both = await ask({ what: 'sets', name: 'web' });
  assert.deepEqual(both.items.map(({ namespace }) => namespace).sort(), [one, two].sort());
  assert.deepEqual((await ask({ what: 'sets', namespace: two, selector: 'app=web' })).items, []);
  await assert.rejects(
    ask({ what: 'sets', selector: '((' }),
    (err) => err instanceof OperationError && err.details.code === 'SELECTOR_INVALID',
  );
});

test('many sets come in pages that together are everything once', async () => {
  const namespace = await kubernetes.createNamespace('many');
  const names = Array.from({ length: 450 }, (_, i) => `web-${String(i).padStart(3, '0')}`);
  await Promise.all(names.map((name) => aSet(namespace, name)));
  const seen: string[] = [];
  for (let after: string | undefined, pages = 0; pages < 10; pages++) {
    const page = await ask({ what: 'sets', namespace, ...(after === undefined ? {} : { after }) });
    seen.push(...page.items.map(({ name }) => name));
    after = page.next;
    if (after === undefined) break;
    assert.ok(pages < 9);
  }
  assert.deepEqual(seen, names);
});

test('a set comes with its VMs, conditions, record and hibernation; a record that can’t be read is none', async () => {
  const namespace = await kubernetes.createNamespace('one');
  const record = {
    ...{ id: 'm1', generation: 1, from: 'node-a', to: 'node-b', sourcePodUID: 'p', sourceVMID: 'vm-1' },
    ...{ startedAt: '2026-03-01T10:00:00Z', stage: 'quiescing', stageAt: '2026-03-01T10:00:00Z' },
  };
  const web = await aSet(namespace, 'web');
  const annotations = { [cocoonKeys.migration]: JSON.stringify(record) };
  await admin.patch(resources.set, namespace, 'web', [
    { op: 'add', path: '/metadata/annotations', value: annotations },
  ]);
  const agents = [
    { slot: 0, role: 'main', podName: 'web-0', vmName: 'vk-web-0', vmID: 'vm-1', ip: '10.0.0.1', phase: 'Running' },
    { slot: 1, role: 'sub-agent' },
  ];
  await status(web, { phase: 'Migrating', agents, conditions: [migrating] });
  const spec = { podRef: { name: 'web-0' }, desire: 'Wake' };
  await admin.create(resources.hibernation, namespace, { metadata: { name: 'web-0' }, spec });
  const { set } = await ask({ what: 'set', namespace, name: 'web' });
  assert.deepEqual(set?.agents, [
    { slot: 0, role: 'main', podName: 'web-0', vmName: 'vk-web-0', vmId: 'vm-1', ip: '10.0.0.1', phase: 'Running' },
    { slot: 1, role: 'sub-agent' },
  ]);
  assert.deepEqual([set.record, set.conditions, set.image], [record, [migrating], 'base:1']);
  assert.deepEqual([set.hibernation?.name, set.hibernation?.desire], ['web-0', 'Wake']);
  const broken = { [cocoonKeys.migration]: '{"id":' };
  await admin.patch(resources.set, namespace, 'web', [{ op: 'add', path: '/metadata/annotations', value: broken }]);
  assert.equal((await ask({ what: 'set', namespace, name: 'web' })).set?.record, undefined);
  assert.equal((await ask({ what: 'set', namespace, name: 'other' })).set, undefined);
});

test('a Pod of that name that belongs to somebody else says nothing about where a set is', async () => {
  const namespace = await kubernetes.createNamespace('foreign');
  const web = await aSet(namespace, 'web');
  await mainPod(web, 'node-a', 'another');
  assert.equal((await ask({ what: 'set', namespace, name: 'web' })).set?.node, undefined);
  assert.equal((await ask({ what: 'sets', namespace })).items[0]?.node, undefined);
});

test('a node comes with its cordon, who drains it, and the sets whose main VM is there', async () => {
  const namespace = await kubernetes.createNamespace('node');
  await admin.create(resources.node, undefined, nodeNamed('node-k', { unschedulable: true }));
  await admin.create(resources.node, undefined, nodeNamed('node-l'));
  await admin.patch(resources.node, '', 'node-k', [
    { op: 'add', path: '/metadata/annotations', value: { [cocoonKeys.drainedBy]: 'alice' } },
  ]);
  for (const [name, node] of [
    ['b', 'node-k'],
    ['a', 'node-k'],
    ['c', 'node-l'],
  ] as const)
    await mainPod(await aSet(namespace, name), node);
  const { node } = await ask({ what: 'node', name: 'node-k' });
  const facts = { name: 'node-k', ready: node?.ready, cordoned: true, drainedBy: 'alice' };
  assert.deepEqual(node, { ...facts, sets: [`${namespace}/a`, `${namespace}/b`] });
  assert.equal((await ask({ what: 'node', name: 'node-x' })).node, undefined);
  const { nodes } = await ask({ what: 'nodes' });
  assert.deepEqual(
    nodes.map(({ name, cordoned, mains }) => [name, cordoned, mains]),
    [
      ['node-k', true, 2],
      ['node-l', false, 1],
    ],
  );
});

test('a name is looked for among the kinds that are asked for, in one namespace or in all', async () => {
  const [one, two] = [await kubernetes.createNamespace('one'), await kubernetes.createNamespace('two')];
  const set = await aSet(one, 'same-0');
  await admin.create(resources.vm, two, { metadata: { name: 'same-0' }, spec: { runPolicy: 'Manual' } });
  const pod = await mainPod(await aSet(two, 'same'), 'node-a');
  const plain = { metadata: { name: 'plain' }, spec: { containers: [{ name: 'a', image: 'a' }] } };
  await admin.create(resources.pod, one, { ...plain, spec: { ...plain.spec, automountServiceAccountToken: false } });
  const all = await ask({ what: 'named', name: 'same-0', kinds: ['vm', 'set', 'pod'] });
  assert.deepEqual(
    [all.vms.map(({ namespace }) => namespace), all.sets.map(({ uid }) => uid)],
    [[two], [set.metadata.uid]],
  );
  assert.deepEqual(all.pods, [
    {
      ...{ namespace: two, name: 'same-0', uid: pod.metadata.uid, vmName: `vk-${two}-same-0`, vmId: 'vm-1' },
      node: 'node-a',
    },
  ]);
  const here = await ask({ what: 'named', name: 'same-0', namespace: one, kinds: ['vm', 'set'] });
  assert.deepEqual([here.vms.length, here.sets.length, here.pods.length], [0, 1, 0]);
  const none = await ask({ what: 'named', name: 'plain', kinds: ['pod'] });
  assert.deepEqual(none.pods, [], 'a Pod that is no VM of a set');
});

test('who may not see sets finds VMs by their plain name, and is told so where only a set can be meant', async () => {
  const namespace = await kubernetes.createNamespace('blind');
  await aSet(namespace, 'web');
  await admin.create(resources.vm, namespace, { metadata: { name: 'web' }, spec: { runPolicy: 'Manual' } });
  const blind = connect(kubernetes, 'vmLayer');
  try {
    for (const where of [{}, { namespace }]) {
      const { vms, sets } = await ask({ what: 'named', name: 'web', kinds: ['vm', 'set'], ...where }, blind);
      assert.deepEqual([vms.some((vm) => vm.namespace === namespace), sets], [true, []]);
      for (const kinds of [['set'], ['set', 'pod']] as const)
        await assert.rejects(ask({ what: 'named', name: 'web', kinds, ...where }, blind), { reason: 'Forbidden' });
    }
  } finally {
    await blind.close();
  }
});

test('a cluster that doesn’t know a kind has none of it', async () => {
  const bare = await startKubernetes({ bare: true });
  const cluster = connect(bare, 'admin');
  try {
    const kinds = ['vm', 'set', 'pod'] as const;
    for (const where of [{}, { namespace: 'default' }]) {
      const { vms, sets, pods } = await ask({ what: 'named', name: 'web', kinds, ...where }, cluster);
      assert.deepEqual([vms, sets, pods], [[], [], []]);
    }
    assert.deepEqual((await ask({ what: 'sets' }, cluster)).items, []);
  } finally {
    await cluster.close();
    await bare.stop();
  }
});

const noQuestions: readonly object[] = [
  { what: 'set', name: 'web' },
  { what: 'sets', namespace: 7 },
  { what: 'node' },
  { what: 'named', name: 'web' },
  { what: 'named', name: 'web', kinds: 'set' },
  { what: 'named', kinds: ['set'] },
];
test('what isn’t a question is told so', () => {
  for (const question of noQuestions) assert.notEqual(lookupProblem(question), undefined, JSON.stringify(question));
});
