import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RecordedRequest } from '../../sim/request-log.ts';
import type { SupervisedProcess } from '../../stack/processes.ts';
import { assertClean, assertGap, assertMeasured, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { Rig, type Scenario, type Swap } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const old = '416.94.1';
const wanted = '417.94.2';
/**
 * Heartbeat timeout of the renames, and what their repetition may take where all swaps of a file come back at once on cores that
 * other tests share; the measure is printed.
 */
const backWithinMs = 10_000 + 15_000;

let rig: Rig;
let ova: BuiltOva;
/** Two of them, as an operator would have: one dies, the other goes on. */
const controls = new Set<SupervisedProcess>();
before(async () => {
  rig = await Rig.start({ noWorkers: true });
  await Promise.all([addControl(), addControl(), rig.startWorker('transfer')]);
  ova = await (await rig.scenario()).ova(wanted);
});
after(async () => {
  await Promise.all([...controls].map((worker) => worker.stop(3_000)));
  await rig.stop();
});

async function addControl(): Promise<void> {
  controls.add(await rig.startWorker('control'));
}

/** SIGKILL of the one that carries out the swap's running step. */
async function killWorkerOf(swap: Swap): Promise<void> {
  const { pendingActivities } = (await swap.handle.describe()).raw;
  const identity = pendingActivities?.[0]?.lastWorkerIdentity ?? '';
  const worker = [...controls].find(({ pid }) => identity.endsWith(`:${pid}`));
  assert.ok(worker !== undefined, `no worker of ours is ${identity}`);
  controls.delete(worker);
  await worker.kill();
}

const renameTo =
  (name: string) =>
  ({ method, body }: RecordedRequest): boolean =>
    method === 'Rename_Task' && body.includes(`<newName>${name}<`);

function calls(matches: (request: RecordedRequest) => boolean): number {
  return rig.proxy.requests().filter(matches).length;
}

async function watched(): Promise<{
  scenario: Scenario;
  previous: string;
  poller: Awaited<ReturnType<Scenario['poller']>>;
}> {
  const scenario = await rig.scenario();
  const previous = await scenario.template(scenario.names.prod, old);
  return { scenario, previous, poller: await scenario.poller() };
}

const moments = [
  { when: 'before the second rename reaches the server', of: 'prod', at: 'call', wasThere: false },
  { when: 'before the answer to the first rename comes', of: 'rollback', at: 'answer', wasThere: false },
  { when: 'before the answer to the second rename comes', of: 'prod', at: 'answer', wasThere: true },
] as const;

for (const { when, of, at, wasThere } of moments) {
  test(`template/14 killed between the renames, ${when}: the new template gets the name in time`, async (t) => {
    while (controls.size < 2) await addControl();
    const { scenario, previous, poller } = await watched();
    const { names } = scenario;
    const held = rig.proxy.hold({ method: 'Rename_Task', match: renameTo(names[of]) }, at);
    const swap = await scenario.start({ ova });
    const request = await held.arrived;
    await killWorkerOf(swap);
    const killedAt = performance.now();
    await waitFor('the end of its connection', () => request.end);
    held.release();
    const result = await swap.result();
    await poller.stop();

    assert.equal(result.outcome, 'swapped');
    assert.equal(calls(renameTo(names.rollback)), 1);
    assert.equal(calls(renameTo(names.prod)), at === 'call' ? 2 : 1); // the first of two never reached the server
    const ref = await assertClean(scenario);
    assert.deepEqual(poller.owners(), [previous, ref]);
    const backMs = (poller.samples.find((sample) => sample.ref === ref)?.at ?? Infinity) - killedAt;
    t.diagnostic(`the name is back ${backMs.toFixed(0)} ms after the kill`);
    assert.equal(backMs < 0, wasThere);
    assert.ok(backMs <= backWithinMs);
    if (wasThere) assertGap(t, poller);
    assertMeasured(poller, result.gapMs);
    assertOnlyGood(poller, old, wanted);
    assertNeverLost(poller);
  });
}
