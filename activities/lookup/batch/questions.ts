import type { BatchLookupAnswer, BatchLookupRequest } from '../../../workflows/contracts/batch-lookup.ts';
import type { BatchDeps } from '../../batch/deps.ts';
import type { TemplateDeps } from '../../template/deps.ts';
import { explainPlacement } from './explain.ts';
import { orphansOf } from './orphans.ts';
import { planBatch } from './plan.ts';
import { sourcesOf, sourceVms } from './sources.ts';
import { targetsOf } from './targets.ts';

type BatchAnswers = {
  readonly [W in BatchLookupRequest['what']]: (
    request: Extract<BatchLookupRequest, { what: W }>,
  ) => Promise<BatchLookupAnswer>;
};

/** Questions about batches, their sources and their targets. */
export function batchQuestions(deps: BatchDeps, vcenters: Pick<TemplateDeps, 'config' | 'vsphere'>): BatchAnswers {
  return {
    'batch-plan': ({ spec }) => planBatch(deps, spec),
    sources: async () => ({ what: 'sources', sources: await sourcesOf(vcenters) }),
    'source-vms': async (request) => ({ what: 'source-vms', ...(await sourceVms(deps, request)) }),
    targets: async () => ({ what: 'targets', targets: await targetsOf(deps) }),
    orphans: () => orphansOf(deps),
    placement: async (request) => {
      const found = await explainPlacement(deps, request);
      return { what: 'placement', ...(found === undefined ? {} : { found }) };
    },
  };
}
