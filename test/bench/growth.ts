import { setTimeout as sleep } from 'node:timers/promises';
import { delayAnnotations } from '../sim/vm-layer/switches.ts';
import { VmRig } from '../support/vm-rig.ts';
import { onOwnServer, throughBatch } from './b4-through.ts';
import { cpuSeconds, peakRssMiB, round, type Outcome, type Verdict } from './measure.ts';

/** How much more of something one VM or operation may cost where there are many. */
const mostGrowth = 1.5;
const waitSeconds = 60;
/** Operations that are begun at the same time. */
const atOnce = 20;

interface Batch {
  readonly vms: number;
  readonly secondsPerVm: number;
  readonly eventsPerVm: number;
  readonly longestRun: number;
  readonly rssMiB: number;
}

interface Waiting {
  readonly operations: number;
  readonly callsPerMinute: number;
  readonly cpuMsPerMinute: number;
  readonly eventsPerOperation: number;
  readonly rssMiB: number;
}

/** What one more VM of a batch and one more waiting operation cost, where there are few and where there are many. */
export async function growth(options: { full: boolean }): Promise<Outcome> {
  const waiting: Waiting[] = [];
  for (const operations of options.full ? [10, 100, 1_000] : [10, 100]) waiting.push(await whileWaiting(operations));
  const batches: Batch[] = [];
  for (const vms of options.full ? [100, 1_000, 10_000] : [100, 1_000]) batches.push(await batchOf(vms));
  return {
    name: 'Cost of growth',
    numbers: { batches, waiting },
    verdicts: [
      grown(
        'seconds per VM of a batch',
        batches.map(({ secondsPerVm }) => secondsPerVm),
      ),
      grown(
        'events per VM outside its own workflow',
        batches.map(({ eventsPerVm }) => eventsPerVm),
      ),
      grown(
        'events per waiting operation',
        waiting.map(({ eventsPerOperation }) => eventsPerOperation),
      ),
      grown('API calls per waiting operation and minute', perOperation(waiting, 'callsPerMinute')),
      grown('CPU per waiting operation and minute', perOperation(waiting, 'cpuMsPerMinute')),
    ],
    inconclusive: false,
  };
}

/** The largest size against the smallest. */
function grown(what: string, each: readonly number[]): Verdict {
  const [few = 0, many = 0] = [each[0], each.at(-1)];
  const measured = many === 0 ? 0 : round(many / few);
  return { what, measured, unit: '×', target: `<= ${mostGrowth}`, holds: measured <= mostGrowth };
}

function perOperation(all: readonly Waiting[], field: 'callsPerMinute' | 'cpuMsPerMinute'): number[] {
  return all.map((one) => one[field] / one.operations);
}

async function batchOf(vms: number): Promise<Batch> {
  const through = await onOwnServer((temporal) => throughBatch(temporal, vms));
  return {
    vms,
    secondsPerVm: round(through.seconds / vms, 3),
    eventsPerVm: round(through.events / vms),
    longestRun: through.longestRun,
    rssMiB: Math.round(through.peakRss / 1024 ** 2),
  };
}

/** Starts of VMs that take an hour to come up: every operation waits for its proof. */
async function whileWaiting(count: number): Promise<Waiting> {
  const rig = await VmRig.start({ ownTemporal: true, noWorkers: true });
  try {
    const { pid } = await rig.startWorker();
    const scenario = await rig.scenario();
    const vm = { runPolicy: 'Manual', annotations: { [delayAnnotations.bootDelay]: '1h' } } as const;
    const operations = await inTurns(count, async (index) => {
      await scenario.vm(`vm-${index}`, vm);
      return await scenario.op('Start', `vm-${index}`);
    });
    await inTurns(count, async (index) => {
      await operations[index]?.is('InProgress', ({ phase }) => phase === 'InProgress', 300_000);
    });
    await sleep(10_000);
    rig.proxy.clearRequests();
    const cpu = cpuSeconds(pid);
    await sleep(waitSeconds * 1_000);
    const used = cpuSeconds(pid) - cpu;
    const calls = rig.proxy.requests().length;
    const histories = await inTurns(Math.min(count, 50), async (index) => {
      const history = await operations[index]?.handle.fetchHistory();
      return history?.events?.length ?? 0;
    });
    return {
      operations: count,
      callsPerMinute: round((calls * 60) / waitSeconds),
      cpuMsPerMinute: Math.round((used * 1_000 * 60) / waitSeconds),
      eventsPerOperation: Math.max(...histories),
      rssMiB: Math.round(peakRssMiB(pid)),
    };
  } finally {
    await rig.stop();
  }
}

async function inTurns<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  for (let first = 0; first < count; first += atOnce) {
    const indexes = Array.from({ length: Math.min(atOnce, count - first) }, (_, at) => first + at);
    done.push(...(await Promise.all(indexes.map(work))));
  }
  return done;
}
