import type { WorkflowHandle } from '@temporalio/client';
import type { OperationInput } from '../../workflows/contracts/vmop.ts';
import { vmOperationId } from '../../workflows/contracts/ids.ts';
import type { SupervisedProcess } from '../stack/processes.ts';
import { connectTemporal, type TemporalUnderTest } from '../support/shared-temporal.ts';
import { startBenchWorker } from './bench-worker.ts';
import { cpuSeconds, largestSpread, median, round, spread, type Outcome } from './measure.ts';

/** Operations at once. */
const clients = 100;
/** Activities of an operation: claim, signal, wait, finish. */
const activities = 4;

interface Run {
  readonly perSecond: number;
  /** Milliseconds of the worker's CPU per workflow. */
  readonly cpuMs: number;
}

interface Side {
  readonly worker: SupervisedProcess;
  readonly one: (index: number) => Promise<WorkflowHandle>;
  readonly runs: Run[];
}

/** B1: VM operations over activities that do nothing, against the bare SDK with as many activities in a straight line. */
export async function throughput(options: { full: boolean }): Promise<Outcome> {
  const [operations, turns] = options.full ? [1_000, 10] : [300, 6];
  const temporal = await connectTemporal({ own: true });
  const sides = await Promise.all([ours(temporal), bare(temporal)]);
  let next = 0;
  try {
    let events = 0;
    for (let turn = 0; turn < turns; turn++) {
      for (const side of turn % 2 === 0 ? sides : [...sides].reverse()) {
        const run = await measured(side, operations, next);
        next += operations;
        // The first turn warms up.
        if (turn > 0) side.runs.push(run);
      }
    }
    const last = await sides[0].one(next);
    await last.result();
    events = (await last.fetchHistory()).events?.length ?? 0;
    return outcome(sides, { operations, events });
  } finally {
    await Promise.all(sides.map(({ worker }) => worker.stop(3_000)));
    await temporal.stop();
  }
}

function outcome(
  [ours, bare]: readonly [Side, Side],
  { operations, events }: { operations: number; events: number },
): Outcome {
  const of = ({ runs }: Side, field: keyof Run): number => median(runs.map((run) => run[field]));
  const ratio = of(ours, 'perSecond') / of(bare, 'perSecond');
  const cpu = of(ours, 'cpuMs') / of(bare, 'cpuMs');
  return {
    name: `B1 ${operations} VM operations over activities that do nothing, ${clients} at once`,
    numbers: {
      operations,
      perSecond: round(of(ours, 'perSecond')),
      barePerSecond: round(of(bare, 'perSecond')),
      cpuMs: round(of(ours, 'cpuMs')),
      bareCpuMs: round(of(bare, 'cpuMs')),
      spread: round(spread(ours.runs.map(({ perSecond }) => perSecond))),
      bareSpread: round(spread(bare.runs.map(({ perSecond }) => perSecond))),
      eventsPerOperation: events,
    },
    verdicts: [
      {
        what: 'operations per second against the bare SDK',
        measured: round(ratio),
        unit: '×',
        target: '>= 0.85',
        holds: ratio >= 0.85,
      },
      { what: 'CPU against the bare SDK', measured: round(cpu), unit: '×', target: '<= 1.2', holds: cpu <= 1.2 },
      { what: 'events per operation', measured: events, unit: '', target: '<= 45', holds: events <= 45 },
    ],
    inconclusive: spread(bare.runs.map(({ perSecond }) => perSecond)) > largestSpread,
  };
}

async function measured({ worker, one }: Side, operations: number, first: number): Promise<Run> {
  const cpu = cpuSeconds(worker.pid);
  const from = performance.now();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let index = next++; index < operations; index = next++) await (await one(first + index)).result();
  };
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - from) / 1_000;
  return { perSecond: operations / seconds, cpuMs: ((cpuSeconds(worker.pid) - cpu) * 1_000) / operations };
}

async function ours(temporal: TemporalUnderTest): Promise<Side> {
  const taskQueue = 'b1-ours';
  const worker = await startWorker(temporal, taskQueue, 'ours');
  return {
    worker,
    runs: [],
    one: async (index) => {
      const uid = `uid-${index}`;
      const names = { namespace: 'bench', name: `op-${index}`, uid, vmName: `vm-${index}` };
      const op = { ...names, type: 'Start', force: false, createdAt: new Date().toISOString(), seq: 1 } as const;
      const input: OperationInput = { op, decision: { kind: 'run' }, vmUid: 'vm-uid' };
      return await temporal.client.workflow.start('vmOperation', {
        taskQueue,
        workflowId: vmOperationId('bench', uid),
        args: [input],
      });
    },
  };
}

async function bare(temporal: TemporalUnderTest): Promise<Side> {
  const taskQueue = 'b1-bare';
  const worker = await startWorker(temporal, taskQueue, 'bare');
  return {
    worker,
    runs: [],
    one: async (index) =>
      await temporal.client.workflow.start('asking', { taskQueue, workflowId: `bare/${index}`, args: [activities] }),
  };
}

async function startWorker(
  temporal: TemporalUnderTest,
  taskQueue: string,
  whose: 'ours' | 'bare',
): Promise<SupervisedProcess> {
  return await startBenchWorker(temporal, {
    name: `The worker (${whose})`,
    script: './b1-worker.ts',
    args: [whose],
    taskQueue,
  });
}
