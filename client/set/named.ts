import type { NamedKind, SetInfo, VmInfo, VmPodInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { CliError, usageError } from '../errors.ts';
import { defined } from '../objects.ts';
import type { Session } from '../session.ts';
import { readName, type PlaceFlags } from '../vm/place.ts';

/** What a name on the command line has turned out to be. */
export type Named =
  | { readonly kind: 'vm'; readonly vm: VmInfo }
  | { readonly kind: 'set'; readonly set: SetInfo }
  | { readonly kind: 'pod'; readonly pod: VmPodInfo };

const words: Readonly<Record<NamedKind, string>> = { vm: 'VM', set: 'set', pod: 'VM Pod of a set' };

/**
 * What each name means: `NAME` is looked for among all these kinds, `vm/NAME`, `set/NAME`, `pod/NAME` among one. Several of one
 * name are never chosen among. Exit 3 when there is none or more than one.
 */
export async function findNamed(
  session: Session,
  texts: readonly string[],
  kinds: readonly NamedKind[],
  flags: PlaceFlags,
): Promise<readonly Named[]> {
  if (texts.length === 0)
    throw usageError(`which ${kinds.map((kind) => words[kind]).join(' or ')}? give a name`, undefined);
  const found = await Promise.all([...new Set(texts)].map((text) => findOne(session, text, kinds, flags)));
  return [...new Map(found.map((one) => [keyOf(one), one])).values()];
}

async function findOne(session: Session, text: string, kinds: readonly NamedKind[], flags: PlaceFlags): Promise<Named> {
  const [first = '', ...rest] = text.split('/');
  const said = rest.length > 0 ? kinds.find((kind) => kind === first) : undefined;
  const { namespace, name } = readName(session, said === undefined ? text : rest.join('/'), flags);
  const among = said === undefined ? kinds : [said];
  const gateway = await session.gateway();
  const { answer } = await gateway.lookup({ what: 'named', name, kinds: among, ...defined({ namespace }) });
  const found: Named[] = [
    ...answer.vms.map((vm) => ({ kind: 'vm', vm }) as const),
    ...answer.sets.map((set) => ({ kind: 'set', set }) as const),
    ...answer.pods.map((pod) => ({ kind: 'pod', pod }) as const),
  ];
  const [only, ...others] = found;
  if (only === undefined) throw nothing(name, namespace, among);
  if (others.length > 0) throw ambiguous(name, found);
  return only;
}

/** As it is written where the name alone isn't enough. */
export function keyOf(named: Named): string {
  const { namespace, name } = objectOf(named);
  return `${named.kind}/${namespace}/${name}`;
}

function objectOf(named: Named): { readonly namespace: string; readonly name: string; readonly uid: string } {
  switch (named.kind) {
    case 'vm':
      return named.vm;
    case 'set':
      return named.set;
    case 'pod':
      return named.pod;
  }
}

function nothing(name: string, namespace: string | undefined, kinds: readonly NamedKind[]): CliError {
  const where = namespace === undefined ? 'in any namespace' : `in namespace ${namespace}`;
  const place = namespace === undefined ? '' : ` -n ${namespace}`;
  return new CliError({
    exit: 'notFound',
    reason: 'NAME_NOT_FOUND',
    message: `there is no ${kinds.map((kind) => words[kind]).join(' and no ')} "${name}" ${where}`,
    next: kinds.map((kind) => `vmflow ${kind === 'vm' ? 'vm' : 'set'} list${place}`),
  });
}

function ambiguous(name: string, found: readonly Named[]): CliError {
  return new CliError({
    exit: 'notFound',
    reason: 'NAME_AMBIGUOUS',
    message: `"${name}" can mean ${String(found.length)} things`,
    why: found.map((one) => `${keyOf(one)}  (uid ${objectOf(one).uid})`).join('\n'),
    next: 'write it as shown: KIND/NAMESPACE/NAME, or KIND/NAME with -n NAMESPACE',
  });
}
