import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { changeRequests } from '../../../activities/vmop/objects.ts';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import { delayAnnotations, switches } from '../../sim/vm-layer/switches.ts';
import { completedOf, VmRig, type OperationUnderTest, type VmScenario } from '../../support/vm-rig.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { vmflow } from '../cli/run-process.ts';

const modes = ['Completed', 'Superseded'] as const;

/** The take-overs that work, for both ways to mark what was taken over. Scenarios have a namespace each and run side by side. */
for (const mode of modes) {
  let rig: VmRig;

  /** How the older operation looks from then on. */
  async function isSuperseded(older: OperationUnderTest, by: OperationUnderTest, kind: string): Promise<void> {
    const vmop = await older.is('terminal', ({ isTerminal }) => isTerminal);
    const completed = completedOf(vmop);
    assert.deepEqual(
      { phase: vmop.phase, status: completed?.status, reason: completed?.reason },
      { phase: mode, status: 'True', reason: 'Superseded' },
    );
    assert.match(completed?.message ?? '', new RegExp(`${by.name} \\(${kind}\\)`));
    assert.equal(vmop.object.metadata.annotations?.[vmopKeys.supersededBy], `${by.name}/${by.uid}`);
  }

  async function nothingWaits(scenario: VmScenario, vmName: string): Promise<void> {
    const machine = await scenario.machine(vmName);
    assert.ok(machine !== undefined);
    assert.equal(machine.metadata.annotations?.[vmopKeys.startRequested], undefined);
    assert.equal(machine.metadata.annotations?.[vmopKeys.restartRequested], undefined);
    assert.deepEqual(changeRequests(machine), []);
  }

  async function staysStopped(scenario: VmScenario, vmName: string): Promise<void> {
    const { length } = rig.layer.instancesOf(scenario.namespace, vmName);
    await stays(`${vmName} stopped`, () => scenario.look(vmName)?.phase === 'Stopped', 30_000);
    assert.equal(rig.layer.instancesOf(scenario.namespace, vmName).length, length);
  }

  describe(`take-overs, superseded ones end ${mode}`, { concurrency: true }, () => {
    before(async () => {
      rig = await VmRig.start({ operations: { supersededPhase: mode, migrationAbortTimeoutMs: 3_000 } });
    });
    after(async () => await rig.stop());

    test('vmop/A01 a start that can never finish is called off by a stop', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('a', { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } });
      const start = await scenario.op('Start', 'a');
      await start.inProgress();
      await scenario.vmIs('a', ({ phase, instance }) => phase === 'Pending' && instance !== undefined);
      const stop = await scenario.op('Stop', 'a');
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
      await isSuperseded(start, stop, 'Stop');
      await nothingWaits(scenario, 'a');
      await staysStopped(scenario, 'a');
    });

    test('vmop/A39 the phase is a setting; the command line says Superseded and ends with 8 in both modes', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('a', { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } });
      const start = await scenario.op('Start', 'a');
      await start.inProgress();
      const stop = await scenario.op('Stop', 'a');
      await isSuperseded(start, stop, 'Stop');
      const { address, namespace } = rig.temporal;
      const { exit, stdout } = await vmflow(
        {
          ...{ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, VMFLOW_TASK_QUEUE: rig.taskQueue },
          VMFLOW_ACK_TIMEOUT: '60s',
        },
        ...['op', 'watch', start.name, '-n', scenario.namespace],
      );
      assert.equal(exit, 8);
      assert.match(stdout, new RegExp(`Superseded[^]*${stop.name}`));
    });

    test('vmop/A02 a start is called off before anything happened', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('a', { runPolicy: 'Manual' });
      await rig.layer.freezeVm(scenario.namespace, 'a');
      const start = await scenario.op('Start', 'a');
      await start.inProgress();
      const stop = await scenario.op('Stop', 'a');
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
      await isSuperseded(start, stop, 'Stop');
      await nothingWaits(scenario, 'a');
      rig.layer.thawVm(scenario.namespace, 'a');
      await staysStopped(scenario, 'a');
    });

    test('vmop/A03 a start is called off between request and instance', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('a', { runPolicy: 'Manual', annotations: { [switches.blockInstanceCreation]: 'true' } });
      const start = await scenario.op('Start', 'a');
      await waitFor('the entry', async () => changeRequests((await scenario.machine('a')) ?? never()).length > 0);
      const stop = await scenario.op('Stop', 'a');
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
      await isSuperseded(start, stop, 'Stop');
      await nothingWaits(scenario, 'a');
      await scenario.annotate('a', { [switches.blockInstanceCreation]: undefined });
      await staysStopped(scenario, 'a');
      assert.deepEqual(rig.layer.instancesOf(scenario.namespace, 'a'), []);
    });

    const deafGuest = {
      running: true,
      terminationGracePeriodSeconds: 600,
      annotations: { [switches.ignoreShutdown]: 'true' },
    } as const;

    test('vmop/A04 a forced stop overtakes a graceful one that hangs', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('a', deafGuest);
      const stop = await scenario.op('Stop', 'a');
      await stop.inProgress();
      await scenario.vmIs('a', ({ phase }) => phase === 'Stopping');
      const forced = await scenario.op('Stop', 'a', { force: true });
      assert.equal(await forced.ends(), 'Completed/OperationCompleted');
      await isSuperseded(stop, forced, 'Stop, forced');
      assert.equal(scenario.look('a')?.phase, 'Stopped');
    });

    test('vmop/A05 a forced restart overtakes a graceful stop that hangs', async () => {
      const scenario = await rig.scenario();
      const before = (await scenario.vm('a', deafGuest)).instance?.metadata.uid;
      const stop = await scenario.op('Stop', 'a');
      await stop.inProgress();
      await scenario.vmIs('a', ({ phase }) => phase === 'Stopping');
      const restart = await scenario.op('Restart', 'a', { force: true });
      assert.equal(await restart.ends(), 'Completed/OperationCompleted');
      await isSuperseded(stop, restart, 'Restart, forced');
      const now = await scenario.vmIs('a', ({ phase }) => phase === 'Running');
      assert.notEqual(now.instance?.metadata.uid, before);
      assert.equal(rig.layer.instancesOf(scenario.namespace, 'a').length, 2);
    });

    /** A restart whose new instance finds no node. */
    async function hangingRestart(scenario: VmScenario): Promise<OperationUnderTest> {
      await scenario.vm('a', { running: true });
      await scenario.annotate('a', { [switches.unschedulable]: 'true' });
      const restart = await scenario.op('Restart', 'a');
      await restart.inProgress();
      await scenario.vmIs('a', ({ phase }) => phase === 'Pending');
      return restart;
    }

    test('vmop/A06 a forced stop overtakes a restart', async () => {
      const scenario = await rig.scenario();
      const restart = await hangingRestart(scenario);
      const stop = await scenario.op('Stop', 'a', { force: true });
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
      await isSuperseded(restart, stop, 'Stop, forced');
      await nothingWaits(scenario, 'a');
      await staysStopped(scenario, 'a');
    });

    test('vmop/A07 a forced restart overtakes a restart', async () => {
      const scenario = await rig.scenario();
      const restart = await hangingRestart(scenario);
      await rig.layer.freezeVm(scenario.namespace, 'a');
      const forced = await scenario.op('Restart', 'a', { force: true });
      await isSuperseded(restart, forced, 'Restart, forced');
      rig.layer.thawVm(scenario.namespace, 'a');
      await scenario.annotate('a', { [switches.unschedulable]: undefined });
      assert.equal(await forced.ends(), 'Completed/OperationCompleted');
      const now = await scenario.vmIs('a', ({ phase }) => phase === 'Running');
      const alive = rig.layer.instancesOf(scenario.namespace, 'a').filter(({ goneAt }) => goneAt === undefined);
      assert.deepEqual(
        alive.map(({ uid }) => uid),
        [now.instance?.metadata.uid],
      );
    });

    test('vmop/A08 a stop overtakes a migration that is queued', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('a', { running: true, annotations: { [switches.migrationStuckAt]: 'Pending' } });
      const move = await scenario.op('Migrate', 'a');
      await move.is(
        'queued',
        ({ phase }, completed) => phase === 'Pending' && completed?.reason === 'MigrationPending',
      );
      assert.equal(scenario.look('a')?.phase, 'Running');
      const stop = await scenario.op('Stop', 'a');
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
      await isSuperseded(move, stop, 'Stop');
      assert.deepEqual(await scenario.migrations(), []);
    });

    test('vmop/A09 a stop overtakes a migration that is copying', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('a', {
        running: true,
        annotations: { [switches.migrationStuckAt]: 'Running', [switches.migrationProgress]: '50' },
      });
      const move = await scenario.op('Migrate', 'a');
      const progress = '50%';
      await move.is(
        'half copied',
        ({ phase, object }, completed) =>
          phase === 'InProgress' && completed?.reason === 'Syncing' && object.status?.['progress'] === progress,
      );
      await scenario.vmIs('a', ({ phase }) => phase === 'Migrating');
      const stop = await scenario.op('Stop', 'a');
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
      await isSuperseded(move, stop, 'Stop');
      assert.equal((await move.read())?.object.status?.['progress'], progress);
      assert.deepEqual(await scenario.migrations(), []);
      assert.equal(scenario.look('a')?.phase, 'Stopped');
    });

    test('vmop/A10 a restart overtakes an eviction', async () => {
      const scenario = await rig.scenario();
      const first = await scenario.vm('a', { running: true, annotations: { [switches.migrationStuckAt]: 'Running' } });
      const evict = await scenario.op('Evict', 'a');
      await evict.inProgress();
      const restart = await scenario.op('Restart', 'a');
      assert.equal(await restart.ends(), 'Completed/OperationCompleted');
      await isSuperseded(evict, restart, 'Restart');
      const now = await scenario.vmIs('a', ({ phase }) => phase === 'Running');
      assert.notEqual(now.instance?.metadata.uid, first.instance?.metadata.uid);
    });

    test('vmop/A11 a forced stop does not wait for an abort that takes long; a plain one fails and says so', async () => {
      const slow = { [switches.migrationStuckAt]: 'Running', [delayAnnotations.abortDelay]: '10m' };
      const scenario = await rig.scenario();
      await scenario.vm('a', { running: true, annotations: slow });
      await scenario.vm('b', { running: true, annotations: slow });
      const [moveA, moveB] = [await scenario.op('Migrate', 'a'), await scenario.op('Migrate', 'b')];
      await Promise.all([moveA.inProgress(), moveB.inProgress()]);
      const forced = await scenario.op('Stop', 'a', { force: true });
      assert.equal(await forced.ends(), 'Completed/OperationCompleted');
      await isSuperseded(moveA, forced, 'Stop, forced');

      const plain = await scenario.op('Stop', 'b');
      assert.equal(await plain.ends(), 'Failed/OperationFailed');
      assert.match((await plain.completed())?.message ?? '', new RegExp(moveB.name));
      await isSuperseded(moveB, plain, 'Stop');
      assert.equal((await scenario.migrations()).length, 2, 'the aborts were still under way');
      for (const name of ['a', 'b']) await scenario.annotate(name, { [delayAnnotations.abortDelay]: undefined });
      await waitFor('the migrations to be gone', async () => (await scenario.migrations()).length === 0);
    });
  });
}

function never(): never {
  throw new Error('there is no machine');
}
