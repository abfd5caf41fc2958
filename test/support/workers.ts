import { join } from 'node:path';
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
  /** Directory with other sources than these. */
  readonly sources?: string;
}

/** Starts one worker process as an operator would and waits until it polls. */
export async function startWorker(kind: WorkerKind, options: WorkerEnvironment): Promise<SupervisedProcess> {
  return await startOne(kind, `The ${kind} worker`, 'worker started', {
    ...options,
    env: { ...(process.env['VMFLOW_TEST_CACHE'] === '0' ? { VMFLOW_MAX_CACHED_WORKFLOWS: '0' } : {}), ...options.env },
  });
}

/** Starts a bridge as an operator would and waits until it serves; `/readyz` says when it is ready. */
export async function startBridge(options: WorkerEnvironment): Promise<SupervisedProcess> {
  return await startOne('bridge', 'The bridge', 'bridge started', options);
}

async function startOne(
  entry: WorkerKind | 'bridge',
  name: string,
  ready: string,
  options: WorkerEnvironment,
): Promise<SupervisedProcess> {
  const path =
    options.build === undefined
      ? join(options.sources ?? fileURLToPath(new URL('../..', import.meta.url)), `workers/${entry}.ts`)
      : `${options.build}/workers/${entry}.js`;
  return await startProcess({
    name,
    command: process.execPath,
    args: [path],
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: options.address,
      TEMPORAL_NAMESPACE: options.namespace,
      VMFLOW_CONFIG: options.configPath,
      VMFLOW_TASK_QUEUE: options.taskQueue,
      VMFLOW_HEALTH_ADDRESS: '127.0.0.1:0',
      ...options.env,
    },
    ready: (line) => line.includes(`"msg":"${ready}"`),
    readyWithinMs: 60_000,
    ...(options.logFile === undefined ? {} : { logFile: options.logFile }),
  });
}
