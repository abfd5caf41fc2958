import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import { stringify } from 'yaml';
import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import { ClusterError, type Cluster, type KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { decide } from '../../../workflows/domain/vmop/decide.ts';
import { vmopTypes, type OperationKind, type VmopType } from '../../../workflows/domain/vmop/matrix.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { freePort, type SupervisedProcess } from '../../stack/processes.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startBridge } from '../../support/workers.ts';

/** Without Temporal and without workers: whatever is active stays so, and what is refused is refused all the same. */
describe('admission of operations', () => {
  let kubernetes: KubernetesUnderTest;
  let bridge: SupervisedProcess;
  let dir: string;
  let namespace = '';
  let person: Cluster;
  /** Our service account, which writes the status of operations. */
  let vmflow: Cluster;

  before(async () => {
    [kubernetes, dir] = await Promise.all([startKubernetes(), mkdtemp(join(tmpdir(), 'vmflow-admission-'))]);
    person = createCluster({ kubeconfig: kubernetes.kubeconfig('operator') });
    vmflow = createCluster({ kubeconfig: kubernetes.kubeconfig('vmflow') });
    namespace = await kubernetes.createNamespace();
    const [webhook, nobody] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const configPath = join(dir, 'vmflow.yaml');
    const config = {
      cluster: { kubeconfig: kubernetes.kubeconfig('vmflow') },
      webhook: { listen: webhook, url: `https://${webhook}/admit` },
    };
    await writeFile(configPath, stringify(config));
    bridge = await startBridge({ address: nobody, namespace: 'vmflow', taskQueue: 'nobody', configPath });
    const isReady = async (): Promise<boolean> => (await ask('/readyz')).status === 200;
    await waitFor('the bridge to be ready', isReady);
    await waitFor('the webhook to be in effect', async () => {
      const nodeSelector = { 'no label': '' };
      return (await answer(create('probe', { type: 'Migrate' }, { migrate: { nodeSelector } }))).code === 403;
    });
  });
  after(async () => {
    await bridge.stop();
    await Promise.all([person.close(), vmflow.close()]);
    await kubernetes.stop();
    await rm(dir, { recursive: true, force: true });
  });

  async function ask(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const [, port = ''] = /"healthPort":(\d+)/.exec(bridge.output()) ?? [];
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`);
    return { status: statusCode, text: await body.text() };
  }

  const blocks: Readonly<Partial<Record<VmopType, object>>> = {
    Restore: { restore: { mode: 'Strict', virtualMachineSnapshotName: 's' } },
    Clone: { clone: { mode: 'Strict', customization: { namePrefix: 'x' } } },
  };

  function create(
    vm: string,
    kind: OperationKind,
    more: object = {},
    { inNamespace = namespace, dryRun = false } = {},
  ): Promise<KubeObject> {
    const spec = { virtualMachineName: vm, ...kind, ...blocks[kind.type], ...more };
    return person.create(resources.vmop, inNamespace, { metadata: { generateName: 'op-' }, spec }, { dryRun });
  }

  /** An operation that somebody is working on. */
  async function active(vm: string, kind: OperationKind, inNamespace = namespace): Promise<KubeObject> {
    const { metadata } = await create(vm, kind, {}, { inNamespace });
    return await phase(metadata.name, 'InProgress', inNamespace);
  }

  function phase(name: string, value: string, inNamespace = namespace): Promise<KubeObject> {
    const status = { op: 'add', path: '/status', value: { phase: value } } as const;
    return vmflow.patch(resources.vmop, inNamespace, name, [status], { status: true });
  }

  async function answer(attempt: Promise<KubeObject>): Promise<{ readonly code: number; readonly message: string }> {
    return await attempt.then(
      () => ({ code: 201, message: '' }),
      (error: unknown) => {
        if (error instanceof ClusterError) return { code: error.status ?? 0, message: error.message };
        throw error;
      },
    );
  }

  const operationsOf = async (vm: string): Promise<readonly KubeObject[]> =>
    (await person.list(resources.vmop, namespace)).filter(({ spec }) => spec?.['virtualMachineName'] === vm);

  const stop = { type: 'Stop' } as const;
  const forced = (type: VmopType): OperationKind => ({ type, force: true });
  const refusals: readonly (readonly [string, OperationKind, OperationKind])[] = [
    ['vmop/A12 a start while a stop is active', stop, { type: 'Start' }],
    ['vmop/A13 a start while a start is active', { type: 'Start' }, { type: 'Start' }],
    ['vmop/A14 a stop while a stop is active', stop, stop],
    ['vmop/A15 a forced stop while a forced stop is active', forced('Stop'), forced('Stop')],
    ['vmop/A16 a forced stop while a forced restart is active', forced('Restart'), forced('Stop')],
    ['vmop/A17 an eviction while a migration is active', { type: 'Migrate' }, { type: 'Evict' }],
    ['vmop/A18 a forced stop while a restore is active', { type: 'Restore' }, forced('Stop')],
    ['vmop/A19 a forced restart while a clone is active', { type: 'Clone' }, forced('Restart')],
    ['vmop/A20 a plain restart while a stop is active', stop, { type: 'Restart' }],
  ];
  for (const [title, older, newer] of refusals)
    test(`${title} is refused, and what is active is left as it is`, async () => {
      const vm = title.slice(5, 8).toLowerCase();
      const incumbent = await active(vm, older);
      const { code, message } = await answer(create(vm, newer));
      assert.equal(code, 403);
      assert.ok(message.includes(`"${incumbent.metadata.name}"`), message);
      assert.match(message, /should finish first/);
      assert.deepEqual(await operationsOf(vm), [incumbent]);
    });

  const grid: readonly OperationKind[] = vmopTypes.flatMap((type) =>
    type === 'Start' || type === 'Restore' || type === 'Clone' ? [{ type }] : [{ type }, forced(type)],
  );

  test('vmop/A21 all 121 pairs are answered as the rule says, 22 are admitted, a forced start breaks the schema', async () => {
    const codes = new Map<number, number>();
    for (const [row, older] of grid.entries())
      for (const [column, newer] of grid.entries()) {
        const vm = `grid-${row}-${column}`;
        const { metadata } = await active(vm, older);
        const incumbent = { ...older, name: metadata.name, uid: metadata.uid };
        const rule = decide([incumbent], newer, vm, undefined);
        const { code, message } = await answer(create(vm, newer));
        assert.deepEqual([code, message], rule.kind === 'reject' ? [403, rule.message] : [201, '']);
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    assert.deepEqual(Object.fromEntries(codes), { 201: 22, 403: 99 });
    assert.equal((await answer(create('grid-0-0', forced('Start')))).code, 422);
  });

  test('vmop/A36 a dry run of a take-over is admitted and changes nothing', async () => {
    const start = await active('dry', { type: 'Start' });
    const made = await create('dry', stop, {}, { dryRun: true });
    assert.equal(made.spec?.['type'], 'Stop');
    assert.deepEqual(await operationsOf('dry'), [start]);
    assert.equal((await answer(create('dry', { type: 'Restart' }, {}, { dryRun: true }))).code, 403);
  });

  test('equal names in different namespaces have nothing to do with each other', async () => {
    const other = await kubernetes.createNamespace();
    await active('x', forced('Stop'));
    assert.equal((await answer(create('x', { type: 'Start' }, {}, { inNamespace: other }))).code, 201);
    assert.equal((await answer(create('x', { type: 'Start' }))).code, 403);
  });

  test('the end of an operation frees its VM at once, two hundred times', async () => {
    for (let round = 0; round < 200; round += 1) {
      const { metadata } = await create('free', { type: round % 2 === 0 ? 'Start' : 'Stop' });
      await phase(metadata.name, 'Completed');
    }
  });

  test('of a VM that is missing everything is admitted: the operation is where people see what became of it', async () => {
    for (const type of ['Stop', 'Start', 'Restart', 'Migrate'] as const)
      assert.equal((await answer(create(`missing-${type.toLowerCase()}`, { type }))).code, 201);
  });

  test('refusals are counted, and operations have their series', async () => {
    const { text } = await ask('/metrics');
    assert.match(
      text,
      /virtualmachineoperation_rejections_total\{incumbent_type="Clone",newcomer_type="Restart",force="true"\} \d+/,
    );
    assert.match(text, /virtualmachineoperation_status_phase\{[^}]*virtualmachine="a12",phase="InProgress"\} 1/);
  });

  test('the bridge ends when it is told to, and then nothing is created', async () => {
    bridge.signal('SIGTERM');
    assert.deepEqual(await bridge.exited, { code: 0, signal: null });
    const { code, message } = await answer(create('late', stop));
    assert.equal(code, 500);
    assert.match(message, /failed calling webhook/);
  });
});
