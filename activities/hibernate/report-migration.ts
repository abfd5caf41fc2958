import type { MigrationActivities } from '../../workflows/contracts/activities.ts';
import type { Decision } from '../../workflows/domain/hibernate/decide.ts';
import type { HibernateDeps } from './deps.ts';
import { outcomeOf } from './guarded.ts';
import { observe } from './observe.ts';
import { warn } from './set-events.ts';
import { podsOfSet, writeSetStatus } from './set-status.ts';
import { decideNow, show } from './turn.ts';

/** Shows what a migration waits for where no change follows, such as what the far side refuses until somebody allows it. */
export function createReportMigration(deps: HibernateDeps): MigrationActivities['reportMigration'] {
  return async ({ scope, known, refusal }) => {
    await outcomeOf(async () => {
      const sight = await observe(deps, scope, true);
      const { setObject, podObject } = sight;
      if (setObject === undefined) return 'stale';
      const decision = decideNow(deps, sight, known, scope.setUid);
      const written = await show(deps, sight, decision, known);
      const reason = refusal?.outcome === 'forbidden' ? refusedReason(decision) : undefined;
      if (reason === undefined || written === undefined) return 'done';
      const message = refusal?.message ?? '';
      await warn(deps, setObject, reason, message);
      const pods = podsOfSet(deps, written, podObject === undefined ? [] : [podObject]);
      await writeSetStatus(deps, written, pods, { migrating: { status: 'True', reason, message } });
      return 'done';
    });
  };
}

/** What isn't allowed, in one word. */
function refusedReason({ next }: Decision): string | undefined {
  if (next.kind !== 'act') return undefined;
  if (next.action.do === 'dropTag') return 'RegistryForbidden';
  return next.action.do === 'createPod' ? 'PodRejected' : 'ClusterForbidden';
}
