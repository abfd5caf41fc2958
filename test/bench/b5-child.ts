import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createBatchSpecs } from '../../activities/batch/batch-specs.ts';
import { settingsOf } from '../../activities/batch/entry-settings.ts';
import { firstEntry } from '../../activities/batch/first-entry.ts';
import { createBatchActivities } from '../../activities/batch/index.ts';
import { workflowBundlePath } from '../../workers/bundle.ts';
import type { MigrationInput } from '../../workflows/contracts/batch.ts';
import { migrationId } from '../../workflows/contracts/ids.ts';
import { transferQueueOf } from '../../workflows/contracts/task-queues.ts';
import { recordedHistories } from '../replay/histories.ts';
import { apply, instanceOf, network, noOpTransfers, noOpWorld, spec } from './b4-world.ts';

/**
 * One measurement in a process of its own: whose bundle (`ours`, `bare`), and what: `park` and `heap` with a number of workflows, `replay` with a
 * number of events. Prints one line of JSON.
 */
const [whose = 'ours', what = 'park', number = '500'] = process.argv.slice(2);
const count = Number(number);
/** So many wait in the cache before anything is measured. */
const warmUp = 50;

/** As long as the recorded ones are in the middle; alone, a longer one would pay once for what short ones pay each time. */
const asked = 10;

Runtime.install({ logger: new DefaultLogger('ERROR') });
const code = whose === 'ours' ? await readFile(await workflowBundlePath(), 'utf8') : await bareBundle();
const bytes = code.replace(/\/\/# sourceMappingURL=.*$/s, '').length;
const answer = what === 'replay' ? await replays() : await parks();
console.log(JSON.stringify({ ...answer, bytes }));
process.exit(0);

async function bareBundle(): Promise<string> {
  const workflowsPath = fileURLToPath(new URL('./bare-workflows.ts', import.meta.url));
  return (await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })).code;
}

interface Server {
  readonly client: Client;
  readonly worker: Worker;
}

async function start(): Promise<Server> {
  const address = process.env['TEMPORAL_ADDRESS'] ?? '';
  const namespace = process.env['TEMPORAL_NAMESPACE'] ?? '';
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  const connection = await NativeConnection.connect({ address });
  const taskQueue = `b5-${process.pid}`;
  const world = noOpWorld(count + warmUp, client, createBatchSpecs(client));
  const common = { connection, namespace, maxCachedWorkflows: 100_000 };
  const worker = await Worker.create({
    ...common,
    taskQueue,
    workflowBundle: { code },
    activities:
      whose === 'ours' ? createBatchActivities(world) : { answer: (question: object) => Promise.resolve(question) },
    // In the main thread, whose heap can be read; else as it always runs.
    debugMode: what === 'heap',
  });
  const transfer = await Worker.create({
    ...common,
    taskQueue: transferQueueOf(taskQueue),
    activities: noOpTransfers,
  });
  void Promise.all([worker.run(), transfer.run()]);
  if (whose === 'ours') await apply(client, taskQueue);
  return { client, worker };
}

async function parks(): Promise<object> {
  const server = await start();
  await park(server, 0, warmUp);
  const before = memory();
  const cpu = process.cpuUsage();
  await park(server, warmUp, warmUp + count);
  const { user, system } = process.cpuUsage(cpu);
  const after = memory();
  return {
    rssKb: (after.rss - before.rss) / 1_024 / count,
    heapKb: (after.heapUsed - before.heapUsed) / 1_024 / count,
    cpuMs: (user + system) / 1_000 / count,
  };
}

function memory(): NodeJS.MemoryUsage {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage();
}

/** Our migrations wait for their window, copied; the bare ones for nothing. */
async function park({ client, worker }: Server, from: number, to: number): Promise<void> {
  const { taskQueue } = worker.options;
  const world = noOpWorld(count + warmUp, client, createBatchSpecs(client));
  const settings = settingsOf(spec, world.config);
  const one = async (index: number): Promise<void> => {
    if (whose === 'bare') {
      await client.workflow.start('parked', { taskQueue, workflowId: `parked/${process.pid}/${index}` });
      return;
    }
    const entry = await firstEntry({ deps: world, spec, instance: instanceOf(index), networks: [network] });
    const args: [MigrationInput] = [{ entry, shardId: 'flat/none', settings }];
    await client.workflow.start('migration', { taskQueue, workflowId: migrationId(entry.instance_uuid), args });
  };
  for (let index = from; index < to; index += 50)
    await Promise.all(Array.from({ length: Math.min(50, to - index) }, (_, nth) => one(index + nth)));
  for (let quiet = 0; quiet < 20;) {
    await sleep(100);
    const { numCachedWorkflows, numInFlightWorkflowActivations, numInFlightActivities } = worker.getStatus();
    const rests = numInFlightWorkflowActivations === 0 && numInFlightActivities === 0;
    quiet = rests && numCachedWorkflows >= to ? quiet + 1 : 0;
  }
}

async function replays(): Promise<object> {
  const recorded = await recordedHistories();
  // As many of the peer: what a worker for replays costs is shared by as many.
  const histories = whose === 'ours' ? recorded : recorded.fill((await bareHistory()) as (typeof recorded)[number]);
  const events = histories.reduce((sum, { history }) => sum + history.events.length, 0);
  const times = Math.ceil(count / events);
  const longest = { ms: 0 };
  let from = performance.now();
  for (let time = 0; time <= times; time++) {
    // The first time warms up.
    if (time === 1) from = performance.now();
    let last = performance.now();
    for await (const { error } of Worker.runReplayHistories({ workflowBundle: { code } }, histories.values())) {
      if (error !== undefined) throw error;
      if (time > 0) longest.ms = Math.max(longest.ms, performance.now() - last);
      last = performance.now();
    }
  }
  return { eventsPerSecond: (events * times) / ((performance.now() - from) / 1_000), longestMs: longest.ms };
}

async function bareHistory(): Promise<{ workflowId: string; history: { events: readonly unknown[] } }> {
  const { client, worker } = await start();
  const workflowId = 'asking';
  const handle = await client.workflow.start('asking', {
    taskQueue: worker.options.taskQueue,
    workflowId,
    args: [asked],
  });
  await handle.result();
  const history = await handle.fetchHistory();
  return { workflowId, history: { events: history.events ?? [] } };
}
