import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';
import {
  ClusterError,
  type Cluster,
  type JsonPatchOperation,
  type KubeObject,
} from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { setPhases } from '../../../workflows/domain/hibernate/observation.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { connect } from './builders.ts';

type Spec = Readonly<Record<string, unknown>>;

let kubernetes: KubernetesUnderTest;
let owner: Cluster;
let vmflow: Cluster;
let namespace = '';

before(async () => {
  kubernetes = await startKubernetes();
  owner = connect(kubernetes, 'admin');
  vmflow = connect(kubernetes, 'vmflow');
  namespace = await kubernetes.createNamespace();
});
after(async () => {
  await Promise.all([owner.close(), vmflow.close()]);
  await kubernetes.stop();
});

const agent = { image: 'base:1' };

/** Specs in the tables are those of a set with this agent, unless they bring their own. */
function setOf(spec: Spec, name?: string): object {
  return { metadata: name === undefined ? { generateName: 'set-' } : { name }, spec: { agent, ...spec } };
}

async function tryOut(spec: Spec): Promise<KubeObject> {
  return owner.create(resources.set, namespace, setOf(spec), { dryRun: true });
}

async function made(spec: Spec): Promise<string> {
  return (await owner.create(resources.set, namespace, setOf(spec))).metadata.name;
}

/** The 422 that must follow. */
async function refusal(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => assert.fail('accepted'),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof ClusterError);
  assert.deepEqual([error.reason, error.status], ['Invalid', 422], error.message);
  return error.message;
}

describe('a set', () => {
  test('that says nothing but its image gets the defaults', async () => {
    assert.deepEqual((await tryOut({})).spec, {
      suspend: false,
      snapshotPolicy: 'always',
      hibernatePolicy: 'retain',
      nodePool: 'default',
      agent: {
        image: 'base:1',
        replicas: 0,
        mode: 'clone',
        os: 'linux',
        backend: 'cloud-hypervisor',
        forcePull: false,
        noDirectIO: false,
        probePort: 0,
      },
    });
  });

  test('keeps everything that a set can say', async () => {
    const options = {
      os: 'windows',
      backend: 'firecracker',
      connType: 'rdp',
      network: 'lan',
      forcePull: true,
      noDirectIO: true,
      probePort: 65_535,
      storage: '20Gi',
      resources: {
        limits: { cpu: 2, memory: '4Gi' },
        requests: { cpu: '500m', memory: '1e9' },
        claims: [{ name: 'gpu', request: 'one' }],
      },
    };
    const spec = {
      suspend: true,
      snapshotPolicy: 'main-only',
      hibernatePolicy: 'retain',
      nodePool: 'big',
      snapshotCompatibilityClass: 'Zen_4.x',
      nodeName: 'node-a.example',
      agent: {
        ...options,
        replicas: 3,
        image: 'base:1',
        mode: 'run',
        envFrom: [
          { prefix: 'A_', configMapRef: { name: 'map', optional: true } },
          { secretRef: { name: 'secret', optional: false } },
        ],
        serviceAccountName: 'agents',
      },
      toolboxes: [
        { ...options, name: 'tool-1', image: 'tool:1', mode: 'clone', vncPort: 5900 },
        { ...options, name: '2', mode: 'static', staticIP: '10.0.0.2', staticVMID: 'vm-2', vncPort: 0 },
      ],
    };
    assert.deepEqual((await tryOut(spec)).spec, spec);
  });

  const accepted: readonly (readonly [what: string, spec: Spec])[] = [
    ['with an empty target', { nodeName: '' }],
    ['with a target of one character', { nodeName: 'a' }],
    ['with the longest target', { nodeName: 'a'.repeat(63) }],
    ['with an empty CPU class', { snapshotCompatibilityClass: '' }],
    ['with the longest CPU class', { snapshotCompatibilityClass: 'a'.repeat(63) }],
    ['that frees its seat, without sub-agents and toolboxes', { hibernatePolicy: 'release' }],
    ['that frees its seat, with an empty list of toolboxes', { hibernatePolicy: 'release', toolboxes: [] }],
    ['with storage as a number', { agent: { ...agent, storage: 1_073_741_824 } }],
    ['with a reference that has no name yet', { agent: { ...agent, envFrom: [{ secretRef: {} }] } }],
    ['with two toolboxes of one name: that is for the controller', { toolboxes: [{ name: 'a' }, { name: 'a' }] }],
  ];
  for (const [what, spec] of accepted)
    test(`${what} is accepted`, async () => {
      const { spec: stored } = await tryOut(spec);
      for (const [key, value] of Object.entries(spec))
        if (typeof value !== 'object') assert.deepEqual(stored?.[key], value);
    });

  const options: readonly (readonly [what: string, options: Spec, message: RegExp])[] = [
    ['an unknown guest', { os: 'plan9' }, /"plan9"/],
    ['an unknown backend', { backend: 'qemu' }, /"qemu"/],
    ['an unknown connection', { connType: 'telnet' }, /"telnet"/],
    ['an unknown mode', { mode: 'copy' }, /"copy"/],
    ['a negative port', { probePort: -1 }, /probePort.*greater than or equal to 0/],
    ['a port too high', { probePort: 65_536 }, /probePort.*less than or equal to 65535/],
    ['storage that is no quantity', { storage: 'much' }, /storage/],
    ['memory that is no quantity', { resources: { limits: { memory: '4 GB' } } }, /memory/],
    ['a claim without a name', { resources: { claims: [{}] } }, /name: Required/],
  ];
  const refused: readonly (readonly [what: string, spec: Spec, message: RegExp])[] = [
    ['without an agent', { agent: undefined }, /spec\.agent: Required/],
    ['without an image', { agent: {} }, /agent\.image: Required/],
    ['with an empty image', { agent: { image: '' } }, /agent\.image.*at least 1 chars/],
    ['with fewer than no sub-agents', { agent: { ...agent, replicas: -1 } }, /replicas.*greater than or equal to 0/],
    ['with an unknown snapshot policy', { snapshotPolicy: 'sometimes' }, /"sometimes"/],
    ['with an unknown hibernate policy', { hibernatePolicy: 'drop' }, /"drop"/],
    ['whose target has capitals', { nodeName: 'Node-a' }, /spec\.nodeName/],
    ['whose target ends in a hyphen', { nodeName: 'node-' }, /spec\.nodeName/],
    ['whose target is too long for a label', { nodeName: 'a'.repeat(64) }, /spec\.nodeName.*63/],
    ['whose CPU class is no label value', { snapshotCompatibilityClass: '-a' }, /snapshotCompatibilityClass/],
    ['whose CPU class is too long', { snapshotCompatibilityClass: 'a'.repeat(64) }, /snapshotCompatibilityClass.*63/],
    [
      'that frees its seat and has sub-agents',
      { hibernatePolicy: 'release', agent: { ...agent, replicas: 1 } },
      /only for sets without sub-agents/,
    ],
    [
      'that frees its seat and has toolboxes',
      { hibernatePolicy: 'release', toolboxes: [{ name: 'a' }] },
      /only for sets without sub-agents/,
    ],
    ['with a toolbox without a name', { toolboxes: [{ image: 'x' }] }, /name: Required/],
    ['with a toolbox of a wrong name', { toolboxes: [{ name: 'Tool' }] }, /toolboxes\[0\]\.name/],
    ['with an unknown toolbox mode', { toolboxes: [{ name: 'a', mode: 'copy' }] }, /"copy"/],
    ['with a VNC port too high', { toolboxes: [{ name: 'a', vncPort: 65_536 }] }, /vncPort/],
    ...options.flatMap(([what, one, message]) => [
      [`whose agent has ${what}`, { agent: { ...agent, ...one } }, message] as const,
      [`with a toolbox that has ${what}`, { toolboxes: [{ name: 'a', ...one }] }, message] as const,
    ]),
  ];
  for (const [what, spec, message] of refused)
    test(`${what} is refused`, async () => assert.match(await refusal(tryOut(spec)), message));
});

describe('a set that exists', () => {
  const path = '/spec/snapshotCompatibilityClass';
  const set = (name: string, ...operations: JsonPatchOperation[]): Promise<KubeObject> =>
    owner.patch(resources.set, namespace, name, operations);

  for (const [what, before] of [
    ['unset', {}],
    ['empty', { snapshotCompatibilityClass: '' }],
  ] as const)
    test(`gets a CPU class that was ${what}, and keeps it`, async () => {
      const name = await made(before);
      await set(name, { op: 'add', path, value: 'zen4' });
      await set(name, { op: 'add', path: '/spec/suspend', value: true });
      const message = /cannot be changed or removed once it is set/;
      assert.match(await refusal(set(name, { op: 'replace', path, value: 'zen5' })), message);
      assert.match(await refusal(set(name, { op: 'replace', path, value: '' })), message);
      assert.match(await refusal(set(name, { op: 'remove', path })), message);
    });

  test('can have its target set, emptied and removed', async () => {
    const name = await made({});
    for (const value of ['node-a', '', 'node-b'])
      assert.equal((await set(name, { op: 'add', path: '/spec/nodeName', value })).spec?.['nodeName'], value);
    assert.equal((await set(name, { op: 'remove', path: '/spec/nodeName' })).spec?.['nodeName'], undefined);
  });

  const status = (name: string, value: object): Promise<KubeObject> =>
    vmflow.patch(resources.set, namespace, name, [{ op: 'add', path: '/status', value }], { status: true });

  for (const phase of setPhases)
    test(`can be ${phase}`, async () => {
      const name = await made({});
      assert.deepEqual((await status(name, { phase })).status, {
        phase,
        readyAgents: 0, // the counts are there from the first status on
        desiredAgents: 0,
        readyToolboxes: 0,
        desiredToolboxes: 0,
      });
    });

  test('keeps everything that its status can say', async () => {
    const whole = {
      observedGeneration: 1,
      phase: 'Running',
      readyAgents: 1,
      desiredAgents: 2,
      readyToolboxes: 1,
      desiredToolboxes: 1,
      agents: [
        { slot: 0, role: 'main', podName: 'a-0', vmName: 'vk-a-0', vmID: 'vm-1', ip: '10.0.0.1', phase: 'Running' },
        { slot: 1, role: 'sub-agent', forkedFrom: 'vk-a-0' },
      ],
      toolboxes: [
        {
          name: 't',
          podName: 'a-t',
          vmName: 'vk-a-t',
          vmID: 'vm-2',
          ip: '10.0.0.2',
          phase: 'Running',
          connType: 'vnc',
          vncPort: 5900,
        },
      ],
      conditions: [condition('Migrating')],
    };
    const name = await made({});
    assert.deepEqual((await status(name, whole)).status, whole);
  });

  const wrong: readonly (readonly [what: string, status: object, message: RegExp])[] = [
    ['an unknown phase', { phase: 'Moving' }, /"Moving"/],
    ['an agent without a slot', { agents: [{ role: 'main' }] }, /slot: Required/],
    ['an agent without a role', { agents: [{ slot: 0 }] }, /role: Required/],
    ['two agents in one slot', { agents: [0, 0].map((slot) => ({ slot, role: 'main' })) }, /Duplicate value/],
    ['two toolboxes of one name', { toolboxes: [{ name: 'a' }, { name: 'a' }] }, /Duplicate value/],
    ['two conditions of one type', { conditions: [condition('Ready'), condition('Ready')] }, /Duplicate value/],
    ['a condition without a reason', { conditions: [{ ...condition('Ready'), reason: '' }] }, /reason/],
  ];
  for (const [what, value, message] of wrong)
    test(`has no status with ${what}`, async () => {
      const name = await made({});
      assert.match(await refusal(status(name, value)), message);
    });

  test('keeps its annotations from whoever writes the status', async () => {
    const name = await made({});
    await status(name, { phase: 'Running' });
    const annotations = { op: 'add', path: '/metadata/annotations', value: { 'vmflow.dev/migration': '{}' } } as const;
    await vmflow.patch(resources.set, namespace, name, [annotations], { status: true });
    assert.equal((await vmflow.get(resources.set, namespace, name))?.metadata.annotations, undefined);
    await vmflow.patch(resources.set, namespace, name, [annotations]);
    const read = await vmflow.get(resources.set, namespace, name);
    assert.deepEqual(read?.metadata.annotations, annotations.value);
    assert.equal(read.metadata.generation, 1, 'an annotation is no new wish');
    assert.equal(read.status?.['phase'], 'Running');
  });

  test('raises its generation when it is deleted and a finalizer holds it', async () => {
    const name = await made({});
    await owner.patch(resources.set, namespace, name, [
      { op: 'add', path: '/metadata/finalizers', value: ['cocoonset.cocoonstack.io/finalizer'] },
    ]);
    await owner.remove(resources.set, namespace, name);
    const held = await vmflow.get(resources.set, namespace, name);
    assert.ok(held?.metadata.deletionTimestamp);
    assert.equal(held.metadata.generation, 2);
    await vmflow.patch(resources.set, namespace, name, [{ op: 'remove', path: '/metadata/finalizers' }]);
    assert.equal(await vmflow.get(resources.set, namespace, name), undefined);
  });

  test('is listed with what people look for', async () => {
    const name = await made({ nodeName: 'node-b' });
    await status(name, {
      phase: 'Migrating',
      readyAgents: 1,
      desiredAgents: 2,
      conditions: [condition('Ready'), condition('Migrating', 'Snapshotting')],
    });
    const { columns, cells } = await table('cocoonsets', name);
    assert.deepEqual(columns, [
      ['Name', 0],
      ['Phase', 0],
      ['Ready', 0],
      ['Desired', 0],
      ['Age', 0],
      ['Target', 1],
      ['Migrating', 1],
    ]);
    assert.deepEqual([...cells.slice(0, 4), ...cells.slice(5)], [name, 'Migrating', 1, 2, 'node-b', 'Snapshotting']);
  });
});

function condition(type: string, reason = 'Because'): object {
  return { type, status: 'True', reason, message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };
}

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

/** What `kubectl get -o wide` would show of one object. */
async function table(
  plural: string,
  name: string,
): Promise<{ columns: [string, number][]; cells: readonly unknown[] }> {
  const dispatcher = new Agent({ connect: { ca: kubernetes.caPem } });
  const path = `/apis/cocoonset.cocoonstack.io/v1/namespaces/${namespace}/${plural}/${name}`;
  const { body } = await request(`${kubernetes.url}${path}`, {
    dispatcher,
    headers: {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      authorization: `Bearer ${kubernetes.tokens.admin}`,
    },
  });
  const { columnDefinitions, rows } = (await body.json()) as Table;
  await dispatcher.close();
  return { columns: columnDefinitions.map((column) => [column.name, column.priority]), cells: rows[0]?.cells ?? [] };
}

describe('a hibernation', () => {
  const of = (name: string, spec: Spec): Promise<KubeObject> =>
    owner.create(resources.hibernation, namespace, { metadata: { name }, spec });
  const pod = (name: string): Spec => ({ podRef: { name }, desire: 'Hibernate' });

  const refused: readonly (readonly [what: string, spec: Spec, message: RegExp])[] = [
    ['without a Pod', { desire: 'Wake' }, /spec\.podRef: Required/],
    ['whose Pod has no name', { podRef: {}, desire: 'Wake' }, /podRef\.name: Required/],
    ['whose Pod has an empty name', { podRef: { name: '' }, desire: 'Wake' }, /podRef\.name.*at least 1 chars/],
    ['without a desire', { podRef: { name: 'x-0' } }, /spec\.desire: Required/],
    ['with an unknown desire', { podRef: { name: 'x-0' }, desire: 'Nap' }, /"Nap"/],
    ['that is called otherwise than its Pod', pod('y-0'), /has the name of its Pod/],
  ];
  for (const [what, spec, message] of refused)
    test(`${what} is refused`, async () => assert.match(await refusal(of('x-0', spec)), message));

  test('is there once per Pod, keeps its Pod and may change its mind', async () => {
    await of('web-0', pod('web-0'));
    await assert.rejects(of('web-0', pod('web-0')), { reason: 'AlreadyExists' });
    const patch = (op: JsonPatchOperation): Promise<KubeObject> =>
      owner.patch(resources.hibernation, namespace, 'web-0', [op]);
    const message = await refusal(patch({ op: 'replace', path: '/spec/podRef/name', value: 'web-1' }));
    assert.match(message, /podRef cannot be changed/);
    const changed = await patch({ op: 'replace', path: '/spec/desire', value: 'Wake' });
    assert.equal(changed.metadata.generation, 2);
  });

  for (const phase of ['Pending', 'Hibernating', 'Hibernated', 'Waking', 'Active', 'Failed'])
    test(`can be ${phase}`, async () => {
      const name = `is-${phase.toLowerCase()}`;
      await of(name, pod(name));
      const status = { observedGeneration: 1, phase, vmName: 'vk-a-0', conditions: [condition('Ready')] };
      const value = { op: 'add', path: '/status', value: status } as const;
      const patched = await vmflow.patch(resources.hibernation, namespace, name, [value], { status: true });
      assert.deepEqual(patched.status, status);
    });

  test('has no unknown phase', async () => {
    await of('odd', pod('odd'));
    const value = { op: 'add', path: '/status', value: { phase: 'Asleep' } } as const;
    const write = vmflow.patch(resources.hibernation, namespace, 'odd', [value], { status: true });
    assert.match(await refusal(write), /"Asleep"/);
  });

  test('is listed with what people look for', async () => {
    await of('listed', pod('listed'));
    const { columns, cells } = await table('cocoonhibernations', 'listed');
    assert.deepEqual(
      columns.map(([name]) => name),
      ['Name', 'Pod', 'Desire', 'Phase', 'Age'],
    );
    assert.deepEqual(cells.slice(0, 3), ['listed', 'listed', 'Hibernate']);
  });
});

test('both kinds have short names and are in the category of all of cocoon', async () => {
  const { body } = await kubernetes.admin.send('GET', '/apis/cocoonset.cocoonstack.io/v1');
  const { resources: served } = body as {
    resources: { name: string; shortNames?: string[]; categories?: string[]; namespaced: boolean }[];
  };
  assert.deepEqual(
    served
      .map(({ name, shortNames, categories, namespaced }) => [name, shortNames, categories, namespaced])
      .sort(([a], [b]) => String(a).localeCompare(String(b))),
    [
      ['cocoonhibernations', ['ch'], ['cocoon'], true],
      ['cocoonhibernations/status', undefined, undefined, true],
      ['cocoonsets', ['cs'], ['cocoon'], true],
      ['cocoonsets/status', undefined, undefined, true],
    ],
  );
});
