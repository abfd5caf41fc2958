import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { vmopOf } from '../../../activities/vmop/objects.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { delayAnnotations, switches } from '../../sim/vm-layer/switches.ts';
import { OperationUnderTest, VmRig } from '../../support/vm-rig.ts';
import { stays, waitFor } from '../../support/wait-for.ts';

describe('operations of their own', { concurrency: true }, () => {
  let rig: VmRig;
  before(async () => {
    rig = await VmRig.start({
      operations: { targetPreparationMs: 1_500, readyToMigrateMs: 1_500, keepHours: 24, keepPerVm: 10 },
    });
  });
  after(async () => await rig.stop());

  test('each type does what it says, with its events, in few steps', async () => {
    const scenario = await rig.scenario();
    const vm = await scenario.vm('a', { runPolicy: 'Manual' });
    const start = await scenario.op('Start', 'a');
    assert.equal(await start.ends(), 'Completed/OperationCompleted');
    await scenario.vmIs('a', ({ phase }) => phase === 'Running');
    const read = await start.read();
    assert.equal(read?.object.metadata.labels?.[vmopKeys.vmUidLabel], vm.uid);
    await start.result(); // the last event comes after the status that it is about
    assert.deepEqual((await scenario.events(start.name)).map(({ reason, type }) => `${type} ${reason}`).sort(), [
      'Normal VirtualMachineOperationInProgress',
      'Normal VirtualMachineOperationStarted',
      'Normal VirtualMachineOperationSucceeded',
    ]);
    for (const type of ['Restart', 'Migrate', 'Evict', 'Stop'] as const) {
      const op = await scenario.op(type, 'a');
      assert.match(await op.ends(), /^Completed\/(OperationCompleted|Completed)$/, type);
      await waitFor(
        'the object to be released',
        async () => (await op.read())?.object.metadata.finalizers === undefined,
      );
      const { events } = await (await op.result(), op.handle.fetchHistory());
      assert.ok((events?.length ?? 99) <= 45, `${type} took ${events?.length} events`);
    }
    assert.deepEqual((await scenario.events('a')).map(({ reason }) => reason).sort(), [
      'Evicted',
      'Migrated',
      'Restarted',
      'Started',
      'Stopped',
    ]);
  });

  test('vmop/A31 a signal that is refused is final, and the next operation is free', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true });
    const refusal = rig.proxy.refuse(
      { method: `delete ${resources.instance.plural}`, match: ({ path }) => path.includes(`/${scenario.namespace}/`) },
      403,
    );
    const stop = await scenario.op('Stop', 'a');
    assert.equal(await stop.ends(), 'Failed/OperationFailed');
    const sent = (await stop.read())?.conditions.find(({ type }) => type === 'SignalSent');
    assert.deepEqual([sent?.status, sent?.reason], ['False', 'SignalSentError']);
    refusal.remove();
    const again = await scenario.op('Stop', 'a');
    assert.equal(await again.ends(), 'Completed/OperationCompleted');
  });

  test('vmop/A32 deleting a running migration aborts it, and only then the object goes', async () => {
    const scenario = await rig.scenario();
    const { nodeName } = await scenario.vm('a', {
      running: true,
      annotations: { [switches.migrationStuckAt]: 'Running', [delayAnnotations.abortDelay]: '10m' },
    });
    const move = await scenario.op('Migrate', 'a');
    await move.inProgress();
    await scenario.remove(move);
    await move.is('Terminating', ({ phase }) => phase === 'Terminating');
    await waitFor('the abort to be asked for', async () =>
      (await scenario.migrations()).every(({ metadata }) => metadata.deletionTimestamp !== undefined),
    );
    await scenario.annotate('a', { [delayAnnotations.abortDelay]: undefined });
    await move.isGone();
    assert.deepEqual(await scenario.migrations(), []);
    const vm = await scenario.vmIs('a', ({ phase }) => phase === 'Running');
    assert.equal(vm.nodeName, nodeName);
  });

  test('vmop/A33 deleting a start that nobody has answered takes it back', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { runPolicy: 'Manual' });
    await rig.layer.freezeVm(scenario.namespace, 'a');
    const start = await scenario.op('Start', 'a');
    await start.inProgress();
    await scenario.remove(start);
    await start.isGone();
    assert.equal((await scenario.machine('a'))?.metadata.annotations?.[vmopKeys.startRequested], undefined);
    rig.layer.thawVm(scenario.namespace, 'a');
    await stays('stopped', () => scenario.look('a')?.phase === 'Stopped', 3_000);
  });

  test('vmop/A34 a VM that is deleted or replaced gets nothing of an older operation', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } });
    const start = await scenario.op('Start', 'a');
    await start.inProgress();
    await rig.admin.remove(resources.vm, scenario.namespace, 'a');
    await rig.layer.waitForNoVm(scenario.namespace, 'a');
    await scenario.vm('a', { runPolicy: 'Manual' });
    assert.equal(await start.ends(), 'Failed/VirtualMachineNotFound');
    await stays('stopped', () => scenario.look('a')?.phase === 'Stopped', 2_000);
    assert.equal((await scenario.machine('a'))?.metadata.annotations?.[vmopKeys.receipt], undefined);
  });

  test('vmop/A35 an operation on a VM that is not there fails with that reason and a warning', async () => {
    const scenario = await rig.scenario();
    const stop = await scenario.op('Stop', 'nobody');
    assert.equal(await stop.ends(), 'Failed/VirtualMachineNotFound');
    await waitFor('the warning', async () =>
      (await scenario.events(stop.name)).some(
        ({ type, reason }) => type === 'Warning' && reason === 'VirtualMachineOperationFailed',
      ),
    );
  });

  test('vmop/A42 a forced restart that nothing can take over is abandoned, and the next start is free', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true });
    await scenario.annotate('a', { [switches.unschedulable]: 'true' });
    const restart = await scenario.op('Restart', 'a', { force: true });
    await restart.inProgress();
    await scenario.vmIs('a', ({ phase }) => phase === 'Pending');
    const order = { uid: restart.uid, by: 'alice', reason: 'no node is free' };
    await scenario.coordinator('a').executeUpdate(messages.abandon, { args: [order] });
    assert.equal(await restart.ends(), 'Failed/OperationFailed');
    assert.match((await restart.completed())?.message ?? '', /abandoned by alice: no node is free/);
    assert.equal((await scenario.machine('a'))?.metadata.annotations?.[vmopKeys.startRequested], undefined);
    await restart.result();
    const answer = await scenario.coordinator('a').executeUpdate<string, [object]>(messages.abandon, { args: [order] });
    assert.match(answer, /nothing to do/);
    const stop = await scenario.op('Stop', 'a');
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    await scenario.annotate('a', { [switches.unschedulable]: undefined });
    const start = await scenario.op('Start', 'a');
    assert.equal(await start.ends(), 'Completed/OperationCompleted');
  });

  test('vmop/A40 finished operations are collected by age and by number, per namespace and VM', async () => {
    const [one, two] = [await rig.scenario(), await rig.scenario()];
    const finished = async (
      scenario: typeof one,
      name: string,
      vmName: string,
      endedHoursAgo: number,
    ): Promise<void> => {
      const { created } = await scenario.op('Stop', vmName, { name, unseen: true });
      const ended = new Date(Date.now() - endedHoursAgo * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
      const completed = { type: 'Completed', status: 'True', reason: 'OperationCompleted', message: 'done' };
      await rig.admin.patch(
        resources.vmop,
        scenario.namespace,
        created.ref.name,
        [
          {
            op: 'add',
            path: '/status',
            value: { phase: 'Completed', conditions: [{ ...completed, lastTransitionTime: ended }] },
          },
        ],
        { status: true },
      );
    };
    await Promise.all(
      Array.from({ length: 12 }, async (_, n) => {
        const name = `x-${String(n).padStart(2, '0')}`;
        await finished(one, name, 'x', n / 10);
        await finished(two, name, 'x', n / 10);
      }),
    );
    await finished(one, 'y-old', 'y', 25);
    await finished(one, 'y-long', 'y', 1);
    await rig.client.workflow.execute('vmopGc', {
      taskQueue: rig.taskQueue,
      workflowId: `vmop-gc-${one.namespace}`,
      args: [],
    });
    const names = async (scenario: typeof one): Promise<string[]> =>
      (await scenario.operations()).map(({ ref }) => ref.name).sort();
    const kept = Array.from({ length: 10 }, (_, n) => `x-${String(n).padStart(2, '0')}`);
    assert.deepEqual(await names(one), [...kept, 'y-long']);
    assert.deepEqual(await names(two), kept);
  });

  test('a right that is missing keeps the coordinator waiting, not dying: it goes on when the right is there', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true });
    const refusal = rig.proxy.refuse(
      { method: `patch ${resources.vmop.plural}`, match: ({ path }) => path.includes(`/${scenario.namespace}/`) },
      403,
    );
    const stop = await scenario.op('Stop', 'a');
    const waiting = await waitFor('the trouble to be told', async () => {
      const status = await scenario.coordinatorStatus('a');
      return status.reason === 'Trouble' ? status : undefined;
    });
    assert.match(waiting.message, /can't be decided: .*patch VirtualMachineOperation/);
    await assert.rejects(
      scenario.request('a', { type: 'Restart' }),
      (err: Error) => err.cause instanceof Error && /can't be decided: .*nothing was asked for/.test(err.cause.message),
    );
    refusal.remove();
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
  });

  test('restore and clone say that they are not supported yet', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { runPolicy: 'Manual' });
    const object = await rig.operator.create(resources.vmop, scenario.namespace, {
      metadata: { name: 'back', namespace: scenario.namespace },
      spec: {
        type: 'Restore',
        virtualMachineName: 'a',
        restore: { mode: 'Strict', virtualMachineSnapshotName: 'yesterday' },
      },
    });
    const restore = new OperationUnderTest(rig, vmopOf(object));
    await restore.submit();
    assert.equal(await restore.ends(), 'Failed/OperationFailed');
    assert.match((await restore.completed())?.message ?? '', /not supported yet/);
  });

  test('case/08 a VM that waits for a restart can not be evicted, and the operation ends by its deadline with that reason', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true, annotations: { [switches.notReadyToMigrate]: 'true' } });
    const evict = await scenario.op('Evict', 'a');
    await evict.is(
      'waiting',
      ({ phase }, completed) =>
        phase === 'Pending' && completed?.reason === 'WaitingForVirtualMachineToBeReadyToMigrate',
    );
    assert.equal(await evict.ends(), 'Failed/OperationFailed');
    assert.match((await evict.completed())?.message ?? '', /not ready to migrate within 1.5 s: Migrating is/);
  });

  test('case/16 a migration object that vanishes ends its operation, and the next one is free', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true, annotations: { [switches.migrationStuckAt]: 'Running' } });
    const move = await scenario.op('Migrate', 'a');
    await move.inProgress();
    await rig.admin.remove(resources.migration, scenario.namespace, `vmop-${move.name}`);
    // The layer says that it was aborted before the object goes; which of the two is seen first is chance.
    assert.match(await move.ends(), /^Failed\/(OperationFailed|Aborted)$/);
    assert.match((await move.completed())?.message ?? '', /vanished|aborted/);
    await scenario.annotate('a', { [switches.migrationStuckAt]: undefined });
    await scenario.vmIs('a', ({ phase }) => phase === 'Running');
    const again = await scenario.op('Migrate', 'a');
    assert.equal(await again.ends(), 'Completed/Completed');
  });

  test('case/17 a migration can be called off in each of its phases', async () => {
    const scenario = await rig.scenario();
    const phases = ['Pending', 'Scheduling', 'Scheduled', 'PreparingTarget', 'TargetReady', 'Running'];
    await Promise.all(
      phases.map(async (phase) => {
        const name = `vm-${phase.toLowerCase()}`;
        await scenario.vm(name, {
          running: true,
          annotations: { [switches.migrationStuckAt]: phase },
        });
        const move = await scenario.op('Migrate', name);
        await waitFor(`the migration to be ${phase}`, async () =>
          (await scenario.migrations()).some(
            ({ metadata, status }) => metadata.name === `vmop-${move.name}` && status?.['phase'] === phase,
          ),
        );
        await scenario.remove(move);
        await move.isGone();
      }),
    );
    assert.deepEqual(await scenario.migrations(), []);
  });

  test('a target that is not ready in time ends the migration and takes it back', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', {
      running: true,
      annotations: { [switches.migrationStuckAt]: 'Scheduling', [switches.migrationTrouble]: 'TargetScheduled' },
    });
    const move = await scenario.op('Migrate', 'a');
    await move.is('unschedulable', (_, completed) => completed?.reason === 'TargetUnschedulable');
    assert.equal(await move.ends(), 'Failed/OperationFailed');
    await waitFor('the migration to be gone', async () => (await scenario.migrations()).length === 0);
  });

  test('policies of live migration are kept', async () => {
    const scenario = await rig.scenario();
    const cases = [
      { name: 'safe-forced', liveMigrationPolicy: 'AlwaysSafe', force: true },
      { name: 'forced-unforced', liveMigrationPolicy: 'AlwaysForced', force: false },
    ] as const;
    for (const { name, liveMigrationPolicy, force } of cases) {
      await scenario.vm(name, { running: true, liveMigrationPolicy });
      const refused = await scenario.op('Migrate', name, { force });
      assert.equal(await refused.ends(), 'Failed/NotApplicableForLiveMigrationPolicy', name);
      const allowed = await scenario.op('Migrate', name);
      assert.equal(await allowed.ends(), 'Completed/Completed', name);
    }
  });
});
