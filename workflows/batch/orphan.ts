import type { BatchActivities, EntryActivities, OrphanActivities } from '../contracts/batch-activities.ts';
import type { OrphanOrder, OrphanResult } from '../contracts/batch-lookup.ts';
import { control } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';

/**
 * Takes care of an instance whose entry is lost: it stops, the source runs again where it ran, then it is deleted; `adopt` begins
 * the migration anew. What the lost entry had done to it nobody knows, so that nothing of it is gone on with.
 */
export async function orphan(order: OrphanOrder): Promise<OrphanResult> {
  const { name, target, project, by, action } = order;
  const where = `${name} in ${target}/${project}`;
  const look = await control<OrphanActivities>(budgets.person, `look at ${where}`).lookAtOrphan(order);
  if (look === undefined) return { outcome: 'gone', message: `there is no ${where} with these marks any more` };
  const { scope, member, shardId, ran } = look;
  const entry = (summary: string, budget: Parameters<typeof control>[0]): EntryActivities =>
    control<EntryActivities>(budget, `${by}: ${summary}`);
  await entry(`stop ${where}`, budgets.undo).stopTarget(scope);
  if (ran) await entry(`switch the source of ${name} on again`, budgets.powerOn).powerOnSource(scope);
  await control<OrphanActivities>(budgets.removeSnapshot, `remove the snapshots of ${name}`).removeSnapshots(scope);
  await entry(`delete ${where}`, budgets.undo).deleteTarget(scope);
  if (action === 'delete') return { outcome: 'deleted', message: `${where} is deleted` };
  const [started] = await control<BatchActivities>(budgets.start, `begin ${name} anew`).startEntries({
    batch: scope.batch,
    shardId,
    members: [member],
  });
  const isBegun = started?.outcome === 'queued' || started?.outcome === 'adopted';
  return {
    outcome: 'adopted',
    message: isBegun
      ? `the migration of ${name} begins anew: vmflow queue get ${member.uuid}`
      : `the source of ${name} is as before; it got no new entry: ${started !== undefined && 'why' in started ? started.why : 'it is not in its batch any more'}`,
  };
}
