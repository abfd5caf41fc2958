import type { SupervisedProcess } from '../stack/processes.ts';
import type { TemporalUnderTest } from '../support/shared-temporal.ts';
import { startBenchWorker } from './bench-worker.ts';

/**
 * Our workflows over far sides that do nothing, in a process of its own. Every workflow of the batch fits into its cache, as in an installation
 * of that size: one that doesn't is replayed for each step.
 */
export async function startBatchWorker(
  temporal: TemporalUnderTest,
  taskQueue: string,
  vms: number,
): Promise<SupervisedProcess> {
  return await startBenchWorker(temporal, {
    name: 'The worker of the benchmark',
    script: './b4-worker.ts',
    nodeArgs: ['--max-old-space-size=14000'],
    taskQueue,
    env: { BENCH_VMS: String(vms) },
  });
}
