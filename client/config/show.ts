import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Action } from '../commands/command.ts';
import { formatDuration } from '../durations.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Environment } from '../runtime.ts';
import type { Session } from '../session.ts';
import type { Settings } from '../settings.ts';

/** One line of `config view`. */
interface SettingRow {
  readonly setting: string;
  readonly value: string;
  readonly origin: string;
  readonly from: string;
}

/** `config view`. */
export const viewConfig: Action<object> = async (session) => {
  const items = rowsOf(await session.settings(), profileFile(session));
  await session.print({
    kind: 'Configuration',
    document: { items },
    rows: items,
    columns: [
      { header: 'SETTING', cell: (row) => row.setting },
      { header: 'VALUE', cell: (row) => row.value },
      { header: 'ORIGIN', cell: (row) => row.origin },
      { header: 'FROM', cell: (row) => row.from },
    ],
    names: items.map((row) => row.setting),
    ids: items.map((row) => row.setting),
  });
  return exitCodes.ok.code;
};

function rowsOf(settings: Settings, file: string): SettingRow[] {
  const shown: [string, { value: string; origin: string; from: string }][] = [
    ['address', settings.address],
    ['namespace', settings.namespace],
    ['profile', settings.profile],
    ['config-file', { ...settings.configFile, value: settings.configFile.value || file }],
    ['tls', settings.tls],
    ['api-key', settings.apiKey],
    ['ui', settings.ui],
    ['task-queue', settings.taskQueue],
    ['ack-timeout', { ...settings.ackTimeoutMs, value: formatDuration(settings.ackTimeoutMs.value) }],
  ];
  return shown.map(([setting, { value, origin, from }]) => ({ setting, value, origin, from }));
}

/** `config path`: the file that would be read, whether or not it is there. */
export const configPath: Action<object> = async (session) => {
  const path = profileFile(session);
  const exists = await isFile(path);
  if (!exists) session.note('there is no such file; everything comes from flags, environment and defaults');
  await session.print({
    kind: 'ConfigurationPath',
    document: { path, exists },
    text: `${path}\n`,
    names: [path],
    ids: [path],
  });
  return exitCodes.ok.code;
};

/** `config check`: strict reading, file rights, and one call. */
export const checkConfig: Action<object> = async (session) => {
  const path = profileFile(session);
  if (await isFile(path)) await readStrictly(session, path);
  const settings = await session.settings();
  const gateway = await session.gateway();
  const { version } = await gateway.server();
  const namespace = await gateway.namespace();
  if (namespace === undefined) {
    throw new CliError({
      exit: 'notFound',
      reason: 'NAMESPACE_MISSING',
      message: `Temporal at ${settings.address.value} answers, but has no namespace "${settings.namespace.value}"`,
      next: 'vmflow admin setup',
    });
  }
  await session.print({
    kind: 'ConfigurationCheck',
    document: { address: settings.address.value, namespace: settings.namespace.value, server: version },
    text: `ok: Temporal ${version} at ${settings.address.value}, namespace ${settings.namespace.value}\n`,
    names: [settings.address.value],
    ids: [settings.address.value],
  });
  return exitCodes.ok.code;
};

async function readStrictly(session: Session, path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0)
    session.note(`warning: ${path} can be read by others; it may hold secrets: chmod 600 ${path}`);
  const { loadClientConfig } = await import('@temporalio/envconfig');
  try {
    loadClientConfig({ configSource: { path }, configFileStrict: true });
  } catch (error) {
    throw new CliError({
      exit: 'usage',
      reason: 'CONFIGURATION',
      message: `can't read ${path}`,
      why: error instanceof Error ? error.message : String(error),
      cause: error,
    });
  }
}

/** The file the SDK's loader reads: the flag, the variable, or its default place. */
function profileFile(session: Session): string {
  const { env } = session.runtime;
  return session.flags.configFile ?? env.TEMPORAL_CONFIG_FILE ?? join(configHome(env), 'temporalio', 'temporal.toml');
}

function configHome(env: Environment): string {
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support');
  if (process.platform === 'win32') return env.APPDATA ?? homedir();
  return env.XDG_CONFIG_HOME ?? join(env.HOME ?? homedir(), '.config');
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
