import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Poller } from './poller.ts';
import type { Scenario } from './rig.ts';

/** The bounds hold for an idle machine; test files share theirs with each other. */
export const loadSlackMs = 200;

/** Longest time without the production name beside an idle simulator. */
export const idleGapMs = 100;

/** Slowness of the machine that is made allowance for, at most: beyond it something else is wrong. */
const mostSlownessMs = 2_000;

/** How far the reported time without the name may be from what consumers saw. */
const measureToleranceMs = 50;

/** G1: never without the name for longer than this, once it was there. */
export function assertGap(t: TestContext, poller: Poller, boundMs = idleGapMs): void {
  const gapMs = poller.longestGapMs();
  const slowMs = slownessMs(poller);
  if (gapMs > boundMs)
    t.diagnostic(
      `without the name for ${gapMs.toFixed(0)} ms, on an idle machine at most ${boundMs}; looks took up to ${slowMs.toFixed(0)} ms`,
    );
  assert.ok(
    gapMs <= boundMs + loadSlackMs + 2 * slowMs,
    `the name was missing for ${gapMs} ms, looks took up to ${slowMs} ms`,
  );
}

/** What a look of this poller took at worst: the cores were busy with something else for so long, at both renames perhaps. */
function slownessMs({ slowestMs }: Poller): number {
  return Math.min(slowestMs, mostSlownessMs);
}

/** G2: whoever has the name is a template that is off, of one of these versions, and never half imported. */
export function assertOnlyGood(poller: Poller, ...versions: readonly string[]): void {
  const seen = poller.samples.flatMap(({ vm }) => vm ?? []);
  assert.ok(seen.length > 0, 'nothing was ever seen under the name');
  const bad = seen.find(
    (vm) =>
      !vm.isTemplate || !vm.poweredOff || !versions.includes(vm.version ?? '') || vm.marker?.state === 'importing',
  );
  assert.equal(bad, undefined);
}

/** G3: once it was there, at every moment there is the template, the previous one or a finished new one. */
export function assertNeverLost(poller: Poller): void {
  const first = poller.samples.findIndex(({ lost }) => lost !== true);
  const lost = poller.samples.slice(first).filter((sample) => sample.lost);
  assert.deepEqual(lost.slice(0, 3), [], `lost in ${lost.length} samples`);
}

/** G4: one finished template of this version under the name, nothing beside it, no lease. Answers its reference. */
export async function assertClean(scenario: Scenario, version = '417.94.2'): Promise<string> {
  const left = await scenario.inventory();
  assert.deepEqual(
    left.map(({ name, template, powerState, version: found }) => ({ name, template, powerState, version: found })),
    [{ name: scenario.names.prod, template: true, powerState: 'poweredOff', version }],
  );
  assert.deepEqual(await scenario.rig.vcsim.control.leases(), []);
  return left[0]?.ref ?? '';
}

/** G8: the reported time is what consumers saw. `slackMs`: for what is measured by the worker's clock, not by the server's. */
export function assertMeasured(poller: Poller, gapMs: number | undefined, slackMs = 0): void {
  const { atLeastMs, atMostMs } = poller.handover();
  assert.ok(gapMs !== undefined, 'no gapMs is reported');
  assert.ok(
    Math.max(atLeastMs - gapMs, gapMs - atMostMs) <= measureToleranceMs + slackMs + slownessMs(poller),
    `reported ${gapMs} ms, seen between ${atLeastMs.toFixed(0)} and ${atMostMs.toFixed(0)} ms, looks took up to ${slownessMs(poller)} ms`,
  );
}
