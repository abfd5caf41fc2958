import { hostname } from 'node:os';
import { codecOf } from '../activities/codec/codec.ts';
import type { Codec } from '../activities/codec/payload-codec-adapter.ts';
import { CliError } from './errors.ts';
import type { ClientInterceptors } from '@temporalio/client';
import { isTracingWanted } from '../activities/tracing/wanted.ts';
import type { Gateway } from './gateway.ts';
import type { Environment } from './runtime.ts';
import { profileOptions, type Settings } from './settings.ts';

/** Milliseconds for the connection itself; a server that doesn't answer by then isn't reachable. */
const connectTimeoutMs = 5_000;

/**
 * Opens the connection that the settings describe. Rejects with `TEMPORAL_UNREACHABLE` when nothing answers.
 * @param user stands in histories for what has no other place for a name: a cancel, for example
 */
export async function connect(settings: Settings, env: Environment, user: string): Promise<Gateway> {
  const [{ loadClientConnectConfig }, { openTemporal }, codec] = await Promise.all([
    import('@temporalio/envconfig'),
    import('./temporal.ts'),
    codecFrom(env),
  ]);
  const { connectionOptions } = loadClientConnectConfig(
    profileOptions(
      {
        ...(settings.profile.origin === 'default' ? {} : { profile: settings.profile.value }),
        ...(settings.configFile.origin === 'flag' ? { configFile: settings.configFile.value } : {}),
      },
      env,
    ),
  );
  const { tls, apiKey, metadata } = connectionOptions;
  return openTemporal(
    {
      address: settings.address.value,
      connectTimeout: connectTimeoutMs,
      ...(tls === undefined ? {} : { tls }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(metadata === undefined ? {} : { metadata }),
    },
    settings,
    `${user}@${hostname()}`,
    await interceptorsFor(env),
    codec,
  );
}

async function interceptorsFor(env: Environment): Promise<ClientInterceptors> {
  if (isTracingWanted(env))
    return (await import('../activities/tracing/temporal-client-adapter.ts')).tracedClientInterceptors();
  return (await import('../workflows/contracts/ask-again.ts')).clientInterceptors;
}

async function codecFrom(env: Environment): Promise<Codec | undefined> {
  try {
    return await codecOf(env);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new CliError({ exit: 'usage', reason: 'CONFIGURATION', message, cause: error });
  }
}
