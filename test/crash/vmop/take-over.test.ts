import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { changeRequests, hasEnded } from '../../../activities/vmop/objects.ts';
import { vmCoordinatorId, vmOperationId } from '../../../workflows/contracts/ids.ts';
import type { VmopType } from '../../../workflows/contracts/vmop.ts';
import { switches } from '../../sim/vm-layer/switches.ts';
import type { NewVm, VmView } from '../../sim/vm-layer/types.ts';
import type { Hold } from '../../sim/hold.ts';
import { VmRig, type OperationUnderTest, type VmScenario } from '../../support/vm-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

interface Pair {
  readonly older: { readonly type: VmopType; readonly force?: boolean };
  readonly newer: { readonly type: VmopType; readonly force?: boolean };
  readonly vm: NewVm;
  /** The older one is then in the middle of it. */
  readonly isStuck: (vm: VmView) => boolean;
  readonly endsAs: 'Stopped' | 'Running';
  /** How many instances there ever were. */
  readonly instances: number;
}

const pairs: Readonly<Record<string, Pair>> = {
  'a stop takes over from a start that finds no node': {
    older: { type: 'Start' },
    newer: { type: 'Stop' },
    vm: { runPolicy: 'Manual', annotations: { [switches.unschedulable]: 'true' } },
    isStuck: ({ instance }) => instance !== undefined,
    endsAs: 'Stopped',
    instances: 1,
  },
  'a forced restart takes over from a stop whose guest does not listen': {
    older: { type: 'Stop' },
    newer: { type: 'Restart', force: true },
    vm: { running: true, terminationGracePeriodSeconds: 600, annotations: { [switches.ignoreShutdown]: 'true' } },
    isStuck: ({ phase }) => phase === 'Stopping',
    endsAs: 'Running',
    instances: 2,
  },
  'a stop takes over from a migration that is copying': {
    older: { type: 'Migrate' },
    newer: { type: 'Stop' },
    vm: { running: true, annotations: { [switches.migrationStuckAt]: 'Running' } },
    isStuck: ({ phase }) => phase === 'Migrating',
    endsAs: 'Stopped',
    instances: 1,
  },
};

interface Running {
  readonly scenario: VmScenario;
  readonly older: OperationUnderTest;
  readonly newer: OperationUnderTest;
  readonly hold?: Hold;
  /** How many requests had passed the proxy before the newer one was handed over. */
  readonly before: number;
}

/** From its first status to its release. */
const fewestWrites = 14;

const instances = 'internalvirtualizationvirtualmachineinstances';

/**
 * The newer one writes to the API server some twenty times, from its first status to its release. Here each of these writes is
 * the last thing that happens before the crash: it has taken effect, its answer is lost. One VM per write, all at the same time.
 */
for (const [title, pair] of Object.entries(pairs)) takenOverWhileKilled(title, pair);

function takenOverWhileKilled(title: string, pair: Pair): void {
  describe(title, () => {
    let rig: VmRig;
    let writes = 0;
    before(async () => {
      rig = await VmRig.start();
      const scenario = await rig.scenario();
      const { newer, before: earlier } = await begin(scenario);
      assert.equal(await newer.ends(), 'Completed/OperationCompleted');
      await newer.result();
      writes = rig.proxy.requests().slice(earlier).filter(isWriteOf(scenario)).length;
      assert.ok(writes >= fewestWrites, `${writes} writes`);
    });
    after(async () => await rig.stop());

    /** `nth`: the write of the newer one that is held after it took effect; undefined: none. */
    async function begin(scenario: VmScenario, nth?: number): Promise<Running> {
      await scenario.vm('a', { ...pair.vm, timeoutMs: 120_000 });
      const older = await scenario.op(pair.older.type, 'a');
      await older.inProgress(120_000);
      await scenario.vmIs('a', pair.isStuck, 120_000);
      await waitFor('the events of the older one', async () => (await scenario.events('a')).length > 0);
      const { type, force } = pair.newer;
      const newer = await scenario.op(type, 'a', {
        unseen: true,
        name: 'newer',
        ...(force === undefined ? {} : { force }),
      });
      const match = isWriteOf(scenario);
      const before = rig.proxy.requests().length;
      const hold = nth === undefined ? undefined : rig.proxy.hold({ method: '*', nth, match }, 'answer');
      await newer.submit();
      return { scenario, older, newer, before, ...(hold === undefined ? {} : { hold }) };
    }

    function isWriteOf(scenario: VmScenario) {
      return ({ verb, path }: { readonly verb: string; readonly path: string }): boolean =>
        verb !== 'GET' && path.includes(`/${scenario.namespace}/`);
    }

    async function heldAtEachWrite(): Promise<Running[]> {
      const all = await Promise.all(
        Array.from({ length: writes }, async (_, n) => await begin(await rig.scenario(), n + 1)),
      );
      await Promise.all(all.map(isHeld));
      return all;
    }

    /** The rehearsal may have taken a write or two more, e.g. one that was tried twice: then the newer one ends without it. */
    async function isHeld({ hold, newer }: Running, place: number): Promise<void> {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`write ${place + 1} never came`)), 120_000);
      });
      const isOver = newer
        .ends(120_000)
        .then(() => newer.result())
        .then(() => 'over' as const)
        .catch(() => late);
      const outcome = await Promise.race([hold?.arrived, isOver, late]).finally(() => clearTimeout(timer));
      if (outcome === 'over') assert.ok(place >= fewestWrites, `it ended without write ${place + 1}`);
    }

    async function endedWell({ scenario, older, newer }: Running, place: number): Promise<void> {
      const what = `held at write ${place + 1}`;
      assert.equal(await newer.ends(120_000), 'Completed/OperationCompleted', what);
      assert.equal(await older.ends(), 'Completed/Superseded', what);
      await waitFor(
        `${what}: both to be released`,
        async () =>
          (await older.read())?.object.metadata.finalizers === undefined &&
          (await newer.read())?.object.metadata.finalizers === undefined,
        { timeoutMs: 120_000 },
      );
      const count = async (name: string, wanted: string): Promise<number> =>
        (await scenario.events(name)).filter(({ reason }) => reason === wanted).length;
      assert.equal(await count(older.name, 'VirtualMachineOperationSuperseded'), 1, what);
      assert.equal(await count(newer.name, 'VirtualMachineOperationSucceeded'), 1, what);
      await scenario.vmIs('a', ({ phase }) => phase === pair.endsAs);
      const machine = await scenario.machine('a');
      assert.ok(machine !== undefined);
      assert.deepEqual(changeRequests(machine), [], what);
      assert.ok(
        (await scenario.migrations()).every((migration) => hasEnded(migration)),
        what,
      );
      const deletes = (await scenario.writes({ verb: 'delete', resource: instances })).map(({ uid }) => uid);
      assert.equal(new Set(deletes).size, deletes.length, `${what}: an instance was deleted twice`);
      assert.equal(rig.layer.instancesOf(scenario.namespace, 'a').length, pair.instances, what);
      // Whoever waits for it is answered before the connection is closed.
      await newer.result().catch(() => undefined);
    }

    test('vmop/A28 the worker is killed after each step: same end, side effects once', async () => {
      const all = await heldAtEachWrite();
      await rig.killWorkers();
      for (const { hold } of all) hold?.release();
      await rig.startWorker();
      await Promise.all(all.map((each, place) => endedWell(each, place)));
    });

    test('workflows are terminated after each step: the sweep brings the operations back', async () => {
      const all = await heldAtEachWrite();
      await Promise.all(
        all.flatMap(({ scenario, older, newer }) =>
          [
            vmCoordinatorId(scenario.namespace, 'a'),
            vmOperationId(scenario.namespace, older.uid),
            vmOperationId(scenario.namespace, newer.uid),
          ].map((id) =>
            rig.client.workflow
              .getHandle(id)
              .terminate('a test')
              .catch(() => undefined),
          ),
        ),
      );
      for (const { hold } of all) hold?.release();
      let sweeps = 0;
      const sweeping = setInterval(() => {
        void rig.client.workflow
          .start('vmopSweep', {
            taskQueue: rig.taskQueue,
            workflowId: `vmop-sweep-${process.pid}-${++sweeps}`,
            args: [],
          })
          .catch(() => undefined);
      }, 3_000);
      try {
        await Promise.all(all.map((each, place) => endedWell(each, place)));
      } finally {
        clearInterval(sweeping);
      }
    });
  });
}
