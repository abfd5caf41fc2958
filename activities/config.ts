import { constants, type Stats } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { OperationError } from './failures.ts';
import { configSchema, type ConfigFile } from './schemas/config.ts';
import type { TargetEndpoint } from './incus/port.ts';
import type { RegistryCredentials, RegistryEndpoint } from './registry/port.ts';
import type { VCenterEndpoint } from './vsphere/port.ts';

export interface Config {
  readonly file: ConfigFile;
  readonly path: string;
  /** A vCenter with its password read now, so that a rotated secret is used at once. */
  vcenter(name: string): Promise<VCenterEndpoint>;
  /** A registry with its secrets read now. Without a name: the only one that is configured. */
  registry(name?: string): Promise<RegistryEndpoint>;
  /** A target of batch migrations with its client certificate read now. */
  target(name: string): Promise<TargetEndpoint>;
  /** Headers of a named source, secrets read now. */
  sourceHeaders(name: string): Promise<Record<string, string>>;
  /** Query string that a named source wants behind its URLs, read now; undefined: none. */
  sourceQuery(name: string): Promise<string | undefined>;
}

/** Reads `vmflow.yaml`. A missing or wrong file is an error that names the file and the place in it. */
export async function loadConfig(path: string, environment: NodeJS.ProcessEnv = process.env): Promise<Config> {
  const absolute = resolve(path);
  const text = await readFile(absolute, 'utf8').catch((err: unknown) => {
    throw new Error(`can't read the configuration ${absolute}; set VMFLOW_CONFIG to the path of vmflow.yaml`, {
      cause: err,
    });
  });
  return createConfig(parseConfig(text, absolute), absolute, environment);
}

export function parseConfig(text: string, path: string): ConfigFile {
  let raw: unknown;
  try {
    raw = parse(text);
  } catch (err) {
    throw new Error(`${path} is not valid YAML: ${err instanceof Error ? err.message : String(err)}`, { cause: err });
  }
  const parsed = configSchema.safeParse(raw ?? {});
  if (!parsed.success) throw new Error(`${path} is not a valid configuration:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

export function createConfig(file: ConfigFile, path: string, environment: NodeJS.ProcessEnv = process.env): Config {
  return {
    file,
    path,
    async vcenter(name) {
      const entry = file.vcenters[name];
      if (entry === undefined) throw unknown('vCenter', name, Object.keys(file.vcenters), path);
      const password = await secret(
        { file: entry.passwordFile, env: entry.passwordEnv },
        `password of vCenter ${name}`,
        environment,
      );
      const { url, user, tls, allowPlainHttp, apiTimeoutMs } = entry;
      return { name, url, user, password, tls, allowPlainHttp, apiTimeoutMs };
    },
    async registry(asked) {
      const names = Object.keys(file.registries);
      const name = asked ?? (names.length === 1 ? names[0] : undefined);
      if (name === undefined) throw undecided(names, path);
      const entry = file.registries[name];
      if (entry === undefined) throw unknown('registry', name, names, path);
      const { url, prefix, tls, allowPlainHttp, requestTimeoutMs } = entry;
      const credentials = await registryCredentials(entry, name, environment);
      return { name, url, prefix, credentials, tls, allowPlainHttp, requestTimeoutMs };
    },
    async target(name) {
      const entry = file.targets[name];
      if (entry === undefined) throw unknown('target', name, Object.keys(file.targets), path);
      const { url, tls, connectionTimeoutMs, allowPlainHttp } = entry;
      const [clientCert, clientKey] = await clientCertificate(entry, name, environment);
      return { name, url, tls, clientCert, clientKey, connectionTimeoutMs, allowPlainHttp };
    },
    async sourceQuery(name) {
      const { queryFile, queryEnv } = file.sources[name] ?? {};
      if (queryFile === undefined && queryEnv === undefined) return undefined;
      return await secret({ file: queryFile, env: queryEnv }, `query of source ${name}`, environment);
    },
    async sourceHeaders(name) {
      const entry = file.sources[name];
      if (entry === undefined) throw unknown('source', name, Object.keys(file.sources), path);
      const pairs = entry.headers.map(async ({ name: header, valueFile, valueEnv }) => {
        return [
          header,
          await secret({ file: valueFile, env: valueEnv }, `header ${header} of source ${name}`, environment),
        ] as const;
      });
      return Object.fromEntries(await Promise.all(pairs));
    },
  };
}

async function registryCredentials(
  entry: ConfigFile['registries'][string],
  name: string,
  environment: NodeJS.ProcessEnv,
): Promise<RegistryCredentials> {
  const { user, passwordFile, passwordEnv, tokenFile, tokenEnv } = entry;
  if (user !== undefined) {
    const reference = { file: passwordFile, env: passwordEnv };
    return { kind: 'password', user, password: await secret(reference, `password of registry ${name}`, environment) };
  }
  if (tokenFile === undefined && tokenEnv === undefined) return { kind: 'none' };
  const token = await secret({ file: tokenFile, env: tokenEnv }, `token of registry ${name}`, environment);
  return { kind: 'token', token };
}

/** Certificate and key; empty where a target without TLS has none. */
async function clientCertificate(
  { clientCertFile, clientCertEnv, clientKeyFile, clientKeyEnv }: ConfigFile['targets'][string],
  name: string,
  environment: NodeJS.ProcessEnv,
): Promise<readonly [string, string]> {
  const read = async (file: string | undefined, env: string | undefined, what: string): Promise<string> =>
    file === undefined && env === undefined
      ? ''
      : await secret({ file, env }, `${what} of target ${name}`, environment);
  return await Promise.all([
    read(clientCertFile, clientCertEnv, 'client certificate'),
    read(clientKeyFile, clientKeyEnv, 'client key'),
  ]);
}

function undecided(names: readonly string[], path: string): OperationError {
  const [what, next] =
    names.length === 0
      ? ["no registry is in the workers' configuration", `add one to the section registries of ${path} on the workers`]
      : [`several registries are configured (${names.join(', ')})`, 'name one of them'];
  return new OperationError('InvalidRequest', what, { code: 'REGISTRY_UNKNOWN', next });
}

/** What is wrong with a file, and what to do about it. */
export interface FileTrouble {
  readonly detail: string;
  readonly remedy: string;
}

/** Files with secrets that this process can't read, or that others can. For `vmflow doctor`. */
export async function secretFileTroubles(file: ConfigFile): Promise<FileTrouble[]> {
  const registries = Object.values(file.registries).flatMap((entry) => [entry.passwordFile, entry.tokenFile]);
  const vcenters = Object.values(file.vcenters).map((entry) => entry.passwordFile);
  const targets = Object.values(file.targets).map((entry) => entry.clientKeyFile);
  const sources = Object.values(file.sources).flatMap((entry) => [
    entry.queryFile,
    ...entry.headers.map(({ valueFile }) => valueFile),
  ]);
  const paths = [...vcenters, ...registries, ...targets, ...sources].filter((path) => path !== undefined);
  const found = await Promise.all([...new Set(paths)].map(troubleWith));
  return found.filter((trouble) => trouble !== undefined);
}

/** The same in one line each, for the log. */
export async function secretFileWarnings(file: ConfigFile): Promise<string[]> {
  return (await secretFileTroubles(file)).map(({ detail, remedy }) => `${detail}: ${remedy}`);
}

async function troubleWith(path: string): Promise<FileTrouble | undefined> {
  const found = await access(path, constants.R_OK).then(
    () => stat(path),
    () => undefined,
  );
  if (found === undefined)
    return {
      detail: `${path} can't be read`,
      remedy: 'put the secret there, readable for the account of the workers, or correct the path in vmflow.yaml',
    };
  if (!isOpen(found)) return undefined;
  return { detail: `${path} is readable by others`, remedy: `chmod ${isOurs(found) ? '600' : 'o='} ${path}` };
}

/** A file of somebody else is read through its group, as in a Pod: only the others are too many. */
function isOpen(file: Pick<Stats, 'mode' | 'uid'>): boolean {
  return (file.mode & (isOurs(file) ? 0o077 : 0o007)) !== 0;
}

function isOurs({ uid }: Pick<Stats, 'uid'>): boolean {
  return uid === process.getuid?.();
}

async function secret(
  reference: { file?: string | undefined; env?: string | undefined },
  what: string,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  if (reference.file !== undefined) {
    const text = await readFile(reference.file, 'utf8').catch((err: unknown) => {
      throw new OperationError(
        'InvalidRequest',
        `can't read the ${what} from ${String(reference.file)} on this worker`,
        {
          code: 'SECRET_UNREADABLE',
          cause: err,
        },
      );
    });
    return text.replace(/\r?\n$/, '');
  }
  const value = environment[reference.env ?? ''];
  if (value !== undefined) return value;
  throw new OperationError(
    'InvalidRequest',
    `the ${what} is not in the environment variable ${reference.env ?? '(none named)'} of this worker`,
    {
      code: 'SECRET_MISSING',
    },
  );
}

function unknown(kind: string, name: string, names: readonly string[], path: string): OperationError {
  const known = names.length === 0 ? 'none is configured' : `known: ${names.join(', ')}`;
  return new OperationError('InvalidRequest', `no ${kind} "${name}" in the workers' configuration (${known})`, {
    code: `${kind.toUpperCase()}_UNKNOWN`,
    next: `add it to ${path} on the workers, or choose another`,
  });
}
