import { delayAnnotations } from '../sim/vm-layer/switches.ts';
import { Rig } from '../support/rig.ts';
import { VmRig, type OperationUnderTest, type VmScenario } from '../support/vm-rig.ts';
import { signalsOf } from '../support/vm-signals.ts';
import { waitFor } from '../support/wait-for.ts';
import { percentile, round, type Outcome } from './measure.ts';

/** The longest that Temporal itself takes: a wait's heartbeat time-out, which is longer than the sticky time-out of 4 s. */
const boundSeconds = { operations: 15, upload: 20 };
const slackSeconds = 5;
/** So long does each VM take to start: some operations are before their signal when the worker dies, some wait for the proof. */
const bootMs = 8_000;

/** B6: `kill -9` of the worker in the middle of many VM operations, and of the transfer worker in an upload; another starts at once. */
export async function recovery(options: { full: boolean }): Promise<Outcome> {
  const operations = options.full ? 200 : 60;
  const seconds = await afterKill(operations);
  const upload = await uploadAfterKill();
  const [p50, p99, slowest] = [0.5, 0.99, 1].map((share) => percentile(seconds.each, share)) as [
    number,
    number,
    number,
  ];
  return {
    name: `B6 ${operations} VM operations and an upload, workers killed`,
    numbers: {
      operations,
      p50Seconds: round(p50),
      p99Seconds: round(p99),
      slowestSeconds: round(slowest),
      workerStartSeconds: round(seconds.workerStart),
      uploadSeconds: round(upload),
      duplicates: seconds.duplicates,
    },
    verdicts: [
      {
        what: 'until an operation moves again, p99',
        measured: round(p99),
        unit: 's',
        target: `<= ${boundSeconds.operations} + ${slackSeconds}`,
        holds: p99 <= boundSeconds.operations + slackSeconds,
      },
      {
        what: 'until the upload moves again',
        measured: round(upload),
        unit: 's',
        target: `<= ${boundSeconds.upload} + ${slackSeconds}`,
        holds: upload <= boundSeconds.upload + slackSeconds,
      },
      {
        what: 'signals sent twice',
        measured: seconds.duplicates,
        unit: '',
        target: '0',
        holds: seconds.duplicates === 0,
      },
    ],
    inconclusive: false,
  };
}

interface Recovered {
  /** Seconds from the kill to the first step after it, of each operation that had not ended. */
  readonly each: readonly number[];
  readonly workerStart: number;
  readonly duplicates: number;
}

async function afterKill(count: number): Promise<Recovered> {
  const rig = await VmRig.start({ ownTemporal: true });
  try {
    const scenario = await rig.scenario();
    const names = Array.from({ length: count }, (_, index) => `vm-${index}`);
    const annotations = { [delayAnnotations.bootDelay]: `${bootMs}ms` };
    for (let first = 0; first < count; first += 20)
      await Promise.all(
        names
          .slice(first, first + 20)
          .map((name) => scenario.vm(name, { runPolicy: 'Manual', annotations, timeoutMs: 120_000 })),
      );
    const operations = await Promise.all(names.map((name) => scenario.op('Start', name)));
    await halfSignalled(operations);
    await rig.killWorkers();
    const killedAt = Date.now();
    await rig.startWorker();
    const workerStart = (Date.now() - killedAt) / 1_000;
    for (const operation of operations) await operation.ends(180_000);
    const each = await Promise.all(operations.map((operation) => secondsUntilNext(operation, killedAt)));
    return {
      each: each.filter((seconds) => seconds !== undefined),
      workerStart,
      duplicates: await duplicatesIn(scenario, operations),
    };
  } finally {
    await rig.stop();
  }
}

async function halfSignalled(operations: readonly OperationUnderTest[]): Promise<void> {
  await waitFor(
    'half of them to be in progress',
    async () => {
      const phases = await Promise.all(operations.map(async (operation) => (await operation.read())?.phase));
      return phases.filter((phase) => phase === 'InProgress').length >= operations.length / 2;
    },
    { timeoutMs: 120_000, intervalMs: 200 },
  );
}

/** Undefined: it had ended before. */
async function secondsUntilNext({ handle }: OperationUnderTest, killedAt: number): Promise<number | undefined> {
  const { events } = await handle.fetchHistory();
  const times = (events ?? [])
    .filter(
      (event) => event.activityTaskStartedEventAttributes != null || event.workflowTaskCompletedEventAttributes != null,
    )
    .map(({ eventTime }) => Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1e6);
  const next = times.find((time) => time > killedAt);
  return next === undefined ? undefined : (next - killedAt) / 1_000;
}

async function duplicatesIn(scenario: VmScenario, operations: readonly OperationUnderTest[]): Promise<number> {
  const writes = await scenario.writes();
  return operations.filter((operation) => signalsOf(operation, writes).length > 0).length;
}

/** Seconds from the kill of a transfer worker to the next byte that reaches the vCenter. */
async function uploadAfterKill(): Promise<number> {
  const rig = await Rig.start({ ownTemporal: true });
  try {
    const scenario = await rig.scenario();
    await scenario.template(scenario.names.prod, '416.94.1');
    rig.proxy.addNfcRule({ action: 'stall', afterBytes: 1_024 });
    const swap = await scenario.start({ ova: await scenario.ova() });
    const uploads = (): number => rig.proxy.requests().filter(({ kind }) => kind === 'nfc').length;
    await waitFor('the upload', () => uploads() > 0);
    const before = uploads();
    await rig.killWorker('transfer');
    const killedAt = Date.now();
    const started = rig.startWorker('transfer');
    await waitFor('the next upload', () => uploads() > before, { timeoutMs: 120_000, intervalMs: 50 });
    const seconds = (Date.now() - killedAt) / 1_000;
    await started;
    await swap.result();
    return seconds;
  } finally {
    await rig.stop();
  }
}
