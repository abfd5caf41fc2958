import type { LookupActivities } from '../../workflows/contracts/activities.ts';
import type { EndpointInfo, LookupAnswer, LookupRequest } from '../../workflows/contracts/lookup.ts';
import { secretFileWarnings, type Config } from '../config.ts';
import { OperationError } from '../failures.ts';
import type { TemplateDeps } from '../template/deps.ts';
import type { Cluster } from '../kubernetes/port.ts';
import { noCluster } from '../vmop/deps.ts';
import { checkCluster } from './check-cluster.ts';
import { checkVCenter } from './check-vcenter.ts';
import { clusterEndpoint, clusterName } from './cluster-endpoint.ts';
import { clusterQuestions } from './cluster-questions.ts';
import { findTemplate, listTemplates } from './templates.ts';

export interface WorkerIdentity {
  readonly buildId: string;
  readonly sdk: string;
}

type Answers = {
  readonly [W in Exclude<LookupRequest['what'], 'ova'>]: (
    request: Extract<LookupRequest, { what: W }>,
  ) => Promise<LookupAnswer>;
};

export interface LookupDeps extends Pick<TemplateDeps, 'config' | 'vsphere'> {
  /** Absent: no `cluster` in `vmflow.yaml`. */
  readonly cluster?: Cluster;
}

/** Read-only questions; each is one row. */
export function createLookup(deps: LookupDeps, identity: WorkerIdentity): LookupActivities {
  const cluster = deps.cluster ?? noCluster(deps.config.path);
  const answers: Answers = {
    endpoints: async () => {
      const ofCluster = await clusterEndpoint(deps.config);
      return {
        what: 'endpoints',
        endpoints: [
          ...Object.keys(deps.config.file.vcenters).map((name) => endpointInfo(deps.config, name)),
          ...(ofCluster === undefined ? [] : [ofCluster]),
        ],
      };
    },
    endpoint: async ({ name }) => {
      const ofCluster = name === clusterName ? await clusterEndpoint(deps.config) : undefined;
      if (ofCluster !== undefined)
        return {
          what: 'endpoint',
          endpoint: ofCluster,
          checks: await checkCluster(cluster, ofCluster, { hasWebhook: deps.config.file.webhook !== undefined }),
        };
      return { what: 'endpoint', endpoint: endpointInfo(deps.config, name), checks: await checkVCenter(deps, name) };
    },
    ...clusterQuestions(cluster),
    template: (request) => findTemplate(deps, request),
    templates: (request) => listTemplates(deps, request),
    worker: async () => ({
      what: 'worker',
      buildId: identity.buildId,
      sdk: identity.sdk,
      node: process.version,
      checks: (await secretFileWarnings(deps.config.file)).map((detail) => ({
        name: 'secret files',
        ok: false,
        detail,
        failure: 'wrong',
      })),
    }),
  };
  return {
    async lookup(request) {
      const answer = (answers as Readonly<Record<string, ((request: never) => Promise<LookupAnswer>) | undefined>>)[
        request.what
      ];
      if (answer === undefined)
        throw new OperationError('InvalidRequest', `there is nothing called "${request.what}" to look up`, {
          code: 'LOOKUP_UNKNOWN',
        });
      return await answer(request as never);
    },
  };
}

function endpointInfo(config: Config, name: string): EndpointInfo {
  const entry = config.file.vcenters[name];
  if (entry === undefined) {
    const names = [...Object.keys(config.file.vcenters), ...(config.file.cluster === undefined ? [] : [clusterName])];
    const known = names.join(', ') || 'none';
    throw new OperationError('NotFound', `no endpoint "${name}" in the workers' configuration; known: ${known}`, {
      code: 'ENDPOINT_UNKNOWN',
    });
  }
  return { name, kind: 'vcenter', url: entry.url, user: entry.user, tls: tlsInWords(entry.tls) };
}

function tlsInWords(tls: { mode: string; sha256?: string; sha1?: string }): string {
  return tls.mode === 'thumbprint' ? `thumbprint ${tls.sha256 ?? tls.sha1 ?? ''}` : tls.mode;
}
