import { fileURLToPath } from 'node:url';
import { startProcess, type SupervisedProcess } from '../stack/processes.ts';
import type { TemporalUnderTest } from '../support/shared-temporal.ts';

/**
 * Our workflows over far sides that do nothing, in a process of its own. Every workflow of the batch fits into its cache, as in an installation
 * of that size: one that doesn't is replayed for each step.
 */
export async function startBatchWorker(
  temporal: TemporalUnderTest,
  taskQueue: string,
  vms: number,
): Promise<SupervisedProcess> {
  return await startProcess({
    name: 'The worker of the benchmark',
    command: process.execPath,
    args: ['--max-old-space-size=14000', fileURLToPath(new URL('./b4-worker.ts', import.meta.url))],
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      VMFLOW_TASK_QUEUE: taskQueue,
      BENCH_VMS: String(vms),
    },
    ready: (line) => line === 'worker started',
    readyWithinMs: 60_000,
  });
}
