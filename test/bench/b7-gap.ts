import { renamedAt } from '../../activities/template/rename.ts';
import { createVSphere } from '../../activities/vsphere/vsphere-adapter.ts';
import type { MoRef, VSphereSession } from '../../activities/vsphere/port.ts';
import { Rig, type Scenario } from '../support/rig.ts';
import { largestSpread, median, percentile, round, spread, type Outcome } from './measure.ts';

/** B7 (b): how long the production name is missing in a whole swap, against two rename calls from one process. */
export async function swapGap(options: { full: boolean }): Promise<Outcome> {
  const swaps = options.full ? 50 : 15;
  const rig = await Rig.start();
  try {
    const scenario = await rig.scenario();
    const ours: number[] = [];
    const seen: number[] = [];
    const raw: number[] = [];
    await scenario.template(scenario.names.prod, '0');
    for (let i = 1; i <= swaps; i++) {
      raw.push(...(await rawPairs(rig, scenario, 4)));
      const poller = await scenario.poller();
      const { gapMs = Number.NaN } = await scenario.swap({ version: String(i), ova: await scenario.ova(String(i)) });
      await poller.stop();
      ours.push(gapMs);
      seen.push(poller.longestGapMs());
    }
    return outcome(ours, seen, raw);
  } finally {
    await rig.stop();
  }
}

/** Renames two templates of the test's own there and back: the time between the ends of the two tasks. */
async function rawPairs(rig: Rig, scenario: Scenario, pairs: number): Promise<number[]> {
  const vsphere = createVSphere({ allowInsecureTls: false });
  const { url, sha256 } = rig.proxy;
  const session = await vsphere.open({ ...rig.direct, url, tls: { mode: 'thumbprint', sha256 } });
  const suffix = Math.random().toString(36).slice(2, 8);
  const gaps: number[] = [];
  try {
    let live: MoRef = vm(await scenario.template(`raw-${suffix}`, '1'));
    let next: MoRef = vm(await scenario.template(`raw-next-${suffix}`, '2'));
    for (let i = 0; i < pairs; i++) {
      await rename(session, live, `raw-old-${suffix}`);
      await rename(session, next, `raw-${suffix}`);
      // By the server's clock, as a swap measures it.
      gaps.push(((await renamedAt(session, next)) ?? Number.NaN) - ((await renamedAt(session, live)) ?? Number.NaN));
      await rename(session, live, `raw-next-${suffix}`);
      [live, next] = [next, live];
    }
    for (const ref of [live, next]) await rig.vcsim.control.destroyVm(ref.value);
  } finally {
    await session.close();
    await vsphere.close();
  }
  return gaps;
}

async function rename(session: VSphereSession, ref: MoRef, name: string): Promise<void> {
  await session.waitForTask(await session.startRename(ref, name));
}

const vm = (value: string): MoRef => ({ type: 'VirtualMachine', value });

function outcome(ours: readonly number[], seen: readonly number[], raw: readonly number[]): Outcome {
  const ratio = median(ours) / median(raw);
  return {
    name: 'B7 (b) time without the production name',
    numbers: {
      swaps: ours.length,
      oursP50Ms: round(median(ours)),
      oursP95Ms: round(percentile(ours, 0.95)),
      pollerP50Ms: round(median(seen)),
      rawP50Ms: round(median(raw)),
      rawP95Ms: round(percentile(raw, 0.95)),
      rawSpread: round(spread(raw), 3),
    },
    verdicts: [
      { what: 'p50 against two raw renames', measured: round(ratio), unit: '×', target: '<= 1.5', holds: ratio <= 1.5 },
    ],
    inconclusive: spread(raw) > largestSpread,
  };
}
