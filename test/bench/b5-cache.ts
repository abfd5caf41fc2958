import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connectTemporal, type TemporalUnderTest } from '../support/shared-temporal.ts';
import { largestSpread, median, round, spread, type Outcome } from './measure.ts';

const run = promisify(execFile);
const child = fileURLToPath(new URL('./b5-child.ts', import.meta.url));

interface Parked {
  readonly rssKb: number;
  readonly heapKb: number;
  readonly cpuMs: number;
  readonly bytes: number;
}

interface Replayed {
  readonly eventsPerSecond: number;
  readonly longestMs: number;
}

/** B5: what a waiting workflow costs a worker, and how fast histories are replayed, against the bare SDK. */
export async function cacheAndReplay(options: { full: boolean }): Promise<Outcome> {
  const [workflows, events, rounds] = options.full ? [1_000, 40_000, 5] : [200, 5_000, 3];
  const ours = { park: [] as Parked[], heap: [] as Parked[], replay: [] as Replayed[] };
  const bare = { park: [] as Parked[], heap: [] as Parked[], replay: [] as Replayed[] };
  for (let turn = 0; turn < rounds; turn++) {
    const order = [{ whose: 'ours', into: ours } as const, { whose: 'bare', into: bare } as const];
    for (const { whose, into } of turn % 2 === 0 ? order : order.reverse()) {
      into.park.push(await measured<Parked>(whose, 'park', workflows));
      into.heap.push(await measured<Parked>(whose, 'heap', workflows));
      into.replay.push(await measured<Replayed>(whose, 'replay', events));
    }
  }
  const of = <T>(samples: readonly T[], field: keyof T): number => median(samples.map((one) => Number(one[field])));
  const speed = of(ours.replay, 'eventsPerSecond') / of(bare.replay, 'eventsPerSecond');
  const heap = of(ours.heap, 'heapKb');
  const bundle = of(ours.park, 'bytes') / of(bare.park, 'bytes');
  const longest = of(ours.replay, 'longestMs');
  return {
    name: `B5 ${workflows} waiting migrations, replay of the recorded histories`,
    numbers: {
      rssKb: round(of(ours.park, 'rssKb')),
      bareRssKb: round(of(bare.park, 'rssKb')),
      heapKb: round(heap),
      bareHeapKb: round(of(bare.heap, 'heapKb')),
      cpuMs: round(of(ours.park, 'cpuMs')),
      bareCpuMs: round(of(bare.park, 'cpuMs')),
      eventsPerSecond: Math.round(of(ours.replay, 'eventsPerSecond')),
      bareEventsPerSecond: Math.round(of(bare.replay, 'eventsPerSecond')),
      bundleBytes: of(ours.park, 'bytes'),
      bareBundleBytes: of(bare.park, 'bytes'),
    },
    verdicts: [
      { what: 'heap per waiting migration', measured: round(heap), unit: 'KB', target: '<= 150', holds: heap <= 150 },
      { what: 'replay against the bare SDK', measured: round(speed), unit: '×', target: '>= 0.8', holds: speed >= 0.8 },
      { what: 'longest replay', measured: Math.round(longest), unit: 'ms', target: '<= 1000', holds: longest <= 1_000 },
      {
        what: 'bundle against an empty one',
        measured: round(bundle),
        unit: '×',
        target: '<= 1.3',
        holds: bundle <= 1.3,
      },
    ],
    inconclusive: spread(bare.replay.map(({ eventsPerSecond }) => eventsPerSecond)) > largestSpread,
  };
}

/** On a server of its own, which nothing of the run before is left on. */
async function measured<T>(whose: 'ours' | 'bare', what: string, count: number): Promise<T> {
  const temporal: TemporalUnderTest = await connectTemporal({ own: true });
  try {
    const env = { ...process.env, TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace };
    const { stdout } = await run(process.execPath, ['--expose-gc', child, whose, what, String(count)], { env });
    // The core's own log goes to the same place.
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as T;
  } finally {
    await temporal.stop();
  }
}
