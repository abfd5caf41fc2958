import type { EntryActivities } from '../../workflows/contracts/batch-activities.ts';
import { finalCheck, type FinalLook } from '../../workflows/domain/batch/final-check.ts';
import type { BatchDeps } from './deps.ts';
import { onSource } from './entry-source.ts';
import { migrationNetworkOf, overridesOf, placedBy } from './judge.ts';
import { TargetLooks } from './target-looks.ts';
import { OperationError } from '../failures.ts';

/** M4. Reads source and target now; a read that fails is an error and never a finding. */
export function createFinalCheck(deps: BatchDeps): Pick<EntryActivities, 'finalCheck'> {
  return {
    async finalCheck({ scope, entry, isResolve }) {
      const { spec } = await deps.specs.of(scope.batch, isResolve);
      const { placement } = entry;
      if (placement === undefined)
        throw new OperationError('InvalidRequest', `${scope.name} was never placed`, { code: 'NOT_PLACED' });
      const { seen, power } = await onSource(deps, scope.source, async (port, options) => ({
        seen: await port.fetch(scope.vm, options),
        power: await port.power(scope.vm, options),
      }));
      const migrationNetwork = migrationNetworkOf(spec, placement);
      const look: FinalLook = {
        found: seen === undefined || power === undefined ? undefined : { instance: seen.instance, power },
        record: entry.record,
        overrides: overridesOf(spec, scope.uuid),
        baseline: entry.baseline,
        placement,
        isResolve,
        force: spec.defaults.force_conflict_resolution,
        staleSource: spec.config.stale_source,
        ...(await new TargetLooks(deps).at(placement, scope)),
        ...(migrationNetwork === undefined ? {} : { migrationNetwork }),
      };
      let verdict = finalCheck(look);
      if (verdict.verdict === 'recompute') {
        const recomputed = await placedBy(
          { spec, instance: verdict.record, networks: seen?.networks ?? [] },
          placement.running,
        );
        verdict = finalCheck({ ...look, recomputed });
      }
      if (verdict.verdict === 'powered-on')
        return { verdict: 'powered-on', record: entry.record, placement, warnings: [] };
      if (verdict.verdict === 'recompute' || verdict.verdict === 'stale')
        throw new Error(`the final check of ${scope.name} came to no verdict (${verdict.verdict})`);
      return verdict;
    },
  };
}
