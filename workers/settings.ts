import { hostname } from 'node:os';
import { defaultTaskQueue } from '../workflows/contracts/task-queues.ts';

/** What a process takes from its environment. The Temporal connection (`TEMPORAL_*`) is read by envconfig. */
export interface WorkerSettings {
  readonly configPath: string;
  readonly taskQueue: string;
  /** `host:port` of `/livez`, `/readyz`, `/metrics`. */
  readonly healthAddress: { readonly host: string; readonly port: number };
  readonly allowInsecureTls: boolean;
  readonly logLevel: string;
  readonly buildId: string;
  /** Runs stay with builds as their workflows say; else every worker takes every run. */
  readonly isVersioned: boolean;
  readonly identity: string;
  /** Absent: the SDK's own choice by memory. 0 makes every workflow task a replay. */
  readonly maxCachedWorkflows?: number;
}

const defaultPorts = { control: 9464, transfer: 9465, bridge: 9466 } as const;
export type ProcessKind = keyof typeof defaultPorts;
export type WorkerKind = Exclude<ProcessKind, 'bridge'>;

export function readSettings(kind: ProcessKind, env: NodeJS.ProcessEnv = process.env): WorkerSettings {
  const cached = env['VMFLOW_MAX_CACHED_WORKFLOWS'];
  return {
    configPath: env['VMFLOW_CONFIG'] ?? 'vmflow.yaml',
    taskQueue: env['VMFLOW_TASK_QUEUE'] ?? defaultTaskQueue,
    healthAddress: parseAddress(
      'VMFLOW_HEALTH_ADDRESS',
      env['VMFLOW_HEALTH_ADDRESS'] ?? `127.0.0.1:${defaultPorts[kind]}`,
    ),
    allowInsecureTls: env['VMFLOW_ALLOW_INSECURE_TLS'] === '1',
    logLevel: env['VMFLOW_LOG_LEVEL'] ?? 'info',
    buildId: env['VMFLOW_BUILD_ID'] ?? 'dev',
    isVersioned: isVersioned(env),
    identity: `${kind}@${hostname()}:${process.pid}`,
    ...(cached === undefined ? {} : { maxCachedWorkflows: wholeNumber('VMFLOW_MAX_CACHED_WORKFLOWS', cached) }),
  };
}

/** @param name of the setting, for the error */
export function parseAddress(name: string, text: string): { host: string; port: number } {
  const at = text.lastIndexOf(':');
  return { host: text.slice(0, at), port: wholeNumber(name, text.slice(at + 1)) };
}

function isVersioned(env: NodeJS.ProcessEnv): boolean {
  const { VMFLOW_VERSIONING: versioning = 'off', VMFLOW_BUILD_ID: buildId = '' } = env;
  if (versioning !== 'on' && versioning !== 'off')
    throw new Error(`VMFLOW_VERSIONING is on or off, not "${versioning}"`);
  if (versioning === 'on' && buildId === '')
    throw new Error('VMFLOW_VERSIONING=on needs VMFLOW_BUILD_ID: one that no other build has, as a commit');
  return versioning === 'on';
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && text !== '') return value;
  throw new Error(`${name} must be a whole number, not "${text}"`);
}
