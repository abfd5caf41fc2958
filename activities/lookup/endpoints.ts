import type { EndpointInfo } from '../../workflows/contracts/lookup.ts';
import type { Config } from '../config.ts';
import { OperationError } from '../failures.ts';
import type { ConfigFile } from '../schemas/config.ts';
import { clusterEndpoint, clusterName } from './cluster-endpoint.ts';

/** An endpoint and its key in its section of `vmflow.yaml`. */
export interface ConfiguredEndpoint {
  readonly key: string;
  readonly info: EndpointInfo;
}

/** All far sides of `vmflow.yaml`. Fails when the kubeconfig can't be read. */
export async function endpointsOf(config: Config): Promise<readonly EndpointInfo[]> {
  const cluster = await clusterEndpoint(config);
  return [
    ...vcenters(config.file).map(({ info }) => info),
    ...(cluster === undefined ? [] : [cluster]),
    ...registries(config.file).map(({ info }) => info),
    ...targets(config.file).map(({ info }) => info),
  ];
}

/** One of them by its name. Fails with `NotFound`, naming those that there are. */
export async function endpointOf(config: Config, name: string): Promise<ConfiguredEndpoint> {
  const cluster = name === clusterName ? await clusterEndpoint(config) : undefined;
  if (cluster !== undefined) return { key: clusterName, info: cluster };
  const { file } = config;
  const others = [...vcenters(file), ...registries(file), ...targets(file)];
  const found = others.find(({ info }) => info.name === name);
  if (found !== undefined) return found;
  const names = [...others.map(({ info }) => info.name), ...(file.cluster === undefined ? [] : [clusterName])];
  const known = names.join(', ') || 'none';
  throw new OperationError('NotFound', `no endpoint "${name}" in the workers' configuration; known: ${known}`, {
    code: 'ENDPOINT_UNKNOWN',
    next: 'vmflow endpoint list',
  });
}

function vcenters({ vcenters: entries }: ConfigFile): ConfiguredEndpoint[] {
  return Object.entries(entries).map(([key, { url, user, tls }]) => ({
    key,
    info: { name: key, kind: 'vcenter', url, user, tls: tlsInWords(tls) },
  }));
}

function registries(file: ConfigFile): ConfiguredEndpoint[] {
  return Object.entries(file.registries).map(([key, entry]) => {
    const { url, tls, user, tokenFile, tokenEnv } = entry;
    const hasToken = tokenFile !== undefined || tokenEnv !== undefined;
    return {
      key,
      info: {
        name: registryName(file, key),
        kind: 'registry',
        url,
        user: user ?? (hasToken ? 'token' : 'anonymous'),
        tls: url.startsWith('http:') ? 'plain http' : tlsInWords(tls),
      },
    };
  });
}

/** As in the file, unless something else of the file is called so. */
function registryName(file: ConfigFile, key: string): string {
  return isVCenterOrCluster(file, key) ? `registry/${key}` : key;
}

function isVCenterOrCluster({ vcenters: entries, cluster }: ConfigFile, key: string): boolean {
  return Object.hasOwn(entries, key) || (key === clusterName && cluster !== undefined);
}

function targets(file: ConfigFile): ConfiguredEndpoint[] {
  return Object.entries(file.targets).map(([key, { url, tls, clientCertFile, clientCertEnv }]) => ({
    key,
    info: {
      name: targetName(file, key),
      kind: 'target',
      url,
      user: (clientCertFile ?? clientCertEnv) === undefined ? 'anonymous' : 'certificate',
      tls: url.startsWith('http:') ? 'plain http' : tlsInWords(tls),
    },
  }));
}

function targetName(file: ConfigFile, key: string): string {
  return isVCenterOrCluster(file, key) || Object.hasOwn(file.registries, key) ? `target/${key}` : key;
}

export function tlsInWords(tls: { mode: string; sha256?: string; sha1?: string }): string {
  return tls.mode === 'thumbprint' ? `thumbprint ${tls.sha256 ?? tls.sha1 ?? ''}` : tls.mode;
}
