import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import { delayAnnotations, switches } from '../../sim/vm-layer/switches.ts';
import { VmRig } from '../../support/vm-rig.ts';
import { stays, waitFor } from '../../support/wait-for.ts';

/** Rules about order, lateness and deletion that no scenario shows by itself. */
describe('order, lateness, deletion', { concurrency: true }, () => {
  let rig: VmRig;
  before(async () => {
    rig = await VmRig.start({ requestTimeoutMs: 2_000 });
  });
  after(async () => await rig.stop());

  const homeless = { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } } as const;

  test('a request that reaches the API server after its operation was superseded is refused there', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', homeless);
    const late = rig.proxy.hold({
      method: `patch ${resources.machine.plural}`,
      match: ({ path, body }) =>
        path.includes(scenario.namespace) && body.includes(vmopKeys.startRequested.split('/')[1] ?? ''),
    });
    const start = await scenario.op('Start', 'a');
    await late.arrived;
    await start.inProgress();
    const stop = await scenario.op('Stop', 'a');
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    late.release();
    const refused = await waitFor('the late write to be answered', async () =>
      (await rig.kubernetes.auditEvents()).find(
        ({ namespace, resource, verb, code }) =>
          namespace === scenario.namespace && resource === resources.machine.plural && verb === 'patch' && code >= 400,
      ),
    );
    assert.equal(refused.code, 422);
    assert.equal((await scenario.machine('a'))?.metadata.annotations?.[vmopKeys.startRequested], undefined);
    await stays('stopped', () => scenario.look('a')?.phase === 'Stopped', 2_000);
  });

  test('how long a fence took is among the metrics of the worker', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', homeless);
    const start = await scenario.op('Start', 'a');
    await start.inProgress();
    const stop = await scenario.op('Stop', 'a');
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    const [, port] = /"healthPort":(\d+)/.exec(rig.workers[0]?.output() ?? '') ?? [];
    await waitFor('the metric', async () => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      return /vmflow_vmop_fence_duration\w*_count\{[^}]*incumbent_type="Start"[^}]*\} [1-9]/.test(text);
    });
  });

  test('a migration that is created after its operation was superseded is swept away', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true, annotations: { [switches.migrationStuckAt]: 'Running' } });
    const late = rig.proxy.hold({
      method: `create ${resources.migration.plural}`,
      match: ({ path }) => path.includes(scenario.namespace),
    });
    const move = await scenario.op('Migrate', 'a');
    await late.arrived;
    const restart = await scenario.op('Restart', 'a');
    assert.equal(await restart.ends(), 'Completed/OperationCompleted');
    assert.equal(await move.ends(), 'Completed/Superseded');
    late.release();
    await waitFor('the late migration', async () => (await scenario.migrations()).length > 0);
    await rig.client.workflow.execute('vmopSweep', {
      taskQueue: rig.taskQueue,
      workflowId: `sweep-${scenario.namespace}`,
      args: [],
    });
    await waitFor('the late migration to be gone', async () => (await scenario.migrations()).length === 0);
    await scenario.vmIs('a', ({ phase }) => phase === 'Running');
  });

  test('an operation whose workflow ended before it let the object go is let go by the sweep', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a');
    const start = await scenario.op('Start', 'a');
    await start.ends();
    await start.result();
    const { admin } = rig;
    const isHeld = async (): Promise<boolean> =>
      ((await start.read())?.object.metadata.finalizers ?? []).includes(vmopKeys.finalizer);
    // As it is when the workflow is terminated between its last word and this.
    await admin.patch(resources.vmop, scenario.namespace, start.name, [
      { op: 'add', path: '/metadata/finalizers', value: [vmopKeys.finalizer] },
    ]);
    assert.ok(await isHeld());
    let sweeps = 0;
    await waitFor('the sweep to let it go', async () => {
      await rig.client.workflow.execute('vmopSweep', {
        taskQueue: rig.taskQueue,
        workflowId: `sweep-held-${scenario.namespace}-${sweeps++}`,
        args: [],
      });
      return !(await isHeld());
    });
  });

  test('deleting a newcomer before it takes over leaves the older one alone', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', homeless);
    const start = await scenario.op('Start', 'a');
    await start.inProgress();
    const hold = rig.proxy.hold({
      method: 'create events',
      match: ({ path, body }) => path.includes(scenario.namespace) && body.includes('accepted as number 2'),
      times: Infinity,
    });
    const stop = await scenario.op('Stop', 'a');
    await hold.arrived;
    await scenario.remove(stop);
    hold.release();
    await stop.isGone();
    await stays('in progress', async () => (await start.read())?.phase === 'InProgress', 3_000);
    await scenario.annotate('a', { [switches.unschedulable]: undefined });
    assert.equal(await start.ends(), 'Completed/OperationCompleted');
  });

  test('deleting a newcomer between its mark and its signal resurrects nothing', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', homeless);
    const start = await scenario.op('Start', 'a');
    await start.inProgress();
    await scenario.vmIs('a', ({ instance }) => instance !== undefined);
    const hold = rig.proxy.hold({
      method: `delete ${resources.instance.plural}`,
      match: ({ path }) => path.includes(scenario.namespace),
      times: Infinity,
    });
    const stop = await scenario.op('Stop', 'a');
    await hold.arrived;
    assert.equal(await start.ends(), 'Completed/Superseded');
    await scenario.remove(stop);
    hold.release();
    await stop.isGone();
    assert.equal(await start.ends(), 'Completed/Superseded');
    assert.equal((await scenario.machine('a'))?.metadata.annotations?.[vmopKeys.startRequested], undefined);
  });

  test('an older one that is being deleted is never marked: the newcomer waits until it is gone', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', {
      running: true,
      annotations: { [switches.migrationStuckAt]: 'Running', [delayAnnotations.abortDelay]: '10m' },
    });
    const move = await scenario.op('Migrate', 'a');
    await move.inProgress();
    await scenario.remove(move);
    await move.is('Terminating', ({ phase }) => phase === 'Terminating');
    const stop = await scenario.op('Stop', 'a');
    await stop.is('waiting', ({ object }) => object.metadata.annotations?.[vmopKeys.seq] !== undefined);
    await scenario.annotate('a', { [delayAnnotations.abortDelay]: undefined });
    await move.isGone();
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    assert.deepEqual(
      (await scenario.events(move.name)).filter(({ reason }) => reason === 'VirtualMachineOperationSuperseded'),
      [],
    );
  });

  test('a coordinator that was ended by hand is started again by the next operation, and knows what is active', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', homeless);
    const start = await scenario.op('Start', 'a');
    await start.inProgress();
    await scenario.coordinator('a').terminate('a test');
    const again = await scenario.op('Start', 'a');
    assert.equal(await again.ends(), 'Failed/NotReadyToBeExecuted');
    const stop = await scenario.op('Stop', 'a');
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    assert.equal(await start.ends(), 'Completed/Superseded');
    const numbers = [start, again, stop].map(async (op) => (await op.read())?.seq);
    assert.deepEqual(await Promise.all(numbers), [1, 2, 3]);
  });

  test('a workflow that a person cancels in Temporal ends its operation as abandoned', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', homeless);
    const start = await scenario.op('Start', 'a');
    await start.inProgress();
    await start.handle.cancel();
    assert.equal(await start.ends(), 'Failed/OperationFailed');
    assert.match((await start.completed())?.message ?? '', /abandoned by somebody in Temporal/);
    assert.equal((await scenario.machine('a'))?.metadata.annotations?.[vmopKeys.startRequested], undefined);
  });

  test('requests of people: an equal one joins, a VM that is so already is said to be so, a retry makes no second object', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', homeless);
    const updateId = `request-${scenario.namespace}`;
    const [one, two] = await Promise.all([
      scenario.request('a', { type: 'Start' }),
      scenario.request('a', { type: 'Start' }, { updateId }),
    ]);
    assert.deepEqual([one.outcome, two.outcome].toSorted(), ['created', 'in-progress']);
    assert.deepEqual(await scenario.request('a', { type: 'Start' }, { updateId }), two);
    assert.equal((await scenario.operations()).length, 1);
    await assert.rejects(scenario.request('a', { type: 'Restart' }), { name: 'WorkflowUpdateFailedError' });
    const stop = await scenario.request('a', { type: 'Stop' }, { dryRun: true });
    assert.deepEqual([stop.outcome, 'supersedes' in stop && stop.supersedes.length], ['would-create', 1]);
    assert.equal((await scenario.operations()).length, 1);
    await scenario.vm('b', { runPolicy: 'Manual' });
    assert.deepEqual(await scenario.request('b', { type: 'Stop' }), { outcome: 'already-so', phase: 'Stopped' });
  });

  test('a move to the same node twice is one; to another node it is refused', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true, annotations: { [switches.migrationStuckAt]: 'Running' } });
    const to = (node: string) =>
      ({ type: 'Migrate', migrate: { nodeSelector: { 'kubernetes.io/hostname': node } } }) as const;
    const { nodeName } = scenario.look('a') ?? {};
    const [there = '', elsewhere = ''] = ['node-a', 'node-b', 'node-c'].filter((node) => node !== nodeName);
    assert.equal((await scenario.request('a', to(there))).outcome, 'created');
    assert.equal((await scenario.request('a', to(there))).outcome, 'in-progress');
    await assert.rejects(scenario.request('a', to(elsewhere)), { name: 'WorkflowUpdateFailedError' });
  });

  test('case/05 a migration in the queue is Pending, with its place', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true, annotations: { [switches.migrationStuckAt]: 'Running' } });
    await scenario.vm('b', { running: true, annotations: { [switches.migrationStuckAt]: 'Pending' } });
    const first = await scenario.op('Migrate', 'a');
    await first.inProgress();
    const second = await scenario.op('Migrate', 'b');
    const waiting = await second.is('queued', (_, completed) =>
      / before it in the queue/.test(completed?.message ?? ''),
    );
    assert.equal(waiting.phase, 'Pending');
    for (const name of ['a', 'b']) await scenario.annotate(name, { [switches.migrationStuckAt]: undefined });
    assert.deepEqual([await first.ends(), await second.ends()], ['Completed/Completed', 'Completed/Completed']);
  });

  test('case/13 a drain never displaces the move that a person asked for', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true, annotations: { [switches.migrationStuckAt]: 'Running' } });
    const move = await scenario.op('Migrate', 'a');
    await move.inProgress();
    const evict = await scenario.op('Evict', 'a', { name: 'evacuation-x1' });
    assert.equal(await evict.ends(), 'Failed/NotReadyToBeExecuted');
    assert.match((await evict.completed())?.message ?? '', new RegExp(`"${move.name}".*should finish first`));
    await scenario.annotate('a', { [switches.migrationStuckAt]: undefined });
    assert.equal(await move.ends(), 'Completed/Completed');
  });
});
