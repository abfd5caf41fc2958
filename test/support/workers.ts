import { fileURLToPath } from 'node:url';
import { startProcess, type SupervisedProcess } from '../stack/processes.ts';

export type WorkerKind = 'control' | 'transfer';

export interface WorkerEnvironment {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly configPath: string;
  /** Further variables: secrets, logging. */
  readonly env?: NodeJS.ProcessEnv;
  /** All output goes to this file too. */
  readonly logFile?: string;
  /** Directory with a compiled build; default: the sources. */
  readonly build?: string;
}

/** Starts one worker process as an operator would and waits until it polls. */
export async function startWorker(kind: WorkerKind, options: WorkerEnvironment): Promise<SupervisedProcess> {
  const entry =
    options.build === undefined
      ? fileURLToPath(new URL(`../../workers/${kind}.ts`, import.meta.url))
      : `${options.build}/workers/${kind}.js`;
  return await startProcess({
    name: `The ${kind} worker`,
    command: process.execPath,
    args: [entry],
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: options.address,
      TEMPORAL_NAMESPACE: options.namespace,
      VMFLOW_CONFIG: options.configPath,
      VMFLOW_TASK_QUEUE: options.taskQueue,
      VMFLOW_HEALTH_ADDRESS: '127.0.0.1:0',
      ...(process.env['VMFLOW_TEST_CACHE'] === '0' ? { VMFLOW_MAX_CACHED_WORKFLOWS: '0' } : {}),
      ...options.env,
    },
    ready: (line) => line.includes('"msg":"worker started"'),
    readyWithinMs: 60_000,
    ...(options.logFile === undefined ? {} : { logFile: options.logFile }),
  });
}
