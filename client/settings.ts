import { defaultTaskQueue } from '../workflows/contracts/task-queues.ts';
import { parseDuration } from './durations.ts';
import { CliError } from './errors.ts';
import type { GlobalFlags } from './global-flags.ts';
import type { Environment } from './runtime.ts';

export type Origin = 'flag' | 'env' | 'file' | 'default';

/** A value and where it comes from: the flag, variable or file that set it. */
export interface Setting<T> {
  readonly value: T;
  readonly origin: Origin;
  readonly from: string;
}

/** Where the command line connects to, each value with its origin. `ClientConnectConfig` itself is read when connecting. */
export interface Settings {
  readonly address: Setting<string>;
  readonly namespace: Setting<string>;
  readonly profile: Setting<string>;
  readonly configFile: Setting<string>;
  readonly tls: Setting<'on' | 'off'>;
  /** Only whether there is one; its value stays in the SDK's configuration. */
  readonly apiKey: Setting<'set' | 'not set'>;
  readonly ui: Setting<string>;
  readonly taskQueue: Setting<string>;
  /** How long to wait for the first reaction of a worker, milliseconds. */
  readonly ackTimeoutMs: Setting<number>;
}

/** The part of Temporal's profile that settings show; the SDK's loader reads it. */
export interface ProfileFacts {
  readonly address?: string | undefined;
  readonly namespace?: string | undefined;
  readonly hasApiKey: boolean;
  readonly hasTls: boolean;
}

/** Reads a profile with or without the environment on top. Rejects when the profile or the file can't be read. */
export type ReadProfile = (
  source: { readonly profile?: string; readonly configFile?: string },
  withEnvironment: boolean,
) => Promise<ProfileFacts>;

/** Flag, then environment, then file, then default. */
export async function resolveSettings(
  flags: GlobalFlags,
  env: Environment,
  readProfile: ReadProfile,
): Promise<Settings> {
  const profile = pick('default', flag('--profile', flags.profile), fromEnv(env, 'TEMPORAL_PROFILE'));
  const configFile = pick('', flag('--config-file', flags.configFile), fromEnv(env, 'TEMPORAL_CONFIG_FILE'));
  const source = {
    ...(profile.origin === 'default' ? {} : { profile: profile.value }),
    ...(configFile.origin === 'flag' ? { configFile: configFile.value } : {}),
  };
  const file = await readProfile(source, false);
  const merged = await readProfile(source, true);
  const inFile = <T>(value: T | undefined): Setting<T> | undefined =>
    value === undefined ? undefined : { value, origin: 'file', from: `profile ${profile.value}` };
  const inEnv = <T>(value: T | undefined, from: string): Setting<T> | undefined =>
    value === undefined ? undefined : { value, origin: 'env', from };
  return {
    address: pick(
      'localhost:7233',
      flag('--address', flags.address),
      fromEnv(env, 'TEMPORAL_ADDRESS'),
      inFile(file.address),
    ),
    namespace: pick(
      'vmflow',
      flag('--namespace', flags.namespace),
      fromEnv(env, 'TEMPORAL_NAMESPACE'),
      inFile(file.namespace),
    ),
    profile,
    configFile,
    tls: pick(
      merged.hasTls || merged.hasApiKey ? 'on' : 'off',
      inFile(file.hasTls ? 'on' : undefined),
      inEnv(merged.hasTls ? 'on' : undefined, 'TEMPORAL_TLS*'),
    ),
    apiKey: pick(
      'not set',
      inEnv(env.TEMPORAL_API_KEY === undefined ? undefined : 'set', 'TEMPORAL_API_KEY'),
      inFile(file.hasApiKey ? 'set' : undefined),
    ),
    ui: pick('http://localhost:8233', flag('--ui', flags.ui), fromEnv(env, 'VMFLOW_UI_URL')),
    taskQueue: pick(defaultTaskQueue, flag('--task-queue', flags.taskQueue), fromEnv(env, 'VMFLOW_TASK_QUEUE')),
    ackTimeoutMs: ackTimeout(flags, env),
  };
}

function ackTimeout(flags: GlobalFlags, env: Environment): Setting<number> {
  const text = pick('10s', flag('--ack-timeout', flags.ackTimeout), fromEnv(env, 'VMFLOW_ACK_TIMEOUT'));
  return { ...text, value: parseDuration(text.value, text.from === '' ? '--ack-timeout' : text.from) };
}

function pick<T>(fallback: T, ...candidates: readonly (Setting<T> | undefined)[]): Setting<T> {
  return candidates.find((candidate) => candidate !== undefined) ?? { value: fallback, origin: 'default', from: '' };
}

function flag(name: string, value: string | undefined): Setting<string> | undefined {
  return value === undefined ? undefined : { value, origin: 'flag', from: name };
}

function fromEnv(env: Environment, name: string): Setting<string> | undefined {
  const value = env[name];
  return value === undefined || value === '' ? undefined : { value, origin: 'env', from: name };
}

/** Reads profiles with the SDK's own loader, the one the `temporal` command line shares its file with. */
export function profileReader(env: Environment): ReadProfile {
  return async (source, withEnvironment) => {
    const { loadClientConfigProfile } = await import('@temporalio/envconfig');
    try {
      const profile = loadClientConfigProfile({
        ...profileOptions(source, env),
        disableEnv: !withEnvironment,
      });
      return {
        address: profile.address,
        namespace: profile.namespace,
        hasApiKey: profile.apiKey !== undefined,
        hasTls: profile.tls !== undefined && profile.tls.disabled !== true,
      };
    } catch (error) {
      throw new CliError({
        exit: 'usage',
        reason: 'CONFIGURATION',
        message: "can't read Temporal's profile file",
        why: error instanceof Error ? error.message : String(error),
        next: 'vmflow config path',
        cause: error,
      });
    }
  };
}

/** Options of the SDK's loader for a profile, a file and an environment. */
export function profileOptions(
  source: { readonly profile?: string; readonly configFile?: string },
  env: Environment,
): { profile?: string; configSource?: { path: string }; overrideEnvVars: Record<string, string> } {
  const variables = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    ...(source.profile === undefined ? {} : { profile: source.profile }),
    ...(source.configFile === undefined ? {} : { configSource: { path: source.configFile } }),
    overrideEnvVars: Object.fromEntries(variables),
  };
}
