import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import { delayAnnotations, switches } from '../../sim/vm-layer/switches.ts';
import { VmRig } from '../../support/vm-rig.ts';
import { stays, waitFor } from '../../support/wait-for.ts';

describe('operations outlive what they depend on', () => {
  let rig: VmRig;
  before(async () => {
    rig = await VmRig.start({ ownTemporal: true, requestTimeoutMs: 2_000 });
  });
  after(async () => await rig.stop());

  test('vmop/A29 a restart whose worker dies after the request was consumed is not done twice', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true });
    await scenario.annotate('a', { [delayAnnotations.bootDelay]: '10m' });
    const hold = rig.proxy.hold(
      { method: `patch ${resources.vmop.plural}/status`, match: ({ body }) => body.includes('RestartInProgress') },
      'call',
    );
    const restart = await scenario.op('Restart', 'a');
    await hold.arrived;
    await waitFor('the request to be consumed', async () => {
      const machine = await scenario.machine('a');
      return machine?.metadata.annotations?.[vmopKeys.restartRequested] === undefined;
    });
    await rig.killWorkers();
    hold.release();
    await rig.startWorker();
    await scenario.annotate('a', { [delayAnnotations.bootDelay]: undefined });
    assert.equal(await restart.ends(90_000), 'Completed/OperationCompleted');
    await stays('running', () => scenario.look('a')?.phase === 'Running', 2_000);
    assert.equal(rig.layer.instancesOf(scenario.namespace, 'a').length, 2);
  });

  test('vmop/A30 a start that has reached its goal when the worker comes back is done, never failed', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { runPolicy: 'Manual' });
    const hold = rig.proxy.hold(
      { method: `patch ${resources.machine.plural}`, match: ({ body }) => body.includes('vm-start-requested') },
      'answer',
    );
    const start = await scenario.op('Start', 'a');
    await hold.arrived;
    await rig.killWorkers();
    hold.release();
    await scenario.vmIs('a', ({ phase }) => phase === 'Running');
    await rig.startWorker();
    assert.equal(await start.ends(90_000), 'Completed/OperationCompleted');
    assert.equal(rig.layer.instancesOf(scenario.namespace, 'a').length, 1);
  });

  test('a deletion whose workflow and worker are ended in the middle is carried out by the sweep', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', {
      running: true,
      annotations: { [switches.migrationStuckAt]: 'Running', [delayAnnotations.abortDelay]: '10m' },
    });
    const move = await scenario.op('Migrate', 'a');
    await move.inProgress();
    await scenario.remove(move);
    await move.is('Terminating', ({ phase }) => phase === 'Terminating');
    await rig.killWorkers();
    await move.handle.terminate('by a test');
    await scenario.annotate('a', { [delayAnnotations.abortDelay]: undefined });
    await rig.startWorker();
    await waitFor(
      'the object to be gone',
      async () => {
        await rig.sweep();
        return (await move.read()) === undefined;
      },
      { timeoutMs: 60_000, intervalMs: 1_000 },
    );
    assert.deepEqual(await scenario.migrations(), []);
  });

  test('the API server is away: nothing fails, everything goes on afterwards', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true });
    await scenario.vm('b', { runPolicy: 'Manual' });
    await rig.proxy.down();
    const stop = await scenario.op('Stop', 'a', { unseen: true });
    const start = await scenario.op('Start', 'b', { unseen: true });
    // A coordinator that can't see what is active gives no numbers yet.
    const submitted = Promise.all([stop.submit(), start.submit()]);
    await stays('untouched', async () => (await stop.read())?.phase === undefined, 15_000);
    await rig.proxy.up();
    await submitted;
    assert.equal(await stop.ends(90_000), 'Completed/OperationCompleted');
    assert.equal(await start.ends(90_000), 'Completed/OperationCompleted');
  });

  test('the API server is killed while operations wait: they see what happened meanwhile', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', {
      running: true,
      annotations: { [delayAnnotations.guestShutdownDelay]: '5s' },
    });
    const stop = await scenario.op('Stop', 'a');
    await stop.inProgress();
    await rig.kubernetes.restart();
    assert.equal(await stop.ends(90_000), 'Completed/OperationCompleted');
    const deletes = await scenario.writes({ verb: 'delete', resource: resources.instance.plural });
    assert.equal(deletes.length, 1);
  });

  test('Temporal is killed in the middle: operations stay as they are and go on by themselves', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', {
      running: true,
      annotations: { [delayAnnotations.guestShutdownDelay]: '8s' },
    });
    const stop = await scenario.op('Stop', 'a');
    await stop.inProgress();
    const { server } = rig.temporal;
    assert.ok(server !== undefined);
    await server.kill();
    await stays('in progress', async () => (await stop.read())?.phase === 'InProgress', 3_000);
    await server.restart();
    assert.equal(await stop.ends(90_000), 'Completed/OperationCompleted');
    const deletes = await scenario.writes({ verb: 'delete', resource: resources.instance.plural });
    assert.equal(deletes.length, 1);
  });
});
