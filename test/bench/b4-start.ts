import type { SupervisedProcess } from '../stack/processes.ts';
import type { TemporalUnderTest } from '../support/shared-temporal.ts';
import { startBenchWorker } from './bench-worker.ts';

/** Our workflows over far sides that do nothing, in a process of its own with the cache and the heap of an ordinary worker. */
export async function startBatchWorker(
  temporal: TemporalUnderTest,
  taskQueue: string,
  vms: number,
): Promise<SupervisedProcess> {
  return await startBenchWorker(temporal, {
    name: 'The worker of the benchmark',
    script: './b4-worker.ts',
    taskQueue,
    env: { BENCH_VMS: String(vms) },
  });
}
