import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ClusterError, type Cluster, type KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { connect, operation } from './builders.ts';

let kubernetes: KubernetesUnderTest;
let people: Cluster;
let cluster: Cluster;
let vmLayer: Cluster;
let namespace = '';

before(async () => {
  kubernetes = await startKubernetes();
  people = connect(kubernetes, 'operator');
  cluster = connect(kubernetes, 'vmflow');
  vmLayer = connect(kubernetes, 'vmLayer');
  namespace = await kubernetes.createNamespace();
});
after(async () => {
  await Promise.all([people.close(), cluster.close(), vmLayer.close()]);
  await kubernetes.stop();
});

type Spec = Readonly<Record<string, unknown>>;

const clone = (rest: Spec): Spec => ({ type: 'Clone', clone: { mode: 'Strict', ...rest } });
const prefix = (namePrefix: string): Spec => clone({ customization: { namePrefix } });
const suffix = (nameSuffix: string): Spec => clone({ customization: { nameSuffix } });
const replacement = (item: Spec): Spec => clone({ nameReplacement: [item] });
const restore = { mode: 'Strict', virtualMachineSnapshotName: 'snap' };
/** One code point, two UTF-16 units. */
const wide = '😀';

async function create(spec: Spec): Promise<KubeObject> {
  return people.create(resources.vmop, namespace, operation(spec), { dryRun: true });
}

/** The 422 that must follow. */
async function refusal(attempt: Promise<unknown>): Promise<ClusterError> {
  const error = await attempt.then(
    () => assert.fail('accepted'),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof ClusterError);
  assert.deepEqual([error.reason, error.status], ['Invalid', 422], error.message);
  return error;
}

describe('an operation is refused', () => {
  test('vmop/A21 a Start that is forced is refused with 422', async () => {
    assert.match((await refusal(create({ type: 'Start', force: true }))).message, /a Start cannot be forced/);
  });

  const table: readonly (readonly [what: string, spec: Spec, message: RegExp])[] = [
    ['without a type', { type: undefined }, /spec\.type: Required/],
    ['of a type that there is not', { type: 'Pause' }, /Unsupported value: "Pause"/],
    ['without a VM', { type: 'Stop', virtualMachineName: undefined }, /spec\.virtualMachineName: Required/],
    ['with an empty VM name', { type: 'Stop', virtualMachineName: '' }, /spec\.virtualMachineName.*at least 1 chars/],
    ['whose force is no boolean', { type: 'Stop', force: 'yes' }, /spec\.force.*must be of type boolean/],
    ['that restores without a block', { type: 'Restore' }, /a Restore needs spec\.restore/],
    [
      'that restores without a mode',
      { type: 'Restore', restore: { virtualMachineSnapshotName: 's' } },
      /mode: Required/,
    ],
    ['that restores in no known mode', { type: 'Restore', restore: { ...restore, mode: 'Maybe' } }, /"Maybe"/],
    ['that restores from nothing', { type: 'Restore', restore: { mode: 'Strict' } }, /SnapshotName: Required/],
    [
      'that restores from an empty name',
      { type: 'Restore', restore: { ...restore, virtualMachineSnapshotName: '' } },
      /SnapshotName.*at least 1 chars/,
    ],
    ['that clones without a block', { type: 'Clone' }, /a Clone needs spec\.clone/],
    ['that clones without a mode', { type: 'Clone', clone: { customization: { namePrefix: 'a' } } }, /mode: Required/],
    ['that clones in no known mode', clone({ mode: 'Maybe', customization: { namePrefix: 'a' } }), /"Maybe"/],
    ['that clones without a naming rule', clone({}), /a name prefix, a name suffix or a name replacement/],
    ['that clones with an empty customization', clone({ customization: {} }), /a name prefix, a name suffix or/],
    ['that clones with an empty list', clone({ nameReplacement: [] }), /a name prefix, a name suffix or/],
    ['whose prefix is empty', prefix(''), /a name prefix has 1 to 59 characters/],
    ['whose prefix is too long', prefix('x'.repeat(60)), /a name prefix has 1 to 59 characters/],
    ['whose suffix is empty', suffix(''), /a name suffix has 1 to 59 characters/],
    ['whose suffix is too long', suffix(wide.repeat(60)), /a name suffix has 1 to 59 characters/],
    [
      'whose prefix is empty beside a suffix',
      clone({ customization: { namePrefix: '', nameSuffix: 'b' } }),
      /a name prefix has 1 to 59/,
    ],
    ['that replaces no name', replacement({ to: 'b' }), /from: Required/],
    ['that replaces a name by nothing', replacement({ from: { name: 'a' } }), /to: Required/],
    ['that replaces a name by an empty one', replacement({ from: { name: 'a' }, to: '' }), /to.*at least 1 chars/],
    [
      'that replaces a name by one that is too long',
      replacement({ from: { name: 'a' }, to: 'x'.repeat(60) }),
      /may not be more than 59/,
    ],
    ['that replaces only a kind', replacement({ from: { kind: 'Disk' }, to: 'b' }), /from\.name: Required/],
    ['that replaces an empty name', replacement({ from: { name: '' }, to: 'b' }), /from\.name.*at least 1 chars/],
    ['that replaces an empty kind', replacement({ from: { kind: '', name: 'a' }, to: 'b' }), /from\.kind.*at least 1/],
    ...['Start', 'Stop', 'Restart', 'Evict'].map(
      (type) => [`that migrates with ${type}`, { type, migrate: {} }, /only for the type Migrate/] as const,
    ),
    ['whose selector is no map of strings', { type: 'Migrate', migrate: { nodeSelector: { a: 1 } } }, /nodeSelector/],
  ];
  for (const [what, spec, message] of table)
    test(what, async () => assert.match((await refusal(create(spec))).message, message));
});

describe('an operation is accepted', () => {
  const table: readonly (readonly [what: string, spec: Spec])[] = [
    ...['Start', 'Stop', 'Restart', 'Migrate', 'Evict'].map((type) => [`plain ${type}`, { type }] as const),
    ...['Stop', 'Restart', 'Migrate', 'Evict'].map((type) => [`forced ${type}`, { type, force: true }] as const),
    ['Start, expressly not forced', { type: 'Start', force: false }],
    ['Migrate to nodes with labels', { type: 'Migrate', migrate: { nodeSelector: { 'a.b/c': 'd' } } }],
    ['Restore', { type: 'Restore', restore }],
    ['Restore, forced without effect', { type: 'Restore', restore, force: true }],
    ['Clone with the shortest prefix', prefix('x')],
    ['Clone with the longest prefix, counted in characters', prefix(wide.repeat(59))],
    ['Clone with the longest suffix', suffix('x'.repeat(59))],
    ['Clone with a replacement', replacement({ from: { kind: 'Disk', name: 'a' }, to: 'x'.repeat(59) })],
    ['a block of another type, ignored', { type: 'Stop', restore }],
  ];
  for (const [what, spec] of table)
    test(what, async () => {
      const { spec: stored } = await create(spec);
      assert.deepEqual(stored, { virtualMachineName: 'db-0', ...spec }); // no defaults: absent stays absent
    });
});

describe('an operation that exists', () => {
  const changes = [
    { op: 'replace', path: '/spec/type', value: 'Restart' },
    { op: 'add', path: '/spec/force', value: false },
    { op: 'replace', path: '/spec/virtualMachineName', value: 'db-1' },
  ] as const;
  for (const change of changes)
    test(`keeps its spec: ${change.path}`, async () => {
      const { metadata } = await people.create(resources.vmop, namespace, operation({ type: 'Stop' }));
      const error = await refusal(people.patch(resources.vmop, namespace, metadata.name, [change]));
      assert.match(error.message, /cannot be changed, create a new operation/);
    });

  const condition = {
    type: 'Completed',
    status: 'False',
    reason: 'StopInProgress',
    message: 'm',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const without = (key: string): object =>
    Object.fromEntries(Object.entries(condition).filter(([name]) => name !== key));
  const statuses: readonly (readonly [what: string, status: object, message: RegExp])[] = [
    ['has a phase in its status', { progress: '3%' }, /status\.phase: Required/],
    ['has a known phase', { phase: 'Done' }, /Unsupported value: "Done"/],
    ...Object.keys(condition).map(
      (key) =>
        [`has a ${key} in each condition`, { phase: 'Pending', conditions: [without(key)] }, /Required value/] as const,
    ),
    ['has no empty reason', { phase: 'Pending', conditions: [{ ...condition, reason: '' }] }, /reason/],
    ['has CamelCase reasons', { phase: 'Pending', conditions: [{ ...condition, reason: 'in progress' }] }, /reason/],
    ['has a known condition status', { phase: 'Pending', conditions: [{ ...condition, status: 'yes' }] }, /"yes"/],
    ['has each condition once', { phase: 'Pending', conditions: [condition, condition] }, /Duplicate value/],
    [
      'has known results of its resources',
      { phase: 'Pending', resources: [{ apiVersion: 'v1', kind: 'K', name: 'n', status: 'Odd', message: '' }] },
      /"Odd"/,
    ],
  ];
  for (const [what, status, message] of statuses)
    test(what, async () => {
      const { metadata } = await people.create(resources.vmop, namespace, operation({ type: 'Stop' }));
      const write = cluster.patch(
        resources.vmop,
        namespace,
        metadata.name,
        [{ op: 'add', path: '/status', value: status }],
        { status: true },
      );
      assert.match((await refusal(write)).message, message);
    });

  for (const phase of ['Pending', 'InProgress', 'Completed', 'Failed', 'Terminating', 'Superseded'])
    test(`can be ${phase}`, async () => {
      const { metadata } = await people.create(resources.vmop, namespace, operation({ type: 'Stop' }));
      const status = { phase, progress: '33%', observedGeneration: 1, conditions: [condition] };
      const written = await cluster.patch(
        resources.vmop,
        namespace,
        metadata.name,
        [{ op: 'add', path: '/status', value: status }],
        { status: true },
      );
      assert.deepEqual(written.status, status);
    });
});

describe('the objects that operations act on', () => {
  test('a VM has the defaults of the full definition and keeps what is not ours', async () => {
    const vm = await vmLayer.create(resources.vm, namespace, {
      metadata: { name: 'defaults' },
      spec: { virtualMachineClassName: 'generic', cpu: { cores: 2 } },
    });
    assert.deepEqual(vm.spec, {
      virtualMachineClassName: 'generic',
      cpu: { cores: 2 },
      runPolicy: 'AlwaysOnUnlessStoppedManually',
      liveMigrationPolicy: 'PreferSafe',
      terminationGracePeriodSeconds: 60,
      disruptions: { restartApprovalMode: 'Manual' },
    });
  });

  for (const [field, value] of [
    ['runPolicy', 'Sometimes'],
    ['liveMigrationPolicy', 'Never'],
  ] as const)
    test(`a VM has a known ${field}`, async () => {
      const body = { metadata: { name: 'odd' }, spec: { [field]: value } };
      assert.match((await refusal(vmLayer.create(resources.vm, namespace, body))).message, new RegExp(`"${value}"`));
    });

  test('a VM has a known phase', async () => {
    await vmLayer.create(resources.vm, namespace, { metadata: { name: 'phases' }, spec: {} });
    const to = (phase: string): Promise<KubeObject> =>
      vmLayer.patch(resources.vm, namespace, 'phases', [{ op: 'add', path: '/status', value: { phase } }], {
        status: true,
      });
    await to('Pause');
    assert.match((await refusal(to('Sleeping'))).message, /"Sleeping"/);
  });

  const layer = [
    [resources.machine, { runStrategy: 'Manual' }, { stateChangeRequests: [{ action: 'Stop', uid: 'u' }] }],
    [resources.instance, { terminationGracePeriodSeconds: 0 }, { phase: 'Running', migrationState: { a: 1 } }],
    [resources.migration, { vmiName: 'db-0', addedNodeSelector: { a: 'b' } }, { phase: 'Pending', conditions: [] }],
  ] as const;
  for (const [resource, spec, status] of layer)
    test(`${resource.kind} keeps spec and status, the latter apart`, async () => {
      const body = { metadata: { name: 'layer' }, spec: { ...spec, more: true }, status };
      const made = await vmLayer.create(resource, namespace, body);
      assert.deepEqual([made.spec, made.status], [{ ...spec, more: true }, undefined]);
      const written = await vmLayer.patch(
        resource,
        namespace,
        'layer',
        [{ op: 'add', path: '/status', value: { ...status, more: true } }],
        { status: true },
      );
      assert.deepEqual(written.status, { ...status, more: true });
    });
});
