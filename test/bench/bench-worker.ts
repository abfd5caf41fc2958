import { fileURLToPath } from 'node:url';
import { startProcess, type SupervisedProcess } from '../stack/processes.ts';
import type { TemporalUnderTest } from '../support/shared-temporal.ts';

export interface BenchWorker {
  /** For messages. */
  readonly name: string;
  /** Of this folder. */
  readonly script: string;
  readonly args?: readonly string[];
  /** Of Node itself. */
  readonly nodeArgs?: readonly string[];
  readonly taskQueue: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A worker of a benchmark as a process of its own, configured by the environment like ours. */
export async function startBenchWorker(
  { address, namespace }: Pick<TemporalUnderTest, 'address' | 'namespace'>,
  { name, script, args = [], nodeArgs = [], taskQueue, env }: BenchWorker,
): Promise<SupervisedProcess> {
  return await startProcess({
    name,
    command: process.execPath,
    args: [...nodeArgs, fileURLToPath(new URL(script, import.meta.url)), ...args],
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      VMFLOW_TASK_QUEUE: taskQueue,
      ...env,
    },
    ready: (line) => line === 'worker started',
    readyWithinMs: 60_000,
  });
}
