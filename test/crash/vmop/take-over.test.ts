import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { changeRequests } from '../../../activities/vmop/objects.ts';
import { vmCoordinatorId, vmOperationId } from '../../../workflows/contracts/ids.ts';
import { switches } from '../../sim/vm-layer/switches.ts';
import type { Hold } from '../../sim/hold.ts';
import { VmRig, type OperationUnderTest, type VmScenario } from '../../support/vm-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A stop that takes over from a start which can't finish. */
interface Pair {
  readonly scenario: VmScenario;
  readonly start: OperationUnderTest;
  readonly stop: OperationUnderTest;
  readonly hold?: Hold;
  /** How many requests had passed the proxy before the stop was handed over. */
  readonly before: number;
}

const instances = 'internalvirtualizationvirtualmachineinstances';

/**
 * The stop writes to the API server some twenty times, from its first status to its release. Here each of these writes is the
 * last thing that happens before the crash: it has taken effect, its answer is lost. One pair per write, all at the same time.
 */
describe('a stop takes over from a start while everything is killed', () => {
  let rig: VmRig;
  let writes = 0;
  before(async () => {
    rig = await VmRig.start();
    const scenario = await rig.scenario();
    const { stop, before: earlier } = await pair(scenario);
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    await stop.result();
    writes = rig.proxy.requests().slice(earlier).filter(isWriteOf(scenario)).length;
    assert.ok(writes >= 14, `${writes} writes`);
  });
  after(async () => await rig.stop());

  /** `nth`: the write of the stop that is held after it took effect; undefined: none. */
  async function pair(scenario: VmScenario, nth?: number): Promise<Pair> {
    await scenario.vm('a', {
      runPolicy: 'Manual',
      annotations: { [switches.unschedulable]: 'true' },
      timeoutMs: 60_000,
    });
    const start = await scenario.op('Start', 'a');
    await start.inProgress(60_000);
    await waitFor('the events of the start', async () => (await scenario.events('a')).length > 0);
    const stop = await scenario.op('Stop', 'a', { unseen: true });
    const match = isWriteOf(scenario);
    const earlier = rig.proxy.requests().length;
    const hold = nth === undefined ? undefined : rig.proxy.hold({ method: '*', nth, match }, 'answer');
    await stop.submit();
    return { scenario, start, stop, before: earlier, ...(hold === undefined ? {} : { hold }) };
  }

  function isWriteOf(scenario: VmScenario) {
    return ({ verb, path }: { readonly verb: string; readonly path: string }): boolean =>
      verb !== 'GET' && path.includes(`/${scenario.namespace}/`);
  }

  async function heldAtEachWrite(): Promise<Pair[]> {
    const pairs = await Promise.all(
      Array.from({ length: writes }, async (_, n) => await pair(await rig.scenario(), n + 1)),
    );
    await Promise.all(
      pairs.map(({ hold }, n) =>
        Promise.race([
          hold?.arrived,
          new Promise((_, reject) => setTimeout(() => reject(new Error(`write ${n + 1} never came`)), 60_000).unref()),
        ]),
      ),
    );
    return pairs;
  }

  async function endedWell({ scenario, start, stop }: Pair, place: number): Promise<void> {
    const what = `held at write ${place + 1}`;
    assert.equal(await stop.ends(90_000), 'Completed/OperationCompleted', what);
    assert.equal(await start.ends(), 'Completed/Superseded', what);
    await waitFor(
      `${what}: both to be released`,
      async () =>
        (await start.read())?.object.metadata.finalizers === undefined &&
        (await stop.read())?.object.metadata.finalizers === undefined,
      { timeoutMs: 60_000 },
    );
    const reasons = async (name: string): Promise<string[]> =>
      (await scenario.events(name)).map(({ reason }) => reason);
    const ofStart = await reasons(start.name);
    const ofStop = await reasons(stop.name);
    assert.equal(ofStart.filter((reason) => reason === 'VirtualMachineOperationSuperseded').length, 1, what);
    assert.equal(ofStop.filter((reason) => reason === 'VirtualMachineOperationSucceeded').length, 1, what);
    assert.equal(scenario.look('a')?.phase, 'Stopped', what);
    const machine = await scenario.machine('a');
    assert.ok(machine !== undefined);
    assert.deepEqual(changeRequests(machine), [], what);
    const deletes = (await scenario.writes({ verb: 'delete', resource: instances })).map(({ uid }) => uid);
    assert.ok(deletes.length <= 1, `${what}: ${deletes.length} deletes`);
    assert.equal(rig.layer.instancesOf(scenario.namespace, 'a').length, 1, what);
  }

  test('vmop/A28 the worker is killed after each step: same end, side effects once', async () => {
    const pairs = await heldAtEachWrite();
    await rig.killWorkers();
    for (const { hold } of pairs) hold?.release();
    await rig.startWorker();
    await Promise.all(pairs.map((each, place) => endedWell(each, place)));
  });

  test('workflows are terminated after each step: the sweep brings the operations back', async () => {
    const pairs = await heldAtEachWrite();
    await Promise.all(
      pairs.flatMap(({ scenario, start, stop }) =>
        [
          vmCoordinatorId(scenario.namespace, 'a'),
          vmOperationId(scenario.namespace, start.uid),
          vmOperationId(scenario.namespace, stop.uid),
        ].map((id) =>
          rig.client.workflow
            .getHandle(id)
            .terminate('a test')
            .catch(() => undefined),
        ),
      ),
    );
    for (const { hold } of pairs) hold?.release();
    let sweeps = 0;
    const sweeping = setInterval(() => {
      void rig.client.workflow
        .start('vmopSweep', { taskQueue: rig.taskQueue, workflowId: `vmop-sweep-${process.pid}-${++sweeps}`, args: [] })
        .catch(() => undefined);
    }, 3_000);
    try {
      await Promise.all(pairs.map((each, place) => endedWell(each, place)));
    } finally {
      clearInterval(sweeping);
    }
  });
});
