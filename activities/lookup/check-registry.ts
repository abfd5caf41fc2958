import type { Check, EndpointInfo } from '../../workflows/contracts/lookup.ts';
import type { Config } from '../config.ts';
import { OperationError } from '../failures.ts';
import { toRegistryOperationError } from '../registry/operation-error.ts';
import { RegistryError, type Registry, type RegistryErrorReason } from '../registry/port.ts';
import type { Registries } from '../registry/registries.ts';
import { shownCertificate } from './fingerprint.ts';

/** What the registry is asked through. */
export interface RegistryAccess {
  readonly config: Config;
  readonly registries: Registries;
}

/**
 * Reachable, trusted, it knows us, and it lets us delete.
 * @param key name of the registry in `vmflow.yaml`
 */
export async function checkRegistry(
  { config, registries }: RegistryAccess,
  { url, user }: EndpointInfo,
  key: string,
): Promise<Check[]> {
  const certificate = await shownCertificate(url);
  try {
    const registry = registries.of(await config.registry(key));
    await registry.ping();
    return [certificate, { name: 'log in', ok: true, detail: `${url} as ${user}` }, await deletion(registry)];
  } catch (err) {
    return [certificate, failedLogIn(err, url, key)];
  }
}

/** No content has this digest, so nothing is deleted; a registry that never deletes says so all the same. */
const nothing = `sha256:${'0'.repeat(64)}`;

async function deletion(registry: Registry): Promise<Check> {
  const name = 'deletion';
  try {
    await registry.remove('vmflow-probe', nothing);
    return { name, ok: true, detail: 'snapshots can be dropped' };
  } catch (err) {
    if (!(err instanceof RegistryError)) throw err;
    // The account may be limited to the repositories of the VMs: of those this says nothing.
    if (err.reason !== 'DeletionDisabled') return { name, ok: true, detail: `not known: ${err.message}` };
    return {
      name,
      ok: false,
      detail: 'the registry deletes nothing, so snapshots of VMs that run again pile up',
      failure: 'wrong',
      remedy: 'turn deletion on in the registry (of distribution: storage.delete.enabled) and restart it',
    };
  }
}

const failures: Readonly<Record<RegistryErrorReason, NonNullable<Check['failure']>>> = {
  Unauthorized: 'forbidden',
  Forbidden: 'forbidden',
  Untrusted: 'unreachable',
  Timeout: 'unreachable',
  Unavailable: 'unreachable',
  TooManyRequests: 'unreachable',
  DeletionDisabled: 'wrong',
  Invalid: 'wrong',
  Unexpected: 'wrong',
};

function failedLogIn(err: unknown, url: string, key: string): Check {
  const known = err instanceof OperationError ? err : toRegistryOperationError(err);
  if (known === undefined) throw err;
  const entry = `registries.${key} in vmflow.yaml`;
  return {
    name: 'log in',
    ok: false,
    detail: known.message,
    ...(err instanceof RegistryError
      ? { failure: failures[err.reason], remedy: remedyFor(err.reason, url, entry) }
      : { failure: 'wrong', remedy: `correct ${entry} and restart the workers` }),
  };
}

function remedyFor(reason: RegistryErrorReason, url: string, entry: string): string {
  switch (reason) {
    case 'Unauthorized':
      return `renew the credentials that ${entry} refers to; they are read anew each time`;
    case 'Forbidden':
      return 'allow the account of vmflow to pull and delete in the repositories of the VMs';
    case 'Untrusted':
      return url.startsWith('http:')
        ? `use https in url of ${entry}, or say allowPlainHttp: true where nobody can listen`
        : `compare the fingerprint above with the one that the administrator of this registry knows, then set tls of ${entry}`;
    case 'TooManyRequests':
      return 'raise the limit that the registry sets for the account of vmflow';
    case 'Unexpected':
    case 'Invalid':
    case 'DeletionDisabled':
      return `check that url of ${entry} is the address of a registry`;
    case 'Timeout':
    case 'Unavailable':
      return `check url of ${entry}, network and firewall between the workers and the registry`;
  }
}
