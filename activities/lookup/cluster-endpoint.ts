import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { EndpointInfo } from '../../workflows/contracts/lookup.ts';
import type { Config } from '../config.ts';
import { OperationError } from '../failures.ts';

/** Name of the cluster among the endpoints; it is the key in `vmflow.yaml`. */
export const clusterName = 'cluster';

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?: readonly { readonly name: string; readonly context: { cluster: string; user: string } }[];
  readonly clusters?: readonly {
    readonly name: string;
    readonly cluster: { readonly server?: string; readonly 'insecure-skip-tls-verify'?: boolean };
  }[];
}

/** Where the cluster is and as whom it is reached, without secrets; undefined: none is configured. */
export async function clusterEndpoint(
  { file }: Config,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<EndpointInfo | undefined> {
  if (file.cluster === undefined) return undefined;
  const { kubeconfig } = file.cluster;
  const found = kubeconfig === undefined ? inPod(environment) : currentOf(await readKubeconfig(kubeconfig));
  return { name: clusterName, kind: 'cluster', ...found };
}

type Place = Pick<EndpointInfo, 'url' | 'user' | 'tls'>;

function inPod({ KUBERNETES_SERVICE_HOST: host = 'kubernetes.default', KUBERNETES_SERVICE_PORT: port = '443' }): Place {
  return { url: `https://${host.includes(':') ? `[${host}]` : host}:${port}`, user: 'service account', tls: 'ca' };
}

function currentOf(config: Kubeconfig): Place {
  const context = config.contexts?.find(({ name }) => name === config['current-context'])?.context;
  const cluster = config.clusters?.find(({ name }) => name === context?.cluster)?.cluster;
  return {
    url: cluster?.server ?? 'https://localhost',
    user: context?.user ?? '',
    tls: cluster?.['insecure-skip-tls-verify'] === true ? 'insecure' : 'ca',
  };
}

async function readKubeconfig(path: string): Promise<Kubeconfig> {
  try {
    return (parse(await readFile(path, 'utf8')) ?? {}) as Kubeconfig;
  } catch (err) {
    throw new OperationError('InvalidRequest', `can't read the kubeconfig ${path} on this worker`, {
      code: 'KUBECONFIG_UNREADABLE',
      next: 'correct cluster.kubeconfig in vmflow.yaml on the workers and restart them',
      cause: err,
    });
  }
}
