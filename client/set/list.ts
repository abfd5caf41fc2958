import type { SetInfo } from '../../workflows/contracts/cluster-lookup.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { ageOf } from '../op/list.ts';
import { kubeNamespace, type PlaceFlags } from '../vm/place.ts';
import { allSets } from './find.ts';

export interface ListFlags extends PlaceFlags {
  readonly selector?: string;
  readonly allNamespaces?: boolean;
  readonly phase?: string;
}

/** `set list`: sets as the cluster has them now. */
export const listSets: Action<ListFlags> = async (session, _args, flags) => {
  const namespace = flags.allNamespaces === true ? undefined : kubeNamespace(session, flags);
  const { items, isComplete } = await allSets(session, { namespace, selector: flags.selector });
  const rows = items.filter(
    (set) => flags.phase === undefined || shownPhase(set).toLowerCase() === flags.phase.toLowerCase(),
  );
  const names = rows.map((set) => `${set.namespace}/${set.name}`);
  await session.print<SetInfo>({
    kind: 'CocoonSetList',
    document: { items: rows },
    rows,
    columns: [
      { header: 'NAME', cell: ({ name, namespace: of }) => (namespace === undefined ? `${of}/${name}` : name) },
      { header: 'PHASE', cell: shownPhase },
      { header: 'NODE', cell: ({ node }) => node },
      { header: 'TARGET', cell: ({ target }) => target },
      { header: 'MIGRATING', cell: migratingText },
      { header: 'READY', cell: ({ readyAgents, desiredAgents }) => `${String(readyAgents)}/${String(desiredAgents)}` },
      { header: 'AGE', cell: ({ createdAt }) => ageOf(session, createdAt) },
      { header: 'MESSAGE', cell: ({ migrating }) => migrating?.message, wide: true },
      { header: 'UID', cell: ({ uid }) => uid, wide: true },
    ],
    names,
    ids: names,
  });
  if (!isComplete) session.note('there are more sets than are shown; narrow it with -n or -l');
  if (rows.length === 0) session.note('no such sets');
  return exitCodes.ok.code;
};

export function shownPhase({ phase, deleting }: Pick<SetInfo, 'phase' | 'deleting'>): string {
  return deleting === true ? 'Deleting' : (phase ?? 'New');
}

/** The step, or what it waits for; undefined: nothing is wanted, or it went well. */
export function migratingText({ migrating }: Pick<SetInfo, 'migrating'>): string | undefined {
  return migrating === undefined || ['NotRequested', 'Succeeded'].includes(migrating.reason)
    ? undefined
    : migrating.reason;
}
