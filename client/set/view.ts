import type { SetDetails } from '../../workflows/contracts/cluster-lookup.ts';
import { cocoonSetId } from '../../workflows/contracts/ids.ts';
import { loadMigration, type MigrationView } from '../migrate/view.ts';
import type { Session } from '../session.ts';

/** What `set get` prints: the set as the cluster has it, and the migration of its main VM while one is open. */
export interface SetView extends SetDetails {
  /** Of the workflow that decides for it. */
  readonly id: string;
  readonly migration?: MigrationView;
  readonly next: readonly string[];
  readonly link: string;
}

export async function loadSet(session: Session, set: SetDetails): Promise<SetView> {
  return mergeSet(set, await loadMigration(session, set), await session.link(cocoonSetId(set.namespace, set.name)));
}

/** Pure. */
export function mergeSet(set: SetDetails, migration: MigrationView | undefined, link: string): SetView {
  const isOpen = migration?.execution === 'running';
  return {
    ...set,
    id: cocoonSetId(set.namespace, set.name),
    ...(isOpen ? { migration } : {}),
    next: isOpen ? [] : nextCommands(set),
    link,
  };
}

function nextCommands({ namespace, name, suspend, hibernation, deleting }: SetDetails): string[] {
  const where = `${name} -n ${namespace}`;
  if (deleting === true) return [`vmflow set watch ${where}`];
  if (hibernation !== undefined && hibernation.phase !== 'Active') return [`vmflow wake set/${where}`];
  return suspend === true ? [] : [`vmflow move set/${where} --to NODE`];
}

/** Nothing is under way and nothing is wanted that isn't so. */
export function isSettled({
  phase,
  generation,
  observedGeneration,
  node,
  target,
  deleting,
  migration,
}: SetView): boolean {
  if (migration !== undefined || deleting === true || observedGeneration < generation) return false;
  if (phase === 'Suspended' || phase === 'Failed') return true;
  return phase === 'Running' && (target === undefined || target === node);
}
