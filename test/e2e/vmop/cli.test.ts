import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ApplicationFailure, WorkflowUpdateFailedError } from '@temporalio/client';
import { stringify } from 'yaml';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { outputSchema, type OutputKind } from '../../../client/output/schemas.ts';
import { vmCoordinatorId } from '../../../workflows/contracts/ids.ts';
import type { OperationInput, VmopSpec } from '../../../workflows/contracts/vmop.ts';
import { delayAnnotations, switches } from '../../sim/vm-layer/switches.ts';
import { VmRig, type VmScenario } from '../../support/vm-rig.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startWorker } from '../../support/workers.ts';
import { cliEntry, cliEnvironment, vmflow, type ProcessResult } from '../cli/run-process.ts';

/** A guest that does nothing when it is asked to shut down. */
const hangs = { running: true, terminationGracePeriodSeconds: 600, annotations: { [switches.ignoreShutdown]: 'true' } };

interface Item {
  readonly name: string;
  readonly phase: string;
  readonly result: string;
  readonly operation?: { readonly name: string; readonly uid: string };
  readonly supersededBy?: { readonly name: string };
}

describe('VM operations from the command line', () => {
  let rig: VmRig;
  before(async () => {
    rig = await VmRig.start();
  });
  after(async () => await rig.stop());

  function environment(): Record<string, string> {
    const { address, namespace } = rig.temporal;
    return {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      VMFLOW_TASK_QUEUE: rig.taskQueue,
      VMFLOW_ACK_TIMEOUT: '60s',
    };
  }

  /** The command line with the scenario's namespace as its default. */
  function run(scenario: VmScenario, ...argv: readonly string[]): Promise<ProcessResult> {
    return vmflow({ ...environment(), VMFLOW_KUBE_NAMESPACE: scenario.namespace }, ...argv);
  }

  /** One document, valid by its published schema. */
  async function json(
    scenario: VmScenario,
    kind: OutputKind,
    ...argv: readonly string[]
  ): Promise<Record<string, unknown>> {
    const { exit, stdout, stderr } = await run(scenario, ...argv, '-o', 'json');
    assert.equal(exit, 0, stderr);
    const document = JSON.parse(stdout) as Record<string, unknown>;
    const checked = outputSchema(kind).safeParse(document);
    assert.ok(checked.success, checked.error?.message);
    return document;
  }

  async function operations(scenario: VmScenario): Promise<readonly Item[]> {
    return (await json(scenario, 'OperationList', 'op', 'list'))['items'] as readonly Item[];
  }

  /** Starts a command and doesn't wait for its end. */
  function begin(scenario: VmScenario, ...argv: readonly string[]) {
    const env = cliEnvironment({ ...environment(), VMFLOW_KUBE_NAMESPACE: scenario.namespace });
    const child = spawn(process.execPath, [cliEntry, ...argv], { env });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? -1)));
    return { ended, output: () => output, interrupt: () => child.kill('SIGINT') };
  }

  test('vmop/A41 a waiting stop that a colleague’s forced stop takes over ends with 8 and names it', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', hangs);
    const mine = begin(scenario, 'stop', 'a', '--wait');
    await waitFor('the stop to hang', () => mine.output().includes('running wait for the proof'));
    const colleague = await scenario.op('Stop', 'a', { force: true, name: 'colleague-stops' });
    assert.equal(await mine.ended, 8);
    assert.match(mine.output(), /Superseded by colleague-stops \(Stop, forced\)/);
    assert.match(mine.output(), /next {4}vmflow op get colleague-stops/);
    assert.equal(await colleague.ends(), 'Completed/OperationCompleted');
  });

  test('case/01 an operation that was overtaken is Superseded with supersededBy, in lists, by itself and on its VM', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', hangs);
    const [first] = (await json(scenario, 'OperationRequestList', 'stop', 'a'))['items'] as readonly Item[];
    const forced = await run(scenario, 'stop', 'a', '--force', '--yes', '--wait');
    assert.equal(forced.exit, 0, forced.stderr);
    const [newest, oldest] = await operations(scenario);
    assert.deepEqual([newest?.phase, oldest?.phase, oldest?.name], ['Completed', 'Superseded', first?.operation?.name]);
    assert.equal(oldest?.supersededBy?.name, newest?.name);
    const one = await json(scenario, 'Operation', 'op', 'get', oldest?.name ?? '');
    assert.deepEqual([one['phase'], (one['supersededBy'] as Item).name], ['Superseded', newest?.name]);
    const vm = await json(scenario, 'VirtualMachine', 'vm', 'get', 'a');
    assert.deepEqual(
      [vm['phase'], (vm['operations'] as readonly Item[]).map(({ phase }) => phase)],
      ['Stopped', ['Completed', 'Superseded']],
    );
    assert.equal((await run(scenario, 'op', 'watch', oldest?.name ?? '')).exit, 8);
  });

  test('case/03 --force reaches the object, the workflow and the calls; without it, it is absent', async () => {
    const scenario = await rig.scenario();
    for (const [vm, type, force] of [
      ['stop-plain', 'Stop', false],
      ['stop-forced', 'Stop', true],
      ['restart-plain', 'Restart', false],
      ['restart-forced', 'Restart', true],
    ] as const) {
      await scenario.vm(vm, { running: true });
      const flags = force ? ['--force', '--yes'] : [];
      const { exit, stdout, stderr } = await run(scenario, type.toLowerCase(), vm, ...flags, '--wait', '-o', 'json');
      assert.equal(exit, 0, stderr);
      const [item] = (JSON.parse(stdout) as { items: readonly Item[] }).items;
      const { name = '', uid = '' } = item?.operation ?? {};
      const object = await rig.admin.get(resources.vmop, scenario.namespace, name);
      const wanted = { type, virtualMachineName: vm, ...(force ? { force } : {}) };
      assert.deepEqual(object?.spec, wanted);
      const history = await rig.client.workflow.getHandle(`vmop/${scenario.namespace}/${uid}`).fetchHistory();
      const payload = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
      const input = JSON.parse(Buffer.from(payload ?? []).toString()) as OperationInput;
      assert.equal(input.op.force, force ? true : undefined);
      const cuts = (await scenario.writes({ resource: resources.instance.plural, verb: 'patch' })).filter(
        (event) => event.name === vm && JSON.stringify(event.request).includes('terminationGracePeriodSeconds'),
      );
      assert.equal(cuts.length, force ? 1 : 0, vm);
    }
  });

  test('case/11 what is invalid or against the rules is refused alike through the command line and a bare client', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', hangs);
    await scenario.vm('b', { runPolicy: 'AlwaysOn' });
    assert.equal((await run(scenario, 'stop', 'a')).exit, 0);
    const wrong: readonly [string, VmopSpec, number][] = [
      ['a forced start', { type: 'Start', force: true, virtualMachineName: 'a' }, 2],
      ['a start over a stop', { type: 'Start', virtualMachineName: 'a' }, 5],
      ['a stop that the run policy forbids', { type: 'Stop', virtualMachineName: 'b' }, 5],
      ['a restore without its block', { type: 'Restore', virtualMachineName: 'b' }, 2],
    ];
    for (const [what, { virtualMachineName, ...spec }, exit] of wrong) {
      const bare = await refusalOf(scenario.request(virtualMachineName, spec, { name: 'wrong' }));
      const file = join(rig.dir, 'wrong.yaml');
      await writeFile(
        file,
        stringify({
          apiVersion: 'virtualization.deckhouse.io/v1alpha2',
          kind: 'VirtualMachineOperation',
          metadata: { name: 'wrong' },
          spec: { ...spec, virtualMachineName },
        }),
      );
      const cli = await run(scenario, 'op', 'create', '-f', file, '-o', 'json');
      assert.equal(cli.exit, exit, `${what}: ${cli.stderr}`);
      const { error } = JSON.parse(cli.stderr) as { error: { message: string; reason: string } };
      assert.ok(error.message.includes(bare.message), `${what}: "${error.message}" isn't "${bare.message}"`);
      assert.equal(error.reason, bare.code, what);
    }
  });

  test('case/19 starts of a VM that shows Stopped before Starting make one object, and all succeed', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { runPolicy: 'Manual', annotations: { [delayAnnotations.startDelay]: '10m' } });
    const [first, second] = await Promise.all([run(scenario, 'start', 'a'), run(scenario, 'start', 'a')]);
    assert.deepEqual([first.exit, second.exit], [0, 0], first.stderr + second.stderr);
    assert.match(first.stdout + second.stdout, /Start requested/);
    assert.match(first.stdout + second.stdout, /Start is already in progress/);
    assert.equal((await scenario.operations()).length, 1);
    await scenario.annotate('a', { [delayAnnotations.startDelay]: undefined });
    await scenario.vmIs('a', ({ phase }) => phase === 'Running');
    await waitFor('the start to be over', async () => (await scenario.operations())[0]?.isTerminal === true);
    const third = await run(scenario, 'start', 'a');
    assert.deepEqual([third.exit, third.stdout], [0, `${scenario.namespace}/a: already so, it is Running\n`]);
    assert.equal((await scenario.operations()).length, 1);
  });

  test('a dry run says what would happen and writes nothing', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', hangs);
    const stop = await scenario.op('Stop', 'a');
    await stop.inProgress();
    const before = (await scenario.writes()).length;
    const { exit, stdout } = await run(scenario, 'stop', 'a', '--force', '--dry-run');
    assert.equal(exit, 0);
    assert.match(stdout, new RegExp(`Stop, forced would be requested, taking over from ${stop.name} \\(dry run`));
    const refused = await run(scenario, 'start', 'a', '--dry-run');
    assert.equal(refused.exit, 5);
    const real = (await scenario.writes())
      .slice(before)
      .filter(({ dryRun, resource }) => !dryRun && resource !== 'events');
    assert.deepEqual(real, []);
    assert.equal((await scenario.operations()).length, 1);
  });

  test('what the rules refuse gives 5 and the one that is in the way, on standard error', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', hangs);
    const stop = await scenario.op('Stop', 'a', { force: true, name: 'first' });
    await rig.layer.freezeVm(scenario.namespace, 'a');
    const { exit, stdout, stderr } = await run(scenario, 'restart', 'a', '--force', '--yes');
    rig.layer.thawVm(scenario.namespace, 'a');
    await stop.ends();
    assert.deepEqual([exit, stdout], [5, '']);
    assert.match(stderr, /operation "first" \(Stop, forced\) is still active .*should finish first/);
    assert.match(stderr, new RegExp(`next {4}wait for it: vmflow op watch first -n ${scenario.namespace}`));
  });

  test('op cancel deletes a move and takes it back; waiting for it ends with 8', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true });
    assert.equal((await run(scenario, 'move', 'a', '--to', 'nowhere')).exit, 0);
    const [move] = await operations(scenario);
    const waiting = begin(scenario, 'op', 'watch', move?.name ?? '');
    await waitFor('the watch', () => waiting.output().includes('wait for the proof'));
    const { exit, stdout } = await run(scenario, 'op', 'cancel', move?.name ?? '', '--wait');
    assert.equal(exit, 8);
    assert.match(stdout, /cancelled: the operation was deleted/);
    assert.equal(await waiting.ended, 8);
    assert.deepEqual([await scenario.migrations(), await scenario.operations()], [[], []]);
    assert.equal((await run(scenario, 'op', 'get', move?.name ?? '')).exit, 3);
  });

  test('op abandon ends a forced restart that nothing may take over, as vm get says', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true });
    await scenario.annotate('a', { [switches.unschedulable]: 'true' });
    assert.equal((await run(scenario, 'restart', 'a', '--force', '--yes')).exit, 0);
    const [restart] = await operations(scenario);
    await waitFor('the restart to hang', async () =>
      (await run(scenario, 'vm', 'get', 'a')).stdout.includes(
        'yields  to nothing: it has to finish, or vmflow op abandon',
      ),
    );
    const { exit, stdout } = await run(scenario, 'op', 'abandon', restart?.name ?? '', '--reason', 'no node', '--wait');
    assert.equal(exit, 1);
    assert.match(stdout, /Failed, OperationFailed: abandoned by op: no node/);
    const [after] = await operations(scenario);
    assert.equal(after?.phase, 'Failed');
    const again = await run(scenario, 'op', 'abandon', restart?.name ?? '');
    assert.equal(again.exit, 0);
    assert.match(again.stderr, /nothing to abandon, it is over/);
  });

  test('--timeout gives 124, Ctrl-C gives 130; the work goes on and the printed command picks it up', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', {
      running: true,
      annotations: { [delayAnnotations.guestShutdownDelay]: '60m' },
      terminationGracePeriodSeconds: 7_200,
    });
    const late = await run(scenario, 'stop', 'a', '--wait', '--timeout', '1s');
    assert.equal(late.exit, 124);
    const [, again = ''] = /the work goes on: vmflow (op watch .*)\n/.exec(late.stderr) ?? assert.fail(late.stderr);
    const watch = begin(scenario, ...again.split(' '));
    await waitFor('the watch', () => watch.output().includes('wait for the proof'));
    watch.interrupt();
    assert.equal(await watch.ended, 130);
    assert.match(watch.output(), /watch {3}vmflow op watch .*\n {2}cancel {2}vmflow op cancel /);
    await scenario.annotate('a', { [delayAnnotations.guestShutdownDelay]: '0s' });
    const [, once = ''] = /watch {3}vmflow (op watch .*)\n/.exec(watch.output()) ?? [];
    assert.equal((await run(scenario, ...once.split(' '))).exit, 0);
  });

  test('a workflow that is terminated under a waiting command is no end', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', {
      running: true,
      annotations: { [delayAnnotations.guestShutdownDelay]: '60m' },
      terminationGracePeriodSeconds: 7_200,
    });
    const waiting = begin(scenario, 'stop', 'a', '--wait');
    await waitFor('the stop', () => waiting.output().includes('wait for the proof'));
    const [stop] = await scenario.operations();
    await rig.client.workflow.getHandle(`vmop/${scenario.namespace}/${stop?.ref.uid}`).terminate('by hand');
    await waitFor('the note', () => waiting.output().includes('ended from outside'));
    await scenario.annotate('a', { [delayAnnotations.guestShutdownDelay]: '0s' });
    const queue = { taskQueue: rig.taskQueue, workflowId: `sweep-${scenario.namespace}` };
    await waitFor(
      'the sweep to bring it back',
      async () =>
        ((await rig.client.workflow.execute('vmopSweep', { ...queue, args: [] })) as { resubmitted: number })
          .resubmitted > 0,
      { intervalMs: 500 },
    );
    assert.equal(await waiting.ended, 0);
  });

  test('many VMs: all are asked, different results give 9 and one row each', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true });
    await scenario.vm('b', { runPolicy: 'AlwaysOn' });
    const asked = await run(scenario, 'stop', '--all');
    assert.equal(asked.exit, 2);
    assert.match(asked.stderr, /stop 2 VMs: .*\/a, .*\/b: a confirmation is needed/);
    const { exit, stdout } = await run(scenario, 'stop', '--all', '--yes', '--wait', '-o', 'json');
    assert.equal(exit, 9);
    const { items } = JSON.parse(stdout) as { items: readonly Item[] };
    assert.deepEqual(
      items.map(({ result }) => result),
      ['completed', 'refused'],
    );
  });

  test('op create asks for several manifests in their order', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', hangs);
    const head = 'apiVersion: virtualization.deckhouse.io/v1alpha2\nkind: VirtualMachineOperation\n';
    const of = (name: string, spec: string): string =>
      `${head}metadata: { name: ${name}, namespace: ${scenario.namespace} }\nspec: { virtualMachineName: a, ${spec} }\n`;
    const file = join(rig.dir, 'two.yaml');
    await writeFile(file, `${of('plain', 'type: Stop')}---\n${of('hard', 'type: Stop, force: true')}`);
    const { exit, stderr } = await run(scenario, 'op', 'create', '-f', file, '--yes', '--wait');
    assert.equal(exit, 9, stderr);
    assert.match(stderr, /a: Superseded by hard/);
    const found = await scenario.operations();
    assert.deepEqual(found.map(({ ref, phase }) => [ref.name, ref.by, phase]).sort(), [
      ['hard', 'op', 'Completed'],
      ['plain', 'op', 'Completed'],
    ]);
  });

  test('names are found in all namespaces; two of one name are never chosen among', async () => {
    const [one, two] = [await rig.scenario(), await rig.scenario()];
    await one.vm('twin', { runPolicy: 'Manual' });
    await two.vm('twin', { runPolicy: 'Manual' });
    await two.vm('single', { runPolicy: 'Manual' });
    const ambiguous = await vmflow(environment(), 'start', 'twin');
    assert.equal(ambiguous.exit, 3);
    for (const { namespace } of [one, two]) assert.ok(ambiguous.stderr.includes(`${namespace}/twin`), ambiguous.stderr);
    const found = await vmflow(environment(), 'start', 'single');
    assert.deepEqual([found.exit, found.stdout.startsWith(`${two.namespace}/single: Start requested`)], [0, true]);
    assert.equal((await vmflow(environment(), 'start', 'nowhere')).exit, 3);
    assert.equal((await run(one, 'start', 'nowhere')).exit, 3);
    assert.equal((await run(one, 'vm', 'get', 'nowhere')).exit, 3);
  });

  test('the pages of the Web UI say what it is about and how to go on', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { runPolicy: 'Manual' });
    await run(scenario, 'start', 'a', '--wait', '--reason', 'needed');
    const page = await rig.client.workflow.getHandle(vmCoordinatorId(scenario.namespace, 'a')).describe();
    assert.equal(await page.staticSummary(), `operations on ${scenario.namespace}/a`);
    assert.match((await page.staticDetails()) ?? '', new RegExp(`vmflow vm get a -n ${scenario.namespace}`));
    const [start] = await operations(scenario);
    const opened = await run(scenario, 'open', 'op', start?.name ?? '', '--print');
    assert.match(opened.stdout, new RegExp(`/workflows/vmop%2F${scenario.namespace}%2F`));
    assert.match((await run(scenario, 'op', 'get', start?.name ?? '')).stdout, /by {6}op: needed\n/);
  });

  test('without a worker: a request is not acknowledged, a list shows what Temporal recorded', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { runPolicy: 'Manual' });
    const start = await run(scenario, 'start', 'a', '--wait');
    assert.equal(start.exit, 0, start.stderr);
    await rig.killWorkers();
    try {
      // It records after a moment.
      await waitFor('the row', async () => {
        const list = await run(scenario, 'op', 'list', '--ack-timeout', '1s');
        assert.equal(list.exit, 0, list.stderr);
        assert.match(list.stdout, /a-start-\w+ {2}Start {2}a {3}Completed/);
        assert.match(list.stderr, /this is what Temporal recorded/);
        return true;
      });
      const stop = await run(scenario, 'stop', 'a', '--ack-timeout', '1s');
      assert.equal(stop.exit, 6);
      assert.match(stop.stderr, new RegExp(`can't stop ${scenario.namespace}/a: sent, not yet acknowledged`));
    } finally {
      await rig.startWorker();
    }
    await waitFor('the stop that was sent', async () => (await scenario.operations()).length === 2);
  });

  test('workers without a cluster say that one has to be added, and have nothing to sweep', async () => {
    const configPath = join(rig.dir, 'no-cluster.yaml');
    await writeFile(configPath, '{}');
    const { address, namespace } = rig.temporal;
    const taskQueue = `${rig.taskQueue}-none`;
    const worker = await startWorker('control', { address, namespace, taskQueue, configPath });
    try {
      for (const argv of [
        ['vm', 'list'],
        ['op', 'list'],
      ]) {
        const { exit, stderr } = await vmflow(environment(), ...argv, '--task-queue', taskQueue);
        assert.equal(exit, 2, stderr);
        assert.match(stderr, /names no Kubernetes cluster\n {2}next {4}add a section "cluster:"/);
      }
      const sweep = { taskQueue, workflowId: taskQueue, args: [] };
      assert.deepEqual(await rig.client.workflow.execute('vmopSweep', sweep), {
        active: 0,
        resubmitted: 0,
        migrationsDeleted: 0,
      });
    } finally {
      await worker.stop();
    }
  });

  test('the cluster is an endpoint: listed, and checked', async () => {
    const list = await vmflow(environment(), 'endpoint', 'list');
    assert.match(list.stdout, /cluster {2}cluster {2}https:\/\/127\.0\.0\.1:\d+ {2}vmflow {2}ca\n/);
    const check = await vmflow(environment(), 'endpoint', 'check', 'cluster');
    assert.equal(check.exit, 0, check.stdout + check.stderr);
    assert.match(check.stdout, /permissions +ok +all that workers need/);
  });
});

/** How a bare client is refused: the failure's words and code. */
async function refusalOf(request: Promise<unknown>): Promise<{ readonly message: string; readonly code: string }> {
  const err = await request.then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error,
  );
  assert.ok(err instanceof WorkflowUpdateFailedError && err.cause instanceof ApplicationFailure, String(err));
  const [details] = (err.cause.details ?? []) as readonly { readonly code: string }[];
  return { message: err.cause.message, code: details?.code ?? '' };
}
