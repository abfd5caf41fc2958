import type { LookupRequest } from '../../workflows/contracts/lookup.ts';
import { Rig } from '../support/rig.ts';
import { startBenchWorker } from './bench-worker.ts';
import { alternate, cpuSeconds, largestSpread, median, percentile, round, spread, type Outcome } from './measure.ts';

const warmUp = 20;

/** B2: start → first activity → result, one at a time, against the bare SDK and against seven trivial calls in sequence. */
export async function latency(options: { full: boolean }): Promise<Outcome> {
  const rounds = options.full ? 1_000 : 200;
  const rig = await Rig.start();
  const bareQueue = `${rig.taskQueue}-bare`;
  const bareWorker = await startBenchWorker(rig.temporal, {
    name: 'The bare worker',
    script: './bare-worker.ts',
    taskQueue: bareQueue,
  });
  try {
    const question: LookupRequest = { what: 'endpoints' };
    const ours: number[] = [];
    const bare: number[] = [];
    const floor: number[] = [];
    let id = 0;
    const timed = async (into: number[], work: () => Promise<unknown>): Promise<void> => {
      const from = performance.now();
      await work();
      into.push(performance.now() - from);
    };
    const client = rig.client.workflow;
    const runOurs = (): Promise<void> =>
      timed(ours, () =>
        client.execute('lookup', { taskQueue: rig.taskQueue, workflowId: `bench/ours/${id++}`, args: [question] }),
      );
    const runBare = (): Promise<void> =>
      timed(bare, () =>
        client.execute('bare', { taskQueue: bareQueue, workflowId: `bench/bare/${id++}`, args: [question] }),
      );
    const runFloor = (): Promise<void> => timed(floor, () => sevenCalls(rig));
    await alternate(warmUp, runOurs, runBare);
    for (const list of [ours, bare]) list.length = 0;
    const control = rig.workers.get('control')?.pid ?? process.pid;
    const before = { ours: cpuSeconds(control), bare: cpuSeconds(bareWorker.pid) };
    await alternate(rounds, runOurs, runBare);
    const cpu = { ours: cpuSeconds(control) - before.ours, bare: cpuSeconds(bareWorker.pid) - before.bare };
    for (let i = 0; i < 50; i++) await runFloor();
    return outcome({ ours, bare, floor, cpu, rounds });
  } finally {
    await bareWorker.stop(3_000);
    await rig.stop();
  }
}

async function sevenCalls(rig: Rig): Promise<void> {
  for (let i = 0; i < 7; i++) await rig.client.workflowService.getSystemInfo({});
}

interface Series {
  readonly ours: readonly number[];
  readonly bare: readonly number[];
  readonly floor: readonly number[];
  readonly cpu: { readonly ours: number; readonly bare: number };
  readonly rounds: number;
}

function outcome({ ours, bare, floor, cpu, rounds }: Series): Outcome {
  const ratio = median(ours) / median(bare);
  const p99 = percentile(ours, 0.99);
  return {
    name: 'B2 start → activity → result',
    numbers: {
      rounds,
      oursP50Ms: round(median(ours)),
      oursP99Ms: round(p99),
      bareP50Ms: round(median(bare)),
      bareP99Ms: round(percentile(bare, 0.99)),
      bareSpread: round(spread(bare), 3),
      oursSpread: round(spread(ours), 3),
      floorP50Ms: round(median(floor)),
      oursCpuMs: round((cpu.ours / rounds) * 1000),
      bareCpuMs: round((cpu.bare / rounds) * 1000),
    },
    verdicts: [
      { what: 'p50 against the bare SDK', measured: round(ratio), unit: '×', target: '<= 1.15', holds: ratio <= 1.15 },
      {
        what: 'p99 against own p50',
        measured: round(p99 - 2 * median(ours)),
        unit: 'ms over 2 × p50',
        target: '<= 20',
        holds: p99 <= 2 * median(ours) + 20,
      },
    ],
    inconclusive: spread(bare) > largestSpread,
  };
}
