import type { SetDetails, SetInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { CliError } from '../errors.ts';
import { defined } from '../objects.ts';
import type { Session } from '../session.ts';
import { pagesOf } from '../vm/pages.ts';
import { readName, type PlaceFlags } from '../vm/place.ts';

/** One set. */
export interface SetRef {
  readonly namespace: string;
  readonly name: string;
}

/** The one set of a name. Without a namespace it is looked for in all; several are never chosen among. */
export async function resolveSet(session: Session, text: string, flags: PlaceFlags): Promise<SetRef> {
  const { namespace, name } = readName(session, text.replace(/^set\//, ''), flags);
  if (namespace !== undefined) return { namespace, name };
  const { answer } = await (await session.gateway()).lookup({ what: 'sets', name });
  const [only, ...others] = answer.items;
  if (only === undefined) throw noSet(name, undefined);
  if (others.length > 0) throw ambiguousSet(name, answer.items);
  return { namespace: only.namespace, name };
}

/** The set as the cluster has it now. Exit 3 when there is none. */
export async function findSet(session: Session, text: string, flags: PlaceFlags): Promise<SetDetails> {
  const ref = await resolveSet(session, text, flags);
  const set = await readSet(session, ref);
  if (set === undefined) throw noSet(ref.name, ref.namespace);
  return set;
}

/** Undefined: there is none of that name. */
export async function readSet(session: Session, { namespace, name }: SetRef): Promise<SetDetails | undefined> {
  return (await (await session.gateway()).lookup({ what: 'set', namespace, name })).answer.set;
}

/** Sets of a namespace or of all, in the order of namespace and name. */
export async function allSets(
  session: Session,
  wanted: { readonly namespace?: string | undefined; readonly selector?: string | undefined },
): Promise<{ readonly items: readonly SetInfo[]; readonly isComplete: boolean }> {
  const gateway = await session.gateway();
  return pagesOf(async (after) => (await gateway.lookup({ what: 'sets', ...defined(wanted), ...after })).answer);
}

export function noSet(name: string, namespace: string | undefined): CliError {
  const where = namespace === undefined ? 'in any namespace' : `in namespace ${namespace}`;
  return new CliError({
    exit: 'notFound',
    reason: 'SET_NOT_FOUND',
    message: `there is no set "${name}" ${where}`,
    next: namespace === undefined ? 'vmflow set list' : `vmflow set list -n ${namespace}`,
  });
}

function ambiguousSet(name: string, found: readonly SetInfo[]): CliError {
  return new CliError({
    exit: 'notFound',
    reason: 'NAME_AMBIGUOUS',
    message: `there are ${String(found.length)} sets named "${name}"`,
    why: found.map((set) => `${set.namespace}/${set.name}  (${set.phase ?? 'New'}, uid ${set.uid})`).join('\n'),
    next: 'name the namespace: -n NAMESPACE, or NAMESPACE/NAME',
  });
}
