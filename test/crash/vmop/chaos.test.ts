import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { changeRequests, type Vmop } from '../../../activities/vmop/objects.ts';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import { delayAnnotations } from '../../sim/vm-layer/switches.ts';
import type { AuditEvent } from '../../stack/kubernetes-audit.ts';
import { randomFrom } from '../../support/random.ts';
import { OperationHistory } from '../../support/operation-history.ts';
import { makeAMess } from '../../support/vm-chaos.ts';
import { completedOf, VmRig, type VmScenario } from '../../support/vm-rig.ts';
import { signalsOf } from '../../support/vm-signals.ts';
import { waitFor } from '../../support/wait-for.ts';

const given = process.env['VMFLOW_TEST_SEED'];
const seeds = given === undefined ? [1, 2, 3] : given.split(',').map(Number);
const actions = 60;
const vmNames = ['a', 'b', 'c', 'd'];

/** So that operations meet. */
const slow = {
  [delayAnnotations.bootDelay]: '1500ms',
  [delayAnnotations.guestShutdownDelay]: '2s',
  [delayAnnotations.migration]: '800ms',
};

/** Random operations, deletions, kills, terminations and faults of the API; the same ones for the same seed. */
let rig: VmRig;
before(async () => {
  rig = await VmRig.start({
    requestTimeoutMs: 2_000,
    operations: { migrationAbortTimeoutMs: 2_000, targetPreparationMs: 5_000, readyToMigrateMs: 5_000 },
  });
});
after(async () => await rig.stop());

for (const seed of seeds) {
  test(`whatever happens in whatever order: no signal twice, no end rewritten, nothing left half-way (seed ${seed})`, async (t) => {
    const random = randomFrom(seed);
    const scenario = await rig.scenario();
    await Promise.all(
      vmNames.map((name) =>
        scenario.vm(name, { runPolicy: 'Manual', running: random() < 0.5, annotations: slow, timeoutMs: 60_000 }),
      ),
    );
    const history = new OperationHistory(scenario);
    const operations = await makeAMess(rig, scenario, vmNames, history, actions, random);
    await allEnd(scenario);
    history.stop();
    t.diagnostic(`ends: ${JSON.stringify(endsOf(await scenario.operations()))}`);
    assert.deepEqual(history.problems, []);
    const writes = await scenario.writes();
    for (const operation of operations) assert.deepEqual(signalsOf(operation, writes), [], operation.name);
    assertInstancesDeletedOnce(writes);
    for (const vmName of vmNames) {
      assertOrderOfOwners(vmName, writes);
      await waitFor(`nothing to wait at the machine of ${vmName}`, async () => {
        const machine = await scenario.machine(vmName);
        assert.ok(machine !== undefined);
        assert.deepEqual(changeRequests(machine), [], vmName);
        assert.equal(machine.metadata.annotations?.[vmopKeys.startRequested], undefined, vmName);
        return true;
      });
      const alive = rig.layer.instancesOf(scenario.namespace, vmName).filter(({ goneAt }) => goneAt === undefined);
      assert.ok(alive.length <= 1, vmName);
    }
    await waitFor('no migration to be left over', async () =>
      (await scenario.migrations()).every(({ status }) => ['Succeeded', 'Failed'].includes(String(status?.['phase']))),
    );
  });
}

function endsOf(operations: readonly Vmop[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const vmop of operations) {
    const end = `${vmop.phase}/${completedOf(vmop)?.reason}`;
    counts[end] = (counts[end] ?? 0) + 1;
  }
  return counts;
}

/** With the sweep as the schedule would run it. */
async function allEnd(scenario: VmScenario): Promise<void> {
  await waitFor(
    'all operations to end',
    async () => {
      await rig.sweep().catch(() => undefined);
      return (await scenario.operations()).every(({ isTerminal }) => isTerminal);
    },
    { timeoutMs: 200_000, intervalMs: 2_000 },
  ).catch(async (err: unknown) => {
    const open = (await scenario.operations()).filter(({ isTerminal }) => !isTerminal);
    throw new Error(`still open: ${JSON.stringify(open.map(({ object }) => object))}`, { cause: err });
  });
}

function assertInstancesDeletedOnce(writes: readonly AuditEvent[]): void {
  const deleted = writes
    .filter(({ verb, resource }) => verb === 'delete' && resource === resources.instance.plural)
    .map(({ uid }) => uid);
  assert.equal(new Set(deleted).size, deleted.length, 'an instance was deleted twice');
}

/** The fencing token of a machine never goes down. */
function assertOrderOfOwners(vmName: string, writes: readonly AuditEvent[]): void {
  const tokens = writes
    .filter(({ resource, name }) => resource === resources.machine.plural && name === vmName)
    .flatMap(({ request }) => (Array.isArray(request) ? (request as { path?: string; value?: unknown }[]) : []))
    .filter(({ path }) => path === '/metadata/annotations')
    .map(({ value }) => Number((value as Record<string, string>)[vmopKeys.fence]));
  assert.deepEqual(
    tokens,
    tokens.toSorted((a, b) => a - b),
    `fencing tokens of ${vmName}`,
  );
}
