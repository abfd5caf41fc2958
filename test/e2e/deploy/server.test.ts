import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import { bigDisk } from '../../support/ova-builder.ts';
import { assertNeverBoth, assertNoSlots, snapshotsOf } from '../../support/batch-invariants.ts';
import { BatchRig } from '../../support/batch-rig.ts';
import type { SourceVm } from '../../support/batch-scenario.ts';
import { assertClean, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import { Rig } from '../../support/rig.ts';
import { OperationHistory } from '../../support/operation-history.ts';
import { VmRig, type OperationUnderTest, type VmScenario } from '../../support/vm-rig.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { delayAnnotations } from '../../sim/vm-layer/switches.ts';
import { vmflow } from '../cli/run-process.ts';
import { compose, type Composed } from './composed.ts';
import { writeConfiguration } from './one-configuration.ts';

const lasting = ['postgres', 'temporal', 'temporal-ui', 'control', 'transfer', 'bridge'];
const oneShots = ['temporal-schema', 'bootstrap'];
/** The transfer worker last: the upload has to be under way in all of it. */
const victims = ['postgres', 'temporal', 'control', 'bridge', 'transfer'] as const;
const [old, wanted] = ['416.94.1', '417.94.2'];
const mebi = 1024 * 1024;
/** The upload outlasts everything that is killed meanwhile. */
const slowUpload = 16 * 1024;
const longMs = 3 * patienceMs;

/** PostgreSQL, Temporal's server and Web UI as they are released, our image's files: started as the compose file says. */
describe('the profile server', () => {
  let composed: Composed;
  let templates: Rig;
  let machines: VmRig;
  let batches: BatchRig;
  let env: Readonly<Record<string, string>>;

  before(async () => {
    composed = await compose('server');
    await composed.project.up('temporal-ui', 'bootstrap');
    const address = `${composed.project.address('temporal')}:7233`;
    env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'vmflow', VMFLOW_UI_URL: uiUrl() };
    process.env['VMFLOW_TEST_TEMPORAL'] = address; // the rigs' is this one
    const outside = { noWorkers: true, taskQueue: 'vmflow' } as const;
    [templates, machines, batches] = await Promise.all([
      Rig.start(outside),
      VmRig.start(outside),
      BatchRig.start(outside),
    ]);
    await writeConfiguration(
      composed,
      [
        { configPath: templates.configPath, password: templates.vcsim.password },
        machines,
        { configPath: batches.configPath, password: batches.vcsim.password },
      ],
      { cacheDir: '/var/cache/vmflow', history: { file: '/var/lib/vmflow/history.jsonl', everyMs: 2_000 } },
    );
    await composed.project.up();
  });
  after(async () => {
    await composed.remove();
    await Promise.all([templates.stop(), machines.stop(), batches.stop()]);
  });

  const uiUrl = (): string => `http://${composed.project.address('temporal-ui')}:8233`;
  const starts = (): Readonly<Record<string, number>> =>
    Object.fromEntries([...lasting, ...oneShots].map((name) => [name, composed.project.service(name).starts]));
  const once = Object.fromEntries([...lasting, ...oneShots].map((name) => [name, 1]));

  test('comes up in one go: everybody waited for what he needs', () => {
    assert.deepEqual(starts(), once);
  });

  test('is set up once: schema and bootstrap change nothing when they run again', async () => {
    for (const name of oneShots) await composed.project.again(name);
    const { project } = composed;
    assert.match(project.service('temporal-schema').output(), /Skip version upgrade/);
    assert.match(project.service('bootstrap').output(), /^namespace +vmflow +present +present, retention 30 d$/m);
    assert.doesNotMatch(project.service('bootstrap').output(), /missing|different/);
  });

  test('is found as it should be by the command line outside', async () => {
    const { exit, stdout, stderr } = await vmflow(env, 'doctor');
    assert.equal(exit, 0, stdout + stderr);
  });

  test('PostgreSQL, Temporal, workers and bridge are killed in turn: everything finishes, nothing happens twice', async (t) => {
    const scenario = await templates.scenario();
    const previous = await scenario.template(scenario.names.prod, old);
    const poller = await scenario.poller(undefined, 20);
    const upload = templates.proxy.addNfcRule({ action: 'throttle', bytesPerSecond: slowUpload, times: Infinity });
    const ova = await scenario.ova(wanted, { disks: [bigDisk(8 * mebi, 'pattern')] });
    const swap = await scenario.start({ version: wanted, ova });
    const isUploading = async (): Promise<boolean> =>
      (await templates.vcsim.control.transfers()).some(({ bytes, done }) => bytes > 0 && !done);
    await waitFor('the upload', isUploading);

    const vms = await machines.scenario();
    const history = new OperationHistory(vms);
    const rounds: Round[] = [];
    for (const victim of victims) {
      assert.ok(await isUploading(), `the upload is under way when ${victim} is killed`);
      if (victim === 'transfer') upload.remove();
      rounds.push(await killDuring(victim, vms));
      t.diagnostic(`${victim} is back; starts: ${JSON.stringify(starts())}`);
    }

    const result = await swap.result();
    await poller.stop();
    assert.deepEqual([result.outcome, result.previous?.moRef], ['swapped', previous]);
    const changes = templates.proxy
      .mutating()
      .map(({ method }) => method)
      .filter((method) => method === 'Rename_Task' || method === 'ImportVApp');
    // The import of the worker that was killed in it is begun anew.
    assert.deepEqual(changes, ['ImportVApp', 'ImportVApp', 'Rename_Task', 'Rename_Task']);
    // The lease of the killed worker's session: a real server ends it after some minutes, the simulator never does.
    await templates.vcsim.control.abortLeases();
    assert.deepEqual(poller.owners(), [previous, await assertClean(scenario, wanted)]);
    assertOnlyGood(poller, old, wanted);
    assertNeverLost(poller);

    for (const round of rounds) await hasEndedOnce(round, vms);
    history.stop();
    assert.deepEqual(history.problems, []);
    await noneFailed();
    for (const [name, count] of Object.entries(starts()))
      if (oneShots.includes(name)) assert.equal(count, 1, `${name} ran again`);
  });

  interface Round {
    readonly victim: string;
    readonly restart: OperationUnderTest;
    readonly start: OperationUnderTest;
    readonly vm: SourceVm;
  }

  /** A restart and a migration are under way, and a start is asked for while the victim is away. */
  async function killDuring(victim: (typeof victims)[number], vms: VmScenario): Promise<Round> {
    const { project } = composed;
    await vms.vm(`up-${victim}`, { running: true, annotations: { [delayAnnotations.guestShutdownDelay]: '3s' } });
    await vms.vm(`off-${victim}`, { runPolicy: 'Manual' });
    const batch = await batches.batch();
    const vm = await batch.vm(victim);
    await batch.apply();
    await batch.start();
    const restart = await vms.op('Restart', `up-${victim}`, { unseen: true, name: `restart-${victim}` });
    await restart.inProgress();
    assert.notEqual((await vm.view()).status, 'Finished');

    let comeBack = (): void => undefined;
    await project.service(victim).kill(new Promise<void>((resolve) => (comeBack = resolve)));
    const start = await vms.op('Start', `off-${victim}`, { unseen: true, name: `start-${victim}` });
    comeBack();
    await project.becomesHealthy(victim);
    return { victim, restart, start, vm };
  }

  async function hasEndedOnce({ victim, restart, start, vm }: Round, { namespace }: VmScenario): Promise<void> {
    assert.equal(await restart.ends(longMs), 'Completed/OperationCompleted', `the restart when ${victim} was killed`);
    assert.equal(await start.ends(longMs), 'Completed/OperationCompleted', `the start when ${victim} was killed`);
    const instances = (name: string): number => machines.layer.instancesOf(namespace, name).length;
    assert.deepEqual([instances(`up-${victim}`), instances(`off-${victim}`)], [2, 1], victim);

    await vm.becomes('Finished', undefined, longMs);
    await vm.assertSameDisks();
    assert.deepEqual([vm.target?.status, await vm.power()], ['Running', 'poweredOff']);
    assert.equal(batches.incus.journal.events('instance-created', vm.name).length, 1);
    assert.deepEqual(await snapshotsOf(vm), []);
    await assertNeverBoth(vm);
    await assertNoSlots(batches, [vm]);
  }

  /** No run failed or was ended, and the record has each event once. */
  async function noneFailed(): Promise<void> {
    const ended: string[] = [];
    const query =
      "ExecutionStatus != 'Running' AND ExecutionStatus != 'Completed' AND ExecutionStatus != 'ContinuedAsNew'";
    for await (const { workflowId, status } of templates.client.workflow.list({ query }))
      ended.push(`${workflowId}: ${status.name}`);
    assert.deepEqual(ended, []);
    const file = join(composed.dir, 'volumes/record/history.jsonl');
    const records = await waitFor('the swap in the record', async () => {
      const lines = (await readFile(file, 'utf8')).trim().split('\n');
      const all = lines.map((line) => JSON.parse(line) as { id: string; kind: string; action: string });
      return all.some(({ kind, action }) => kind === 'template-swap' && action === 'completed') && all;
    });
    const ids = records.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
  }

  test('the Web UI shows what was done', async () => {
    const page = await request(uiUrl());
    assert.deepEqual([page.statusCode, /<html/.test(await page.body.text())], [200, true]);
    const { statusCode, body } = await request(`${uiUrl()}/api/v1/namespaces/vmflow/workflows`);
    assert.equal(statusCode, 200);
    const { executions } = (await body.json()) as { executions: { type: { name: string } }[] };
    const types = new Set(executions.map(({ type }) => type.name));
    for (const type of ['templateSwap', 'vmOperation', 'migration', 'batch']) assert.ok(types.has(type), type);
  });
});
