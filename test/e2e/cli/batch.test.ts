import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { outputSchema, type OutputKind } from '../../../client/output/schemas.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { BatchUnderTest } from '../../support/batch-scenario.ts';
import { waitFor } from '../../support/wait-for.ts';
import { vmflow, type ProcessResult } from './run-process.ts';

/** Chooses the project by the size of the VM. */
const byCpus = "function placement(instance) { set_project(instance.cpus > 2 ? 'p2' : 'default'); }";

describe('batches from the command line', () => {
  let rig: BatchRig;
  before(async () => {
    rig = await BatchRig.start({ ownSource: true, ownTemporal: true });
    rig.incus.addProject('p2', { 'features.networks': 'false', 'features.storage.volumes': 'true' });
  });
  after(() => rig.stop());

  async function cli(...argv: readonly string[]): Promise<ProcessResult> {
    return await vmflow(
      {
        TEMPORAL_ADDRESS: rig.temporal.address,
        TEMPORAL_NAMESPACE: rig.temporal.namespace,
        VMFLOW_TASK_QUEUE: rig.taskQueue,
        VMFLOW_ACK_TIMEOUT: '60s',
      },
      ...argv,
    );
  }

  /** A command that is to succeed; what it prints on standard output. */
  async function good(...argv: readonly string[]): Promise<string> {
    const { exit, stdout, stderr } = await cli(...argv);
    assert.equal(exit, 0, `${argv.join(' ')}: ${stderr}`);
    return stdout;
  }

  async function document<Shape = unknown>(kind: OutputKind, ...argv: readonly string[]): Promise<Shape> {
    const found: unknown = JSON.parse(await good(...argv, '-o', 'json'));
    const checked = outputSchema(kind).safeParse(found);
    assert.ok(checked.success, checked.error?.message);
    return found as Shape;
  }

  /** A batch file beside the configuration. */
  async function file(batch: BatchUnderTest, more = ''): Promise<string> {
    const path = join(rig.dir, `${batch.name}.yaml`);
    const content = `name: ${batch.name}
include_expression: location startsWith '${batch.folder}/'
config:
  background_sync_interval: 1m
  final_background_sync_limit: 1m
${more}`;
    await writeFile(path, content);
    return path;
  }

  /** A command that was printed, as the shell would take it. */
  async function pasted(command: string): Promise<ProcessResult> {
    const [program, ...argv] = command.trim().split(/ +/);
    assert.equal(program, 'vmflow');
    return await cli(...argv);
  }

  test('from the file to Finished with the commands that are printed', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('whole');
    const path = await file(batch);

    type Reached = { items: { name: string; connectivity: string }[] };
    const sources = await document<Reached>('SourceList', 'source', 'list');
    assert.deepEqual(
      sources.items.map(({ name, connectivity }) => [name, connectivity]),
      [[rig.source, 'OK']],
    );
    const targets = await document<Reached>('TargetList', 'target', 'list');
    assert.deepEqual(
      targets.items.map(({ name, connectivity }) => [name, connectivity]),
      [['tgt', 'OK']],
    );
    const filter = ['--filter', `name == '${vm.name}'`];
    const vms = await document<{ items: unknown[] }>('SourceVmList', 'source', 'vms', rig.source, ...filter);
    assert.equal(vms.items.length, 1);
    assert.match(await good('source', 'sync', rig.source), /VMs, \d+ networks/);

    type Planned = { planned: { name: string; target: string }[] };
    const { planned } = await document<Planned>('BatchPlan', 'batch', 'plan', '-f', path);
    assert.deepEqual(
      planned.map(({ name, target }) => [name, target]),
      [[vm.name, 'tgt']],
    );
    assert.match(await good('batch', 'apply', '-f', path), new RegExp(`^batch ${batch.name} created: 1 VMs\n`));
    const again = await document<{ result: string }>('BatchApplied', 'batch', 'apply', '-f', path);
    assert.equal(again.result, 'unchanged');
    await document('BatchList', 'batch', 'list');

    const started = await good('batch', 'start', batch.name);
    assert.match(started, /: 1 VMs queued\n/);
    const watch = / {2}watch {3}(vmflow .*)\n/.exec(started)?.[1] ?? assert.fail(started);
    const watched = await pasted(watch);
    assert.equal(watched.exit, 0, watched.stderr);
    assert.match(watched.stdout, /Finished/);
    await vm.assertSameDisks();

    const entry = await document<{ phase: string; timeline: unknown[] }>('QueueEntry', 'queue', 'get', vm.name);
    assert.equal(entry.phase, 'Finished');
    assert.ok(entry.timeline.length > 5);
    assert.equal(await good('queue', 'list', '--batch', batch.name, '-o', 'name'), `${vm.name}\n`);
    assert.match(await good('batch', 'get', batch.name, '--members'), new RegExp(`${vm.name} .*finished`));
    const refused = await cli('queue', 'cancel', vm.name, '-o', 'json');
    assert.equal(refused.exit, 5);
    assert.match(refused.stderr, /it is finished/);
  });

  test('a conflict is decided with the printed commands alone', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('decide');
    const path = await file(batch, `  placement_scriptlet: |\n    ${byCpus}\n`);
    const held = vm.holdFinalCopy();
    await good('batch', 'apply', '-f', path);
    await good('batch', 'start', batch.name);
    await vm.isInFinalCopy();
    await rig.control.changeVm(vm.ref, { cpus: 4 });
    const waiting = cli('queue', 'watch', vm.name);
    held.release();
    assert.equal((await waiting).exit, 5, 'watching ends where a person has to decide');

    const explained = await good('queue', 'explain', vm.name);
    assert.match(explained, /project = p2 +placement program/);
    const shown = await good('queue', 'get', vm.name);
    assert.match(shown, /CONFLICT .*\n {2}reason {2}PLACEMENT_CHANGED/);
    const recheck = /(vmflow queue resolve \S+ --decision recheck)/.exec(shown)?.[1] ?? assert.fail(shown);
    const again = await pasted(recheck);
    assert.equal(again.exit, 5, 'nothing was changed, so it is the same conflict again');
    await rig.control.changeVm(vm.ref, { cpus: 1 });
    const done = await pasted(`${recheck} --wait`);
    assert.equal(done.exit, 0, done.stderr);
    assert.match(done.stdout, /Finished/);
  });

  test('canceled with its target, then begun anew', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('again');
    const path = await file(batch);
    await good('batch', 'apply', '-f', path);
    const held = vm.holdFinalCopy();
    await good('batch', 'start', batch.name);
    await vm.isInFinalCopy();
    const unconfirmed = await cli('queue', 'cancel', vm.name, '--cleanup', '--yes');
    assert.equal(unconfirmed.exit, 2);
    const cancelled = await cli('queue', 'cancel', vm.name, '--cleanup', '--yes', '--confirm', vm.name, '--wait');
    held.release();
    assert.equal(cancelled.exit, 8, cancelled.stderr);
    assert.equal(vm.target, undefined);
    assert.equal(await vm.power(), 'poweredOn');
    const retried = await cli('queue', 'retry', vm.name, '--wait');
    assert.equal(retried.exit, 0, retried.stderr);
    await vm.assertSameDisks();
  });

  test('mistakes are shown with their line, by the command line and by the workers', async () => {
    const batch = await rig.batch();
    await batch.vm('lines');
    const path = await file(batch, '  retries: 5\n');
    const unknown = await cli('batch', 'plan', '-f', path);
    assert.equal(unknown.exit, 2);
    assert.match(unknown.stderr, new RegExp(`${path}:6:3 {2}config\\.retries: is no field`));
    await writeFile(path, `name: ${batch.name}\ninclude_expression: >-\n  nosuch == 1\n`);
    for (const verb of ['plan', 'apply']) {
      const { exit, stderr } = await cli('batch', verb, '-f', path);
      assert.equal(exit, 2, verb);
      assert.match(stderr, new RegExp(`${path}:3:3 {2}include_expression: unknown name "nosuch"`), verb);
    }
    assert.equal((await cli('batch', 'get', batch.name)).exit, 3, 'nothing of it stays');
  });

  test("a VM that can't migrate is told by the plan, which ends with 5", async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('noaddress', { ips: [] });
    const { exit, stdout } = await cli('batch', 'plan', '-f', await file(batch));
    assert.equal(exit, 5);
    assert.match(stdout, new RegExp(`blocked .*${vm.name}: no NIC has an IPv4 address`));
  });

  test('stop, reset and delete', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('reset', { ips: [] });
    await good('batch', 'apply', '-f', await file(batch));
    await good('batch', 'start', batch.name);
    await vm.becomes('Blocked');
    await good('batch', 'stop', batch.name);
    assert.match(await good('batch', 'get', batch.name), /Stopped since/);
    await good('batch', 'resume', batch.name);
    const running = await cli('batch', 'delete', batch.name, '--yes', '-o', 'json');
    assert.equal(running.exit, 5, 'a running batch is stopped first');
    await good('batch', 'reset', batch.name, '--yes', '--confirm', batch.name);
    assert.match(await good('batch', 'get', batch.name), /Defined since/);
    await good('batch', 'delete', batch.name, '--yes');
    await waitFor('the batch to be gone', async () => (await cli('batch', 'get', batch.name)).exit === 3);
  });

  test('what an entry leaves at the target is told by orphans list', async () => {
    const batch = await rig.batch();
    const vm = await batch.vm('left');
    const held = vm.holdFinalCopy();
    await good('batch', 'apply', '-f', await file(batch));
    await good('batch', 'start', batch.name);
    await vm.isInFinalCopy();
    const cancelled = await cli('queue', 'cancel', vm.name, '--wait');
    held.release();
    assert.equal(cancelled.exit, 8, cancelled.stderr);
    await good('queue', 'delete', vm.name, '--yes');
    await waitFor('the entry to be gone', async () => {
      const { items } = await document<{ items: { name: string; why: string }[] }>('OrphanList', 'orphans', 'list');
      const found = items.find(({ name }) => name === vm.name);
      return found?.why === 'no entry stands behind it';
    });
  });

  test('without a worker it says so and changes nothing', async () => {
    const batch = await rig.batch();
    const path = await file(batch, '');
    const env = {
      TEMPORAL_ADDRESS: rig.temporal.address,
      TEMPORAL_NAMESPACE: rig.temporal.namespace,
      VMFLOW_TASK_QUEUE: `${rig.taskQueue}-nobody`,
      VMFLOW_ACK_TIMEOUT: '1s',
    };
    const { exit, stderr } = await vmflow(env, 'batch', 'plan', '-f', path);
    assert.equal(exit, 6);
    assert.match(stderr, /is a worker running/);
  });
});
