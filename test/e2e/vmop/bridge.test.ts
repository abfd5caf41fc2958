import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import { ClusterError } from '../../../activities/kubernetes/port.ts';
import { vmopKeys, type VmopSpec } from '../../../workflows/contracts/vmop.ts';
import { delayAnnotations, switches } from '../../sim/vm-layer/switches.ts';
import { freePort, type SupervisedProcess } from '../../stack/processes.ts';
import { writeBridgeConfig } from '../../support/bridge-config.ts';
import { VmRig, type NewOperation, type OperationUnderTest, type VmScenario } from '../../support/vm-rig.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startBridge } from '../../support/workers.ts';

const instances = 'internalvirtualizationvirtualmachineinstances';

/** The whole way: a person creates an object, and nothing else. */
describe('operations through the bridge', () => {
  let rig: VmRig;
  let bridge: SupervisedProcess;
  let configPath: string;

  before(async () => {
    rig = await VmRig.start({ ownTemporal: true });
    const at = `127.0.0.1:${await freePort()}`;
    configPath = await writeBridgeConfig(rig, { webhook: { listen: at, url: `https://${at}/admit` } });
    bridge = await start();
  });
  after(async () => {
    await bridge.stop();
    await rig.stop();
  });

  /** Starts a bridge and waits until it is ready and asked. */
  async function start(): Promise<SupervisedProcess> {
    const { address, namespace } = rig.temporal;
    const started = await startBridge({ address, namespace, taskQueue: rig.taskQueue, configPath });
    const url = `http://127.0.0.1:${/"healthPort":(\d+)/.exec(started.output())?.[1]}`;
    await waitFor('the bridge', async () => (await request(`${url}/readyz`)).statusCode === 200);
    return started;
  }

  async function metrics(): Promise<string> {
    const [, port] = /"healthPort":(\d+)/.exec(bridge.output()) ?? [];
    return await (await request(`http://127.0.0.1:${port}/metrics`)).body.text();
  }

  const create = (
    scenario: VmScenario,
    type: VmopSpec['type'],
    vm: string,
    more: NewOperation = {},
  ): Promise<OperationUnderTest> => scenario.op(type, vm, { ...more, unseen: true });

  const numberOf = async (operation: OperationUnderTest): Promise<number> =>
    Number((await operation.read())?.object.metadata.annotations?.[vmopKeys.seq]);

  test('an object is all it takes; while it is active what contradicts it is refused', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', {
      running: true,
      terminationGracePeriodSeconds: 600,
      annotations: { [switches.ignoreShutdown]: 'true' },
    });
    const stop = await create(scenario, 'Stop', 'a');
    await stop.inProgress();
    await assert.rejects(
      create(scenario, 'Start', 'a'),
      (error) => error instanceof ClusterError && error.status === 403 && error.message.includes(`"${stop.name}"`),
    );
    await scenario.annotate('a', { [switches.ignoreShutdown]: undefined });
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    const again = await create(scenario, 'Start', 'a');
    assert.equal(await again.ends(), 'Completed/OperationCompleted');
  });

  // Four hundred operations: minutes where the machine has other things to do.
  const patience = { timeout: 15 * 60_000 };
  test('vmop/A37 the end of an operation frees its VM at once, two hundred times', patience, async () => {
    const scenario = await rig.scenario();
    const vms = Array.from({ length: 20 }, (_, i) => `vm-${i}`);
    // The tests after this one are not to run beside what is left of it.
    let hasFailed = false;
    await Promise.all(
      vms.map(async (vm) => {
        await scenario.vm(vm, { runPolicy: 'Manual', timeoutMs: 120_000 });
        for (let round = 0; round < 200 / vms.length; round += 1)
          for (const type of ['Start', 'Stop'] as const) {
            if (hasFailed) return;
            const operation = await create(scenario, type, vm, { name: `${vm}-${type.toLowerCase()}-${round}` });
            const end = await operation.ends(300_000).catch(String);
            hasFailed ||= end !== 'Completed/OperationCompleted';
            assert.equal(end, 'Completed/OperationCompleted');
          }
      }),
    );
  });

  test('a take-over is carried out and counted', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } });
    const start_ = await create(scenario, 'Start', 'a');
    await start_.inProgress();
    const stop = await create(scenario, 'Stop', 'a');
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
    assert.equal(await start_.ends(), 'Completed/Superseded');
    await waitFor('the count', async () =>
      /supersedes_total\{incumbent_type="Start",newcomer_type="Stop",force="false"\} 1$/m.test(await metrics()),
    );
    const shown = new RegExp(`status_phase\\{[^}]*uid="${start_.uid}"[^}]*phase="(\\w+)"\\} 1$`, 'm');
    await waitFor('the phase', async () => shown.exec(await metrics())?.[1] === 'Superseded');
  });

  test('vmop/A32 a deletion reaches whoever works on it, and only then the object goes', async () => {
    const scenario = await rig.scenario();
    const stuck = { [switches.migrationStuckAt]: 'Running', [delayAnnotations.abortDelay]: '10m' };
    await scenario.vm('a', { running: true, annotations: stuck });
    const move = await create(scenario, 'Migrate', 'a');
    await move.inProgress();
    await move.remove();
    await move.is('Terminating', ({ phase }) => phase === 'Terminating');
    await scenario.annotate('a', { [delayAnnotations.abortDelay]: undefined });
    await move.isGone();
    assert.deepEqual(await scenario.migrations(), []);
  });

  test('what came while the bridge was away is handed over in its order', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } });
    const first = await create(scenario, 'Start', 'a', { name: 'z' });
    await first.inProgress();
    await bridge.kill();
    await rig.kubernetes.admin.send('DELETE', configuration); // nobody answers there now
    const third = await create(scenario, 'Stop', 'a', { name: 'b', force: true });
    await waitFor('another second', () => Date.now() - Date.parse(third.created.ref.createdAt) > 1_000);
    const second = await create(scenario, 'Stop', 'a', { name: 'a' });
    bridge = await start();
    assert.equal(await third.ends(), 'Completed/OperationCompleted');
    assert.equal(await second.ends(), 'Failed/NotReadyToBeExecuted');
    assert.equal(await first.ends(), 'Completed/Superseded');
    assert.deepEqual([await numberOf(first), await numberOf(third), await numberOf(second)], [1, 2, 3]);
  });

  test('while Temporal is down operations are admitted and refused, and each is carried out once when it is back', async () => {
    const scenario = await rig.scenario();
    const names = Array.from({ length: 20 }, (_, i) => `vm-${i}`);
    await Promise.all(names.map((name) => scenario.vm(name, { running: true, timeoutMs: 120_000 })));
    await rig.temporal.server?.kill();
    const stops = await Promise.all(names.map((name) => create(scenario, 'Stop', name, { name: `stop-${name}` })));
    await assert.rejects(
      create(scenario, 'Start', 'vm-0'),
      (error) => error instanceof ClusterError && error.status === 403,
    );
    await waitFor('an outage to be noticed', () => bridge.output().includes('can not be handed to their coordinators'));
    await rig.temporal.server?.restart();
    const ends = await Promise.all(stops.map((stop) => stop.ends(120_000)));
    assert.deepEqual(new Set(ends), new Set(['Completed/OperationCompleted']));
    for (const name of names) {
      const deletes = await scenario.writes({ verb: 'delete', resource: instances, name });
      assert.equal(deletes.length, 1, name);
    }
    await waitFor('the end of the outage to be told', () => bridge.output().includes('Coordinators answer again'));
    assert.equal(bridge.output().split('can not be handed').length, 2);
  });

  test('while no worker runs nothing is lost', async () => {
    const scenario = await rig.scenario();
    await scenario.vm('a', { running: true });
    await rig.killWorkers();
    const stop = await create(scenario, 'Stop', 'a');
    await waitFor('an outage to be noticed', () => bridge.output().split('can not be handed').length === 3);
    await rig.startWorker();
    assert.equal(await stop.ends(), 'Completed/OperationCompleted');
  });
});

const configuration = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/vmflow';
