import { readFile } from 'node:fs/promises';
import type { Client } from '@temporalio/client';
import type { BatchView, EntriesPage, EntriesQuery, PhaseCounts } from '../../workflows/contracts/batch.ts';
import { batchId, shardId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { connectTemporal, type TemporalUnderTest } from '../support/shared-temporal.ts';
import { waitFor } from '../support/wait-for.ts';
import { startBatchWorker } from './b4-start.ts';
import { apply, name } from './b4-world.ts';

/** A Temporal server for this work alone. */
export async function onOwnServer<T>(work: (temporal: TemporalUnderTest) => Promise<T>): Promise<T> {
  const temporal = await connectTemporal({ own: true });
  try {
    return await work(temporal);
  } finally {
    await temporal.stop();
  }
}

/** How one batch went. */
export interface Through {
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

/** So many VMs through one batch, from its start to the last Finished. */
export async function throughBatch(temporal: TemporalUnderTest, vms: number): Promise<Through> {
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
        const rss = await rssOf(process.pid);
        if (progress.show(counts, rss)) await ask();
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

/** For who waits: a line, and true, each time that something has changed within ten seconds. */
class Progress {
  #last = '';
  #at = 0;
  readonly #from = performance.now();

  show(counts: PhaseCounts, rss: number): boolean {
    const line = JSON.stringify(counts);
    if (line === this.#last || performance.now() - this.#at < 10_000) return false;
    this.#last = line;
    this.#at = performance.now();
    const seconds = Math.round((this.#at - this.#from) / 1_000);
    console.error(`  ${seconds} s, ${Math.round(rss / 1e6)} MB: ${line}`);
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
