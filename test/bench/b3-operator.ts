import type { WorkflowHandle } from '@temporalio/client';
import { createBatchSpecs } from '../../activities/batch/batch-specs.ts';
import { settingsOf } from '../../activities/batch/entry-settings.ts';
import { firstEntry } from '../../activities/batch/first-entry.ts';
import type { MigrationInput, MigrationView } from '../../workflows/contracts/batch.ts';
import { batchId, migrationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { SupervisedProcess } from '../stack/processes.ts';
import { connectTemporal, type TemporalUnderTest } from '../support/shared-temporal.ts';
import { waitFor } from '../support/wait-for.ts';
import { startBatchWorker } from './b4-start.ts';
import { apply, instanceOf, name, network, noOpWorld, spec } from './b4-world.ts';
import { startBenchWorker } from './bench-worker.ts';
import { alternate, largestSpread, median, percentile, round, spread, type Outcome } from './measure.ts';

const queue = 'b3';
const bareQueue = 'b3-bare';

/** B3: what an operator waits for: an update of a waiting migration, and its state, idle and beside a batch that has just begun. */
export async function operatorRoundTrip(options: { full: boolean }): Promise<Outcome> {
  const [rounds, vms] = options.full ? [300, 500] : [100, 300];
  const temporal = await connectTemporal({ own: true });
  const workers: SupervisedProcess[] = [];
  try {
    // One more than the batch has: the migration that is asked belongs to nobody.
    workers.push(
      await startBatchWorker(temporal, queue, vms),
      await startBenchWorker(temporal, {
        name: 'The bare worker',
        script: './b1-worker.ts',
        args: ['bare'],
        taskQueue: bareQueue,
      }),
    );
    await apply(temporal.client, queue);
    const [migration, bare] = await Promise.all([waitingMigration(temporal, vms), answering(temporal)]);
    const idle = await timed(rounds, migration, bare);
    await temporal.client.workflow
      .getHandle(batchId(name))
      .executeUpdate(messages.start, { args: [{ by: 'a benchmark' }] });
    const busy = await timed(rounds, migration, bare);
    const ratio = median(idle.updates) / median(idle.bare);
    const load = median(busy.updates) / median(idle.updates);
    const ms = (values: readonly number[]): { p50: number; p99: number } => ({
      p50: round(median(values)),
      p99: round(percentile(values, 0.99)),
    });
    return {
      name: `B3 an operator's update and query, idle and beside ${vms} VMs that begin`,
      numbers: {
        rounds,
        vms,
        updateMs: ms(idle.updates),
        bareUpdateMs: ms(idle.bare),
        queryMs: ms(idle.queries),
        busyUpdateMs: ms(busy.updates),
        busyBareUpdateMs: ms(busy.bare),
        busyQueryMs: ms(busy.queries),
      },
      verdicts: [
        {
          what: 'an update against the bare SDK',
          measured: round(ratio),
          unit: '×',
          target: '<= 1.2',
          holds: ratio <= 1.2,
        },
        { what: 'the same beside a batch', measured: round(load), unit: '×', target: '<= 3', holds: load <= 3 },
      ],
      inconclusive: spread(idle.bare) > largestSpread,
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop(3_000)));
    await temporal.stop();
  }
}

interface Times {
  readonly updates: number[];
  readonly bare: number[];
  readonly queries: number[];
}

async function timed(rounds: number, migration: WorkflowHandle, bare: WorkflowHandle): Promise<Times> {
  const times: Times = { updates: [], bare: [], queries: [] };
  const measured = async (into: number[], work: () => Promise<unknown>): Promise<void> => {
    const from = performance.now();
    await work();
    into.push(performance.now() - from);
  };
  let turn = 0;
  const ours = async (): Promise<void> => {
    const message = turn++ % 2 === 0 ? messages.hold : messages.unhold;
    await measured(times.updates, () => migration.executeUpdate(message, { args: [{ by: 'an operator' }] }));
    await measured(times.queries, () => migration.query(messages.status));
  };
  const theirs = (): Promise<void> => measured(times.bare, () => bare.executeUpdate('poke', { args: [{}] }));
  await alternate(10, ours, theirs);
  for (const list of [times.updates, times.bare, times.queries]) list.length = 0;
  await alternate(rounds, ours, theirs);
  return times;
}

/** Copied; without leave to be committed it waits for its window. */
async function waitingMigration({ client }: TemporalUnderTest, index: number): Promise<WorkflowHandle> {
  const world = noOpWorld(index + 1, client, createBatchSpecs(client));
  const entry = await firstEntry({ deps: world, spec, instance: instanceOf(index), networks: [network] });
  const args: [MigrationInput] = [{ entry, shardId: 'flat/none', settings: settingsOf(spec, world.config) }];
  const workflowId = migrationId(entry.instance_uuid);
  const handle = await client.workflow.start('migration', { taskQueue: queue, workflowId, args });
  const view = (): Promise<MigrationView> => handle.query<MigrationView>(messages.status);
  await waitFor('the migration to wait', async () => {
    const { entryStatus, copyPass = 0 } = await view();
    return entryStatus === 'Idle' && copyPass > 0;
  });
  return handle;
}

async function answering({ client }: TemporalUnderTest): Promise<WorkflowHandle> {
  return await client.workflow.start('answering', { taskQueue: bareQueue, workflowId: 'answering' });
}
