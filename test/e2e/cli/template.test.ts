import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { password, Rig, type Scenario } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';
import { cliEntry, cliEnvironment, vmflow, type ProcessResult } from './run-process.ts';

let rig: Rig;
let ova: BuiltOva;
const printed: string[] = [];
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova();
});
after(() => rig.stop());

function environment(): Record<string, string> {
  return {
    TEMPORAL_ADDRESS: rig.temporal.address,
    TEMPORAL_NAMESPACE: rig.temporal.namespace,
    VMFLOW_TASK_QUEUE: rig.taskQueue,
    VMFLOW_ACK_TIMEOUT: '60s',
  };
}

async function cli(...argv: readonly string[]): Promise<ProcessResult> {
  const result = await vmflow(environment(), ...argv);
  printed.push(result.stdout, result.stderr);
  return result;
}

/** A template of its own name: visibility is shared with whoever uses this Temporal. */
async function oldTemplate(): Promise<{ scenario: Scenario; name: string; placement: string[] }> {
  const scenario = await rig.scenario();
  const name = `cli-${randomBytes(4).toString('hex')}`;
  await scenario.template(name, '416.94.1');
  const placement = [
    ...['--vcenter', 'main', '--datacenter', 'DC0', '--cluster', 'DC0_C0', '--datastore', 'LocalDS_0'],
    ...['--network', 'VM Network', '--folder', scenario.folder],
  ];
  return { scenario, name, placement };
}

/** Digest and version as known, so that nothing is asked. */
function known(version = '417.94.2'): string[] {
  return ['--ova', ova.path, '--sha256', ova.sha256, '--version', version];
}

function json(
  result: ProcessResult,
): Record<string, never> & { phase: string; next: string[]; result: { outcome: string } } {
  return JSON.parse(result.stdout) as ReturnType<typeof json>;
}

function stallUploads(): () => void {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 1024, times: Infinity, until });
  return release;
}

async function reaches(name: string, phase: string): Promise<void> {
  await waitFor(
    `${name} to be ${phase}`,
    async () => json(await cli('template', 'get', name, '-o', 'json')).phase === phase,
    { intervalMs: 200 },
  );
}

/** What Temporal lists follows what happens after a moment. */
async function lists(row: RegExp, ...argv: readonly string[]): Promise<void> {
  await waitFor('the row', async () => {
    assert.match((await cli('template', 'list', ...argv)).stdout, row);
    return true;
  });
}

test('doctor finds everything in place', async () => {
  const { exit, stdout } = await cli('doctor');
  assert.match(stdout, /worker answers +ok +build /);
  assert.match(stdout, /main: log in +ok/);
  // The stack has endpoints that are wrong on purpose, and no Web UI here.
  assert.notEqual(exit, 0);
});

test('template/1 an update by name and OVA alone: the worker reads digest and version, the rest is remembered', async () => {
  const { scenario, name, placement } = await oldTemplate();
  const first = await cli('template', 'update', name, '--ova', ova.path, ...placement, '--wait', '-o', 'json');
  assert.equal(first.exit, 0, first.stderr);
  assert.equal(json(first).result.outcome, 'swapped');
  assert.match(first.stderr, new RegExp(`version 417\\.94\\.2, sha256 ${ova.sha256}`));
  assert.deepEqual(
    (await scenario.inventory()).map((vm) => [vm.name, vm.version]),
    [[name, '417.94.2']],
  );
  const second = await cli('template', 'update', name, '--ova', ova.path, '--wait');
  assert.equal(second.exit, 0, second.stderr);
  assert.match(second.stdout, /result {2}noop/);
  await lists(
    new RegExp(`${name} +main +417\\.94\\.2 +- +Completed`),
    '--vcenter',
    'main',
    '--folder',
    scenario.folder,
  );
});

test('template/34 conflict, resolve, finished: with the printed commands alone', async () => {
  const { scenario, name, placement } = await oldTemplate();
  const temp = json(
    await cli('template', 'update', name, ...known(), ...placement, '--dry-run', '-o', 'json'),
  ) as unknown as {
    names: { temp: string };
  };
  await rig.vcsim.control.createVm({ name: temp.names.temp, folder: scenario.folder, poweredOn: false });
  const started = await cli('template', 'update', name, ...known(), ...placement, '--wait');
  assert.equal(started.exit, 5, started.stderr);
  assert.match(started.stdout, /CONFLICT since/);
  const command = /(template resolve \S+ --decision destroy-foreign)/.exec(started.stdout)?.[1];
  assert.ok(command, started.stdout);
  const resolved = await cli(...command.split(' '), '--reason', 'a left-over of a test', '--wait', '-o', 'json');
  assert.equal(resolved.exit, 0, resolved.stderr);
  assert.equal(json(resolved).result.outcome, 'swapped');
});

test('template/35 template/36 another target is refused, --supersede wins, cancel cleans up', async () => {
  const { scenario, name, placement } = await oldTemplate();
  const release = stallUploads();
  try {
    assert.equal((await cli('template', 'update', name, ...known(), ...placement)).exit, 0);
    await reaches(name, 'Importing');
    const same = await cli('template', 'update', name, ...known(), ...placement);
    assert.match(same.stdout, /already in progress/);
    const refused = await cli('template', 'update', name, ...known('418.0.0'), ...placement);
    assert.equal(refused.exit, 5);
    assert.match(refused.stderr, /is being updated to 417\.94\.2/);
    const superseded = await cli('template', 'update', name, ...known('418.0.0'), ...placement, '--supersede');
    assert.equal(superseded.exit, 0, superseded.stderr);
    const cancelled = await cli('template', 'cancel', name, '--wait', '--timeout', '60s');
    assert.equal(cancelled.exit, 8, cancelled.stderr + cancelled.stdout);
    assert.deepEqual(
      (await scenario.inventory()).map((vm) => vm.name),
      [name],
    );
  } finally {
    release();
  }
});

test('killing the command line changes nothing; the printed command picks up', async () => {
  const { name, placement } = await oldTemplate();
  const release = stallUploads();
  const argv = ['template', 'update', name, ...known(), ...placement, '--wait'];
  const child = spawn(process.execPath, [cliEntry, ...argv], {
    env: cliEnvironment(environment()),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  try {
    await waitFor('progress', () => stderr.includes('running import under the temp name'));
    child.kill('SIGKILL');
  } finally {
    release();
  }
  const { exit, stdout } = await cli('template', 'watch', name, '-o', 'jsonl');
  assert.equal(exit, 0);
  assert.equal((JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as { phase: string }).phase, 'Completed');
});

test('template/44 a kept previous version is brought back by name', async () => {
  const { scenario, name, placement } = await oldTemplate();
  const [old] = await scenario.inventory();
  const kept = await cli('template', 'update', name, ...known(), ...placement, '--keep', '1h', '--wait');
  assert.equal(kept.exit, 0, kept.stderr);
  assert.match(kept.stdout, /416\.94\.1 can be brought back until/);
  assert.equal((await cli('template', 'rollback', name)).exit, 2);
  const undone = await cli('template', 'rollback', name, '--yes', '--confirm', name, '--wait');
  assert.equal(undone.exit, 0, undone.stderr);
  assert.match(undone.stdout, new RegExp(`^${name} {3}Undone`));
  assert.deepEqual(
    (await scenario.inventory()).map((vm) => vm.ref),
    [old?.ref],
  );
  assert.equal((await cli('template', 'prune', name, '--yes', '--confirm', name)).exit, 5);
});

test('what a cancelled update left is shown in its row, and pruned by name', async () => {
  const { scenario, name, placement } = await oldTemplate();
  const kept = await cli('template', 'update', name, ...known(), ...placement, '--keep', '1h', '--wait');
  assert.equal(kept.exit, 0, kept.stderr);
  assert.equal((await cli('template', 'cancel', name, '--wait')).exit, 0);
  assert.equal((await scenario.inventory()).length, 2);
  const columns = ['--columns', 'name,version,previous'];
  await lists(new RegExp(`\\n${name} +417\\.94\\.2 +416\\.94\\.1\\n$`), '--folder', scenario.folder, ...columns);

  const pruned = await cli('template', 'prune', name, '--yes', '--confirm', name, '--wait');
  assert.equal(pruned.exit, 0, pruned.stderr);
  assert.deepEqual(
    (await scenario.inventory()).map((vm) => [vm.name, vm.version]),
    [[name, '417.94.2']],
  );
});

test('template/4 a missing template without --create is not found, and the message names what was looked for', async () => {
  const { placement } = await oldTemplate();
  const name = `cli-${randomBytes(4).toString('hex')}`;
  const { exit, stdout } = await cli('template', 'update', name, ...known(), ...placement, '--wait');
  assert.equal(exit, 3, stdout);
  assert.match(stdout, new RegExp(`there is no template "${name}"`));
  assert.match(stdout, /--create/);
});

test('a vCenter whose certificate isn’t trusted shows its fingerprint', async () => {
  const { exit, stdout } = await cli('endpoint', 'check', 'wrong-thumbprint');
  assert.notEqual(exit, 0);
  assert.match(stdout, new RegExp(rig.proxy.sha256.slice(0, 20)));
});

test('template/29 a wrong password is told as such', async () => {
  const { exit, stdout } = await cli('endpoint', 'check', 'wrong-password');
  assert.equal(exit, 4, stdout);
});

test('an unknown vCenter is told before anything is changed', async () => {
  const { name, placement } = await oldTemplate();
  const { exit, stdout, stderr } = await cli(
    'template',
    'update',
    name,
    ...known(),
    ...placement,
    '--vcenter',
    'nope',
    '--wait',
  );
  assert.equal(exit, 2, stderr);
  assert.match(stdout, /VCENTER_UNKNOWN: no vCenter "nope" in the workers' configuration/);
});

test('template/37 a fleet with one bad datastore: one swapped, one failed, exit 9', async () => {
  const { scenario, name } = await oldTemplate();
  const other = await oldTemplate();
  const entry = (prodName: string, folder: string, datastore: string): object => ({
    vcenter: 'main',
    placement: { datacenter: 'DC0', cluster: 'DC0_C0', datastore, network: 'VM Network', folder },
    template: { prodName },
    source: { kind: 'file', path: ova.path, sha256: ova.sha256 },
    target: { version: '417.94.2' },
  });
  const templates = [
    entry(name, scenario.folder, 'LocalDS_0'),
    entry(other.name, other.scenario.folder, 'no-such-datastore'),
  ];
  const file = join(rig.dir, 'fleet.json');
  await writeFile(file, JSON.stringify({ requestId: name, templates }));
  const { exit, stdout, stderr } = await cli('template', 'fleet', '-f', file, '--wait', '-o', 'json');
  assert.equal(exit, 9, stderr);
  const { items } = JSON.parse(stdout) as { items: { outcome: string; error?: { message: string } }[] };
  assert.deepEqual(items.map(({ outcome }) => outcome).sort(), ['failed', 'swapped']);
  assert.match(stdout, /no-such-datastore/);
});

test('template/47 nothing that was printed holds the password', () => {
  assert.ok(printed.length > 20);
  assert.ok(!printed.join('').includes(password));
});
