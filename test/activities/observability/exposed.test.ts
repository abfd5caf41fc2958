import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stringify } from 'yaml';
import type { SupervisedProcess } from '../../stack/processes.ts';
import { writeBridgeConfig } from '../../support/bridge-config.ts';
import { Rig } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startBridge } from '../../support/workers.ts';
import { alerts, dashboard, exprsOf, metricsIn, readme } from './files.ts';

let rig: Rig;
let bridge: SupervisedProcess;
let stuck: string;
before(async () => {
  rig = await Rig.start();
  bridge = await startBridge({
    address: rig.temporal.address,
    namespace: rig.temporal.namespace,
    taskQueue: rig.taskQueue,
    configPath: await writeBridgeConfig(rig, {
      cluster: { kubeconfig: await kubeconfigToNowhere() },
      registries: { snapshots: { url: 'https://127.0.0.1:1' } },
      webhook: { listen: '127.0.0.1:0', url: 'https://127.0.0.1:1/admit' },
      history: { file: join(rig.dir, 'history.jsonl'), everyMs: 200 },
    }),
  });
  await givenWork();
});
after(async () => {
  await rig.client.workflow.getHandle(stuck).terminate();
  await bridge.stop(5_000);
  await rig.stop();
});

/** A cluster that isn't there: the bridge measures all the same. */
async function kubeconfigToNowhere(): Promise<string> {
  const path = join(rig.dir, 'kubeconfig');
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: { token: 'none' } }],
  });
  await writeFile(path, text);
  return path;
}

/** A template is swapped, another swap waits for a person, a call fails, a workflow is stuck. */
async function givenWork(): Promise<void> {
  const swapped = await rig.scenario();
  await swapped.template(swapped.names.prod, '416.94.1');
  await swapped.swap({ ova: await swapped.ova() });
  const failed = await rig.scenario();
  await (await failed.start({ vcenter: 'wrong-password' })).failure();
  const waiting = await rig.scenario();
  await waiting.template(waiting.names.prod, '416.94.1');
  await waiting.template(waiting.names.temp, undefined);
  await (await waiting.start({ ova: await waiting.ova() })).reaches('Conflict');
  stuck = `stuck-${rig.taskQueue}`;
  await rig.client.workflow.start('no-such-workflow', { taskQueue: rig.taskQueue, workflowId: stuck });
}

async function scrape(process: SupervisedProcess): Promise<string> {
  const port = /"healthPort":(\d+)/.exec(process.output())?.[1] ?? '';
  return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

const ofWorkers = async (): Promise<string> => (await Promise.all([...rig.workers.values()].map(scrape))).join('\n');

/** The value of the first series of that name with these labels. */
function valueOf(text: string, name: string, labels = ''): number | undefined {
  const line =
    text.split('\n').find((one) => one.startsWith(`${name}{`) && one.includes(labels)) ??
    text.split('\n').find((one) => labels === '' && one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

test('every metric of the rules, the dashboard and the guide is one that a worker or the bridge has', async () => {
  await waitFor('the stuck workflow to be counted', async () =>
    valueOf(await ofWorkers(), 'temporal_workflow_task_execution_failed', 'workflow_type="no-such-workflow"'),
  );
  const text = `${await ofWorkers()}\n${await scrape(bridge)}`;
  const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  const exposed = new Set(
    families.flatMap(([, name = '', type]) => (type === 'histogram' ? [name, `${name}_bucket`] : [name])),
  );
  const exprs = [...(await alerts()).map(({ expr }) => expr), ...exprsOf(await dashboard())];
  const named = new Set([...exprs, ...codeIn(await readme())].flatMap(metricsIn));
  assert.ok(named.size > 20);
  // Made with the first operation on a VM that takes over from another.
  const later = ['vmflow_vmop_fence_duration', 'vmflow_vmop_compensation_failures'];
  assert.deepEqual(
    [...named].filter((name) => !exposed.has(name) && !later.includes(name)),
    [],
  );
});

const codeIn = (markdown: string): readonly string[] =>
  [...markdown.matchAll(/`([a-z_]+)`/g)].map(([, code = '']) => code);

test('what ended, what it became and how long it took is counted by kind', async () => {
  const text = await ofWorkers();
  assert.equal(
    valueOf(text, 'vmflow_operations_ended', 'kind="template-swap",namespace="vmflow",status="Completed"'),
    1,
  );
  assert.equal(valueOf(text, 'vmflow_operations_ended', 'kind="template-swap",namespace="vmflow",status="Failed"'), 1);
  assert.equal(valueOf(text, 'vmflow_operation_duration_count', 'kind="template-swap"'), 2);
  assert.equal(
    valueOf(text, 'vmflow_operation_entered', 'kind="template-swap",namespace="vmflow",status="Conflict"'),
    1,
  );
  assert.ok(valueOf(text, 'vmflow_operation_duration_bucket', 'le="604800000"'), 'buckets reach to a week');
  assert.ok(valueOf(text, 'vmflow_transfer_bytes', 'transfer="template-upload"'));
  assert.equal(valueOf(text, 'vmflow_sdk_codes', 'code="TMPRL1103"'), 0);
});

test('what is open and waits for a person is counted by the bridge', async () => {
  const text = await waitFor('Temporal to list it', async () => {
    const found = await scrape(bridge);
    return (valueOf(found, 'vmflow_conflicts_open', 'kind="template-swap"') ?? 0) > 0 ? found : undefined;
  });
  assert.ok((valueOf(text, 'vmflow_operations_open', 'kind="template-swap"') ?? 0) >= 1);
  assert.notEqual(valueOf(text, 'vmflow_operations_open', 'kind="drain"'), undefined);
  assert.equal(valueOf(text, 'vmflow_bridge_temporal_reachable'), 1);
});

test('a bridge whose cluster is away says which part of it is not ready', async () => {
  const text = await scrape(bridge);
  const parts = ['watch', 'webhook', 'running'].map((part) => valueOf(text, 'vmflow_bridge_ready', `part="${part}"`));
  assert.deepEqual(parts, [0, 0, 1]);
  assert.ok((valueOf(text, 'vmflow_bridge_certificate_end_timestamp_seconds') ?? 0) > Date.now() / 1_000);
});

test('the record of who did what is as old as its last look', async () => {
  const first = valueOf(await scrape(bridge), 'vmflow_history_complete_timestamp_seconds') ?? 0;
  await waitFor(
    'a later look',
    async () => (valueOf(await scrape(bridge), 'vmflow_history_complete_timestamp_seconds') ?? 0) > first,
  );
});
