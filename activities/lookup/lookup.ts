import type { LookupActivities } from '../../workflows/contracts/activities.ts';
import type { Check, LookupAnswer, LookupRequest } from '../../workflows/contracts/lookup.ts';
import { secretFileTroubles } from '../config.ts';
import { OperationError } from '../failures.ts';
import type { TemplateDeps } from '../template/deps.ts';
import type { BatchDeps } from '../batch/deps.ts';
import type { Cluster } from '../kubernetes/port.ts';
import type { Registries } from '../registry/registries.ts';
import { noCluster } from '../vmop/deps.ts';
import { checkCluster } from './check-cluster.ts';
import { batchQuestions } from './batch/questions.ts';
import { checkRegistry } from './check-registry.ts';
import { checkTarget } from './check-target.ts';
import { checkVCenter } from './check-vcenter.ts';
import { clusterQuestions } from './cluster-questions.ts';
import { endpointOf, endpointsOf, type ConfiguredEndpoint } from './endpoints.ts';
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
  readonly registries: Registries;
  readonly batch: BatchDeps;
}

/** Read-only questions; each is one row. */
export function createLookup(deps: LookupDeps, identity: WorkerIdentity): LookupActivities {
  const cluster = deps.cluster ?? noCluster(deps.config.path);
  const checksOf = async ({ key, info }: ConfiguredEndpoint): Promise<Check[]> => {
    switch (info.kind) {
      case 'vcenter':
        return await checkVCenter(deps, key);
      case 'registry':
        return await checkRegistry(deps, info, key);
      case 'target':
        return await checkTarget(deps.batch, key);
      case 'cluster':
        return await checkCluster(cluster, info, deps.config.file);
    }
  };
  const answers: Answers = {
    endpoints: async () => ({ what: 'endpoints', endpoints: await endpointsOf(deps.config) }),
    endpoint: async ({ name }) => {
      const found = await endpointOf(deps.config, name);
      return { what: 'endpoint', endpoint: found.info, checks: await checksOf(found) };
    },
    ...clusterQuestions(cluster),
    ...batchQuestions(deps.batch, deps),
    template: (request) => findTemplate(deps, request),
    templates: (request) => listTemplates(deps, request),
    worker: async () => ({
      what: 'worker',
      buildId: identity.buildId,
      sdk: identity.sdk,
      node: process.version,
      checks: (await secretFileTroubles(deps.config.file)).map((trouble) => ({
        name: 'secret files',
        ok: false,
        ...trouble,
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
