import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { delayAnnotations, switches } from '../../sim/vm-layer/switches.ts';
import { VmRig, type VmScenario } from '../../support/vm-rig.ts';

/** Ten VMs at a time, on cores that are busy otherwise. */
const timeoutMs = 120_000;

/** Without the webhook: what slips past admission is judged at the gate. */
describe('operations that race', () => {
  let rig: VmRig;
  before(async () => {
    rig = await VmRig.start();
  });
  after(async () => await rig.stop());

  /** A guest that shuts down when the test says so: until then a stop is active, however slow the machine. */
  const deaf = { [switches.ignoreShutdown]: 'true' };
  const grace = { terminationGracePeriodSeconds: 3_600 };

  async function shutDown(scenario: VmScenario, vmName: string): Promise<void> {
    await scenario.annotate(vmName, { [switches.ignoreShutdown]: undefined });
  }

  test('vmop/A23 of two stops at once exactly one runs, fifty times', async () => {
    const scenario = await rig.scenario();
    await rounds(50, async (round) => {
      const name = `a${round}`;
      const vm = await scenario.vm(name, { running: true, ...grace, annotations: deaf, timeoutMs });
      const pair = await Promise.all([scenario.op('Stop', name), scenario.op('Stop', name)]);
      const ending = pair.map((stop) => stop.ends(timeoutMs));
      assert.equal(await Promise.race(ending), 'Failed/NotReadyToBeExecuted', name);
      await shutDown(scenario, name);
      const ends = await Promise.all(ending);
      assert.deepEqual(ends.toSorted(), ['Completed/OperationCompleted', 'Failed/NotReadyToBeExecuted'], name);
      const deletes = await scenario.writes({ verb: 'delete', resource: instances, name });
      assert.deepEqual(
        deletes.map(({ uid }) => uid),
        [vm.instance?.metadata.uid],
      );
    });
  });

  test('vmop/A24 of two that could take over one migration the first wins, fifty times', async () => {
    const scenario = await rig.scenario();
    await rounds(50, async (round) => {
      const name = `b${round}`;
      await scenario.vm(name, {
        running: true,
        ...grace,
        annotations: { ...deaf, [switches.migrationStuckAt]: 'Running' },
        timeoutMs,
      });
      const move = await scenario.op('Migrate', name);
      await move.inProgress(timeoutMs);
      const [stop, restart] = await Promise.all([scenario.op('Stop', name), scenario.op('Restart', name)]);
      const ending = [stop.ends(timeoutMs), restart.ends(timeoutMs)] as const;
      assert.equal(await Promise.race(ending), 'Failed/NotReadyToBeExecuted', name);
      await shutDown(scenario, name);
      const [stopEnd, restartEnd] = await Promise.all(ending);
      assert.deepEqual(
        [stopEnd, restartEnd].toSorted(),
        ['Completed/OperationCompleted', 'Failed/NotReadyToBeExecuted'],
        name,
      );
      const winner = stopEnd.startsWith('Completed') ? stop : restart;
      assert.equal(await move.ends(), 'Completed/Superseded');
      assert.match((await move.completed())?.message ?? '', new RegExp(`superseded by ${winner.name} `));
      await scenario.vmIs(name, ({ phase }) => phase === (winner === stop ? 'Stopped' : 'Running'), timeoutMs);
    });
  });

  describe('in one order', { concurrency: true }, () => {
    test('vmop/A22 what the webhook would have refused fails at the gate, and the older one goes on', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('a', { running: true, ...grace, annotations: deaf });
      const stop = await scenario.op('Stop', 'a');
      const start = await scenario.op('Start', 'a');
      assert.equal(await start.ends(), 'Failed/NotReadyToBeExecuted');
      assert.match((await start.completed())?.message ?? '', new RegExp(`"${stop.name}".*should finish first`));
      await shutDown(scenario, 'a');
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    });

    test('vmop/A25 a chain: the last one wins, the others are superseded', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('c', {
        runPolicy: 'Manual',
        annotations: { [switches.unschedulable]: 'true' },
      });
      const start = await scenario.op('Start', 'c');
      await start.inProgress();
      const stop = await scenario.op('Stop', 'c');
      const forced = await scenario.op('Stop', 'c', { force: true });
      assert.equal(await forced.ends(), 'Completed/OperationCompleted');
      const ends = [await start.ends(), await stop.ends()];
      const said = `${(await start.completed())?.message}; ${(await stop.completed())?.message}`;
      assert.deepEqual(ends, ['Completed/Superseded', 'Completed/Superseded'], said);
      assert.match((await stop.completed())?.message ?? '', new RegExp(forced.name));
    });

    test('vmop/A26 a newcomer that can not run spares the older one', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('d', { runPolicy: 'AlwaysOn', annotations: { [delayAnnotations.migration]: '150ms' } });
      const move = await scenario.op('Migrate', 'd');
      const stop = await scenario.op('Stop', 'd');
      assert.equal(await stop.ends(), 'Failed/NotApplicableForVirtualMachineRunPolicy');
      assert.equal(await move.ends(), 'Completed/Completed');
      assert.equal((await move.read())?.object.status?.['progress'], '100%');
    });

    test('vmop/A27 an older one that finishes while it is being taken over keeps its result', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('e', { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } });
      const start = await scenario.op('Start', 'e');
      await start.inProgress();
      // The newcomer has been decided when it reads its VM; the fence comes after that.
      const hold = rig.proxy.hold(
        {
          method: 'create events',
          match: ({ body, path }) =>
            path.includes(scenario.namespace) &&
            body.includes('VirtualMachineOperationStarted') &&
            body.includes('stop'),
          times: Infinity,
        },
        'answer',
      );
      const stop = await scenario.op('Stop', 'e');
      await hold.arrived;
      await scenario.annotate('e', { [switches.unschedulable]: undefined });
      await scenario.vmIs('e', ({ phase }) => phase === 'Running');
      assert.equal(await start.ends(), 'Completed/OperationCompleted');
      hold.release();
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
      assert.equal(await start.ends(), 'Completed/OperationCompleted');
      await scenario.vmIs('e', ({ phase }) => phase === 'Stopped');
    });

    test('an older one whose successor is abandoned before it has taken over is still there for the next', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('f', { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } });
      const start = await scenario.op('Start', 'f');
      await start.inProgress();
      // The fence comes through, what is to be written after it does not.
      const refusal = rig.proxy.refuse(
        { method: `patch ${resources.vmop.plural}`, match: ({ path }) => path.endsWith(start.name) },
        503,
        'ServiceUnavailable',
      );
      const stop = await scenario.op('Stop', 'f');
      assert.equal((await start.result()).outcome, 'fenced');
      await scenario
        .coordinator('f')
        .executeUpdate(messages.abandon, { args: [{ uid: stop.uid, by: 'a test', reason: 'it hangs' }] });
      assert.equal(await stop.ends(), 'Failed/OperationFailed');
      await stop.result();
      refusal.remove();
      const forced = await scenario.op('Stop', 'f', { force: true });
      assert.equal(await forced.ends(), 'Completed/OperationCompleted');
      assert.equal(await start.ends(), 'Completed/Superseded');
    });

    test('in a chain the middle one is superseded though the last one has claimed the VM before it', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('h', { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } });
      const start = await scenario.op('Start', 'h');
      await start.inProgress();
      const claim = rig.proxy.hold({
        method: `patch ${resources.machine.plural}`,
        match: ({ path }) => path.includes(scenario.namespace),
      });
      const middle = await scenario.op('Stop', 'h');
      await claim.arrived;
      const mark = rig.proxy.hold(
        {
          method: `patch ${resources.vmop.plural}`,
          match: ({ path, body }) => path.endsWith(start.name) && body.includes('last'),
        },
        'answer',
      );
      const last = await scenario.op('Stop', 'h', { force: true, name: 'last' });
      await mark.arrived;
      claim.release();
      const middleEnd = middle.ends();
      // Long enough for the middle one to find that the VM is not its own any more.
      await Promise.race([middleEnd, sleep(3_000)]);
      mark.release();
      assert.equal(await last.ends(), 'Completed/OperationCompleted');
      assert.deepEqual([await start.ends(), await middleEnd], ['Completed/Superseded', 'Completed/Superseded']);
    });

    test('one that is taken for lost though its workflow runs goes on', async () => {
      const scenario = await rig.scenario();
      await scenario.vm('g', { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } });
      const start = await scenario.op('Start', 'g');
      await start.inProgress();
      // A sweep that looked before the coordinator had brought it back.
      await start.submit(true);
      const stop = await scenario.op('Stop', 'g');
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
      assert.equal(await start.ends(), 'Completed/Superseded');
    });

    test('vmop/A38 equal names in different namespaces have nothing to do with each other', async () => {
      const [one, two] = [await rig.scenario(), await rig.scenario()];
      const stuck = { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } } as const;
      await Promise.all([one.vm('x', stuck), two.vm('x', stuck)]);
      const [startOne, startTwo] = [await one.op('Start', 'x'), await two.op('Start', 'x')];
      await Promise.all([startOne.inProgress(), startTwo.inProgress()]);
      const stop = await one.op('Stop', 'x');
      assert.equal(await stop.ends(), 'Completed/OperationCompleted');
      assert.equal(await startOne.ends(), 'Completed/Superseded');
      assert.equal((await startTwo.read())?.phase, 'InProgress');
    });
  });
});

/** So many rounds, ten at a time; none is begun when one has failed, so that nothing runs beside the next test. */
async function rounds(count: number, round: (n: number) => Promise<void>): Promise<void> {
  const limit = pLimit(10);
  const all = Array.from({ length: count }, (_, n) => limit(() => round(n)));
  await Promise.all(all).finally(() => limit.clearQueue());
}

const instances = 'internalvirtualizationvirtualmachineinstances';
