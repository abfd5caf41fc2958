import { readFile } from 'node:fs/promises';
import type { Client } from '@temporalio/client';
import { createBatchSpecs } from '../../activities/batch/batch-specs.ts';
import { settingsOf } from '../../activities/batch/entry-settings.ts';
import { firstEntry } from '../../activities/batch/first-entry.ts';
import type {
  BatchView,
  EntriesPage,
  EntriesQuery,
  MigrationInput,
  MigrationView,
  PhaseCounts,
} from '../../workflows/contracts/batch.ts';
import { batchId, migrationId, shardId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { connectTemporal, type TemporalUnderTest } from '../support/shared-temporal.ts';
import { waitFor } from '../support/wait-for.ts';
import { startBatchWorker } from './b4-start.ts';
import { apply, instanceOf, name, network, noOpWorld, spec } from './b4-world.ts';
import { median, round, type Outcome } from './measure.ts';

/** Starts at once of the flat loop. */
const parallel = 100;

/** B4: many VMs through a batch with far sides that do nothing, against a flat loop that starts the same workflows. */
export async function batchAdmission(options: { full: boolean }): Promise<Outcome> {
  const vms = options.full ? 10_000 : 1_000;
  const ours = await onOwnServer((temporal) => throughBatch(temporal, vms));
  const flat = await onOwnServer((temporal) => flatLoop(temporal, Math.min(vms, 1_000)));
  const rate = vms / ours.seconds;
  console.error(`  events outside the VMs' own workflows: ${JSON.stringify(ours.types)}`);
  const ratio = rate / (flat.vms / flat.seconds);
  const events = ours.events / vms;
  return {
    name: `B4 ${vms} VMs through a batch`,
    numbers: {
      vms,
      seconds: round(ours.seconds),
      vmsPerSecond: round(rate),
      flatPerSecond: round(flat.vms / flat.seconds),
      eventsPerVm: round(events),
      longestRun: ours.longestRun,
      largestPayload: ours.largestPayload,
      startSeconds: round(ours.startSeconds),
      peakRssMb: Math.round(ours.peakRss / 1e6),
      rssAtFifthMb: Math.round(ours.rssAtFifth / 1e6),
      slowestPageMs: round(Math.max(...ours.queriesMs)),
    },
    verdicts: [
      {
        what: 'VMs per second against a flat loop',
        measured: round(ratio),
        unit: '×',
        target: '>= 0.8',
        holds: ratio >= 0.8,
      },
      {
        what: 'events per VM outside its own workflow',
        measured: round(events),
        unit: '',
        target: '<= 12',
        holds: events <= 12,
      },
      {
        what: 'longest run of batch and shards',
        measured: ours.longestRun,
        unit: 'events',
        target: '<= 4096',
        holds: ours.longestRun <= 4_096,
      },
      {
        what: 'largest payload of batch and shards',
        measured: ours.largestPayload,
        unit: 'bytes',
        target: '<= 200000',
        holds: ours.largestPayload <= 200_000,
      },
      {
        what: 'start of all VMs',
        measured: round(ours.startSeconds),
        unit: 's',
        target: '<= 300',
        holds: ours.startSeconds <= 300,
      },
      {
        what: 'page of 200 members asked of a shard, p50',
        measured: round(median(ours.queriesMs)),
        unit: 'ms',
        target: '<= 200',
        holds: median(ours.queriesMs) <= 200,
      },
    ],
    inconclusive: false,
  };
}

async function onOwnServer<T>(work: (temporal: TemporalUnderTest) => Promise<T>): Promise<T> {
  const temporal = await connectTemporal({ own: true });
  try {
    return await work(temporal);
  } finally {
    await temporal.stop();
  }
}

interface Through {
  readonly seconds: number;
  readonly startSeconds: number;
  /** How long the first shard took to answer with a page, every ten seconds. */
  readonly queriesMs: readonly number[];
  readonly events: number;
  /** How many of each type, in the order of their numbers. */
  readonly types: Readonly<Record<string, number>>;
  readonly longestRun: number;
  readonly largestPayload: number;
  readonly peakRss: number;
  /** When a fifth of the VMs was done. */
  readonly rssAtFifth: number;
}

async function throughBatch(temporal: TemporalUnderTest, vms: number): Promise<Through> {
  const taskQueue = 'bench-batch';
  const process = await startBatchWorker(temporal, taskQueue, vms);
  try {
    const { client } = temporal;
    await apply(client, taskQueue);
    const handle = client.workflow.getHandle(batchId(name));
    const from = performance.now();
    await handle.executeUpdate(messages.start, { args: [{ by: 'a benchmark' }] });
    let startSeconds = 0;
    let peakRss = 0;
    let rssAtFifth = 0;
    const queriesMs: number[] = [];
    const first = client.workflow.getHandle(shardId(name, 0));
    const ask = async (): Promise<void> => {
      const asked = performance.now();
      await first.query<EntriesPage, [EntriesQuery]>(messages.entries, { limit: 200 });
      queriesMs.push(performance.now() - asked);
    };
    const progress = new Progress();
    await waitFor(
      'all VMs to be migrated',
      async () => {
        const { counts, batchStatus } = await handle.query<BatchView>(messages.status);
        if (progress.show(counts)) await ask();
        const rss = await rssOf(process.pid);
        peakRss = Math.max(peakRss, rss);
        if (startSeconds === 0 && (counts['none'] ?? 0) === 0) startSeconds = (performance.now() - from) / 1_000;
        if (rssAtFifth === 0 && (counts['finished'] ?? 0) >= vms / 5) rssAtFifth = rss;
        return batchStatus === 'Finished';
      },
      { timeoutMs: 2 * 3_600_000, intervalMs: 1_000 },
    );
    const seconds = (performance.now() - from) / 1_000;
    const shards = Math.ceil(vms / 500);
    const ids = [batchId(name), ...Array.from({ length: shards }, (_, shard) => shardId(name, shard))];
    const sizes = await Promise.all(ids.map((id) => sizesOf(client, id)));
    const types = new Map<string, number>();
    for (const [type, times] of sizes.flatMap((size) => [...size.types]))
      types.set(type, (types.get(type) ?? 0) + times);
    return {
      seconds,
      types: Object.fromEntries([...types].toSorted(([, a], [, b]) => b - a)),
      startSeconds,
      queriesMs,
      peakRss,
      rssAtFifth,
      events: sizes.reduce((sum, { events }) => sum + events, 0),
      longestRun: Math.max(...sizes.map(({ longest }) => longest)),
      largestPayload: Math.max(...sizes.map(({ largest }) => largest)),
    };
  } finally {
    await process.stop(3_000);
  }
}

/** The same workflows, started by a client, each with leave to be committed from the start. */
async function flatLoop(temporal: TemporalUnderTest, vms: number): Promise<{ vms: number; seconds: number }> {
  const taskQueue = 'bench-flat';
  const process = await startBatchWorker(temporal, taskQueue, vms);
  try {
    const { client } = temporal;
    await apply(client, taskQueue);
    const world = noOpWorld(vms, client, createBatchSpecs(client));
    const settings = settingsOf(spec, world.config);
    const from = performance.now();
    let next = 0;
    const loop = async (): Promise<void> => {
      for (let index = next++; index < vms; index = next++) {
        const entry = await firstEntry({ deps: world, spec, instance: instanceOf(index), networks: [network] });
        const input: MigrationInput = { entry, shardId: 'flat/none', settings };
        const handle = await client.workflow.signalWithStart('migration', {
          taskQueue,
          workflowId: migrationId(entry.instance_uuid),
          args: [input],
          signal: messages.commitGranted,
          signalArgs: [{ token: entry.token }],
        });
        await waitFor(
          'a VM to be migrated',
          async () => (await handle.query<MigrationView>(messages.status)).entryStatus === 'Finished',
          { timeoutMs: 600_000, intervalMs: 500 },
        );
      }
    };
    await Promise.all(Array.from({ length: parallel }, loop));
    return { vms, seconds: (performance.now() - from) / 1_000 };
  } finally {
    await process.stop(3_000);
  }
}

/** For who waits: a line, and true, each time that something has changed within ten seconds. */
class Progress {
  #last = '';
  #at = 0;

  show(counts: PhaseCounts): boolean {
    const line = JSON.stringify(counts);
    if (line === this.#last || performance.now() - this.#at < 10_000) return false;
    this.#last = line;
    this.#at = performance.now();
    console.error(`  ${line}`);
    return true;
  }
}

interface Sizes {
  readonly events: number;
  readonly longest: number;
  readonly largest: number;
  readonly types: ReadonlyMap<string, number>;
}

/** Over all runs of one workflow. */
async function sizesOf(client: Client, id: string): Promise<Sizes> {
  let [events, longest, largest] = [0, 0, 0];
  const types = new Map<string, number>();
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${id}'` })) {
    const history = (await client.workflow.getHandle(id, runId).fetchHistory()).events ?? [];
    events += history.length;
    longest = Math.max(longest, history.length);
    for (const event of history) {
      largest = Math.max(largest, JSON.stringify(event).length);
      const attributes = Object.entries(event).find(
        ([key, value]) => key.endsWith('EventAttributes') && value !== null,
      );
      const type = attributes?.[0].replace('EventAttributes', '') ?? 'unknown';
      types.set(type, (types.get(type) ?? 0) + 1);
    }
  }
  return { events, longest, largest, types };
}

async function rssOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024;
}
