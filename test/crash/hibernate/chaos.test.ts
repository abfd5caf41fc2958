import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '../../support/random.ts';
import { heal, makeAMess } from '../../support/set-chaos.ts';
import { SetRig } from '../../support/set-rig.ts';
import type { SetScenario, SetUnderTest } from '../../support/set-scenario.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

/** Random lives of sets; the same deeds for the same seed. */
const given = process.env['VMFLOW_TEST_SEED'];
const count = Number(process.env['VMFLOW_TEST_SEEDS'] ?? 30);
const seeds =
  given === undefined ? Array.from({ length: count }, (_, index) => index + 1) : given.split(',').map(Number);
/** So many sets live at the same time. */
const together = 10;
const deedsPerLife = 14;

let rig: SetRig;
before(async () => {
  rig = await SetRig.start({
    requestTimeoutMs: 3_000,
    // Holds that a person would have to end are not what this is about.
    // What an agent that can't take its tag back leaves at a VM that runs is found by the probe.
    migrations: { quiesceHardMs: 900_000, restoreHardMs: 900_000, resyncMs: 3_000, probeMs: 10_000 },
  });
});
after(() => rig.stop());

const room = { cpu: '64', memory: '64Gi', 'ephemeral-storage': '100Gi', pods: '100' };

for (let first = 0; first < seeds.length; first += together) {
  const lives = seeds.slice(first, first + together);
  test(`whatever happens in whatever order: no state lost, no twin, no foreign state (seeds ${lives.join(', ')})`, async () => {
    const scenario = await rig.scenario({ room });
    const sets = await Promise.all(lives.map((seed) => scenario.set(`s${seed}`)));
    const crashes = crashWorkers(randomFrom(first + 1));
    await Promise.all(sets.map((set, index) => makeAMess(set, deedsPerLife, randomFrom(lives[index] ?? 0))));
    await crashes.stop();
    await healAll(scenario, sets);
    for (const set of sets) await assertWell(set);
    scenario.check();
  });
}

/** Now and then all workers are killed, and come back. */
function crashWorkers(random: () => number): { stop(): Promise<void> } {
  const ending = new AbortController();
  const crashing = (async () => {
    while (!ending.signal.aborted) {
      await sleep(3_000 + random() * 12_000, undefined, { signal: ending.signal }).catch(() => undefined);
      await rig.killWorkers();
      await rig.startWorkers();
    }
  })();
  return {
    async stop() {
      ending.abort();
      await crashing;
    },
  };
}

async function healAll(scenario: SetScenario, sets: readonly SetUnderTest[]): Promise<void> {
  rig.proxy.clearRules();
  rig.registryProxy.clearRules();
  scenario.agents.faults.clear();
  for (const letter of ['a', 'b', 'c']) await scenario.agents.restart(scenario.node(letter));
  await Promise.all(sets.map((set) => heal(set, 'b')));
}

async function assertWell(set: SetUnderTest): Promise<void> {
  await set.settles('b', 3 * patienceMs);
  await waitFor(`no snapshot of ${set.name} to be left over`, async () => (await set.tag()).state === 'absent', {
    timeoutMs: 2 * patienceMs,
  });
  assert.equal(set.vms().length, 1, set.name);
}
