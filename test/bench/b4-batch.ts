import { createBatchSpecs } from '../../activities/batch/batch-specs.ts';
import { settingsOf } from '../../activities/batch/entry-settings.ts';
import { firstEntry } from '../../activities/batch/first-entry.ts';
import type { MigrationInput, MigrationView } from '../../workflows/contracts/batch.ts';
import { migrationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { TemporalUnderTest } from '../support/shared-temporal.ts';
import { waitFor } from '../support/wait-for.ts';
import { startBatchWorker } from './b4-start.ts';
import { onOwnServer, throughBatch } from './b4-through.ts';
import { apply, instanceOf, network, noOpWorld, spec } from './b4-world.ts';
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

/** The same workflows, started by a client that commits each as soon as it is ready. */
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
        const handle = await client.workflow.start('migration', {
          taskQueue,
          workflowId: migrationId(entry.instance_uuid),
          args: [input],
        });
        const isOver = async (): Promise<boolean> => {
          const { entryStatus, substate } = await handle.query<MigrationView>(messages.status);
          if (substate === 'awaiting-window') await handle.signal(messages.commitGranted, { token: entry.token });
          return entryStatus === 'Finished';
        };
        await waitFor('a VM to be migrated', isOver, { timeoutMs: 600_000, intervalMs: 500 });
      }
    };
    await Promise.all(Array.from({ length: parallel }, loop));
    return { vms, seconds: (performance.now() - from) / 1_000 };
  } finally {
    await process.stop(3_000);
  }
}
