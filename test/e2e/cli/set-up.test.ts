import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createServer } from 'node:net';
import { Connection, ScheduleClient } from '@temporalio/client';
import { startTemporal, type TemporalServer } from '../../stack/temporal.ts';
import { vmflow, type ProcessResult } from './run-process.ts';

const digest = 'ab'.repeat(32);
const update = [
  ...['template', 'update', 'rhel9-base', '--ova', '/x.ova', '--version', '9.6', '--sha256', digest],
  ...['--vcenter', 'vc1', '--datacenter', 'DC0', '--cluster', 'C', '--datastore', 'D', '--network', 'N'],
  ...['--ack-timeout', '1s'],
];

let temporal: TemporalServer;
before(async () => {
  temporal = await startTemporal({ bare: true, ui: true });
});
after(() => temporal.stop());

function connect(): Promise<Connection> {
  return Connection.connect({ address: temporal.address });
}

function on(namespace: string, ...argv: readonly string[]): Promise<ProcessResult> {
  const env = {
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: namespace,
    VMFLOW_UI_URL: temporal.uiUrl ?? '',
  };
  return vmflow(env, ...argv);
}

/** The outcomes of a set-up by name. */
function itemsOf(result: ProcessResult): Readonly<Record<string, string>> {
  const { items } = JSON.parse(result.stdout) as { items: { name: string; was: string }[] };
  return Object.fromEntries(items.map(({ name, was }) => [name, was]));
}

test('a namespace that doesn’t exist is told, with the command that creates it', async () => {
  for (const argv of [['template', 'list'], update, ['config', 'check']]) {
    const { exit, stdout, stderr } = await on('missing', ...argv);
    assert.deepEqual([exit, stdout], [3, ''], stderr);
    assert.match(stderr, /no namespace "missing"/);
    assert.match(stderr, /vmflow admin setup/);
  }
});

test('missing search attributes are told, with the command that registers them', async () => {
  for (const argv of [['template', 'list'], update]) {
    const { exit, stderr } = await on(temporal.namespace, ...argv);
    assert.equal(exit, 3, stderr);
    assert.match(stderr, /search attributes are not registered in namespace "vmflow"/);
    assert.match(stderr, /next {4}vmflow admin setup/);
  }
});

test('admin setup makes a namespace usable at once, and is idempotent', async () => {
  const plan = await on('fresh', 'admin', 'setup', '--dry-run', '-o', 'json');
  assert.ok(Object.values(itemsOf(plan)).every((was) => was === 'missing'));
  const first = await on('fresh', 'admin', 'setup', '--retention', '7d', '-o', 'json');
  assert.equal(first.exit, 0, first.stderr);
  assert.ok(Object.values(itemsOf(first)).every((was) => was === 'missing'));
  const list = await on('fresh', 'template', 'list');
  assert.equal(list.exit, 0, list.stderr);
  const second = await on('fresh', 'admin', 'setup', '-o', 'json');
  assert.ok(Object.values(itemsOf(second)).every((was) => was === 'present'));
  const check = await on('fresh', 'config', 'check');
  assert.match(check.stdout, /^ok: Temporal 1\.\d+\.\d+ at 127\.0\.0\.1:\d+, namespace fresh\n$/);
});

test('admin setup changes schedules of another task queue, and leaves a pause', async () => {
  await on('fresh', 'admin', 'setup');
  const schedules = new ScheduleClient({ connection: await connect(), namespace: 'fresh' });
  const sweep = schedules.getHandle('vmop-sweep');
  await sweep.pause('maintenance');
  const wasOf = itemsOf(await on('fresh', 'admin', 'setup', '--task-queue', 'other', '-o', 'json'));
  assert.deepEqual([wasOf['vmop-sweep'], wasOf['vmop-gc'], wasOf['OpKind']], ['different', 'different', 'present']);
  const { action, state, policies, spec } = await sweep.describe();
  assert.deepEqual(
    [action.workflowType, action.taskQueue, action.workflowId, state.paused, state.note],
    ['vmopSweep', 'other', 'vmop-sweep', true, 'maintenance'],
  );
  assert.deepEqual([policies.overlap, spec.intervals?.[0]?.every], ['SKIP', 30_000]);
  const gc = await schedules.getHandle('vmop-gc').describe();
  const next = gc.info.nextActionTimes[0];
  assert.deepEqual([next?.getUTCHours(), next?.getUTCMinutes(), next?.getUTCSeconds()], [0, 0, 0]);
  const back = await on('fresh', 'admin', 'setup', '-o', 'json');
  assert.equal(itemsOf(back)['vmop-gc'], 'different');
  await schedules.connection.close();
});

test('admin setup completes a namespace that has no attributes yet', async () => {
  const { exit, stdout, stderr } = await on(temporal.namespace, 'admin', 'setup');
  assert.equal(exit, 0, stderr);
  assert.match(stdout, /namespace {9}vmflow {8}present/);
  assert.match(stdout, /OpStatus {6}missing {2}registered/);
});

test('doctor without a worker says what to start and leaves the consequences out', async () => {
  await on('fresh', 'admin', 'setup');
  const { exit, stdout } = await on('fresh', 'doctor', '-o', 'json');
  assert.equal(exit, 6);
  const { items } = JSON.parse(stdout) as { items: { name: string; ok: boolean }[] };
  assert.deepEqual(
    items.map(({ name, ok }) => [name, ok]),
    [
      ['Temporal', true],
      ['namespace', true],
      ['search attributes', true],
      ['schedules', true],
      ['control worker', false],
      ['transfer worker', false],
      ['Web UI', true],
    ],
  );
});

test('without a worker a start is sent but not acknowledged, and the operation can be seen and cancelled', async () => {
  await on('fresh', 'admin', 'setup');
  const { exit, stdout, stderr } = await on('fresh', ...update);
  assert.deepEqual([exit, stdout], [6, '']);
  assert.match(stderr, /sent, not yet acknowledged: is a worker running\?/);
  assert.match(stderr, /task queue "vmflow"/);
  const get = await on('fresh', 'template', 'get', 'rhel9-base', '--vcenter', 'vc1', '--datacenter', 'DC0');
  assert.equal(get.exit, 0, get.stderr);
  assert.match(get.stdout, /^rhel9-base {3}Started since .* 9\.6 on vc1 \/DC0\/vm\n/);
  assert.match(get.stdout, /no worker can answer/);
  const link = /link {4}(\S+)/.exec(get.stdout)?.[1] ?? '';
  assert.ok(link.includes('/workflows/template-swap%2Fvc1%2FDC0%2Fvm%2Frhel9-base/'));
  assert.equal((await fetch(link)).status, 200);
  const cancel = await on('fresh', 'template', 'cancel', 'rhel9-base', '--vcenter', 'vc1', '--datacenter', 'DC0');
  assert.equal(cancel.exit, 0, cancel.stderr);
});

test('without a worker a lookup takes its question back', async () => {
  await on('fresh', 'admin', 'setup');
  const { exit, stderr } = await on('fresh', 'endpoint', 'list', '--ack-timeout', '1s');
  assert.equal(exit, 6);
  assert.match(stderr, /nothing was started or changed/);
});

test('a Temporal that isn’t there gives 7, one that doesn’t speak too', async () => {
  const refused = await vmflow({ TEMPORAL_ADDRESS: '127.0.0.1:1' }, 'template', 'list', '-o', 'json');
  assert.deepEqual([refused.exit, refused.stdout], [7, '']);
  assert.equal((JSON.parse(refused.stderr) as { error: { reason: string } }).error.reason, 'TEMPORAL_UNREACHABLE');
  const mute = createServer(() => undefined).listen(0, '127.0.0.1');
  const address = await new Promise<string>((resolve) =>
    mute.once('listening', () => resolve(`127.0.0.1:${(mute.address() as { port: number }).port}`)),
  );
  try {
    const { exit, stderr } = await vmflow({ TEMPORAL_ADDRESS: address }, 'template', 'list');
    assert.equal(exit, 7);
    assert.match(stderr, new RegExp(`Temporal at ${address} isn't reachable`));
  } finally {
    mute.close();
  }
});

test('a server without TLS is told as unreachable when TLS is wanted', async () => {
  const { exit, stderr } = await vmflow(
    { TEMPORAL_ADDRESS: temporal.address, TEMPORAL_TLS: 'true' },
    'template',
    'list',
  );
  assert.equal(exit, 7, stderr);
});
