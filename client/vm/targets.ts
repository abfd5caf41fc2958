import type { VmInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { CliError, usageError } from '../errors.ts';
import { defined } from '../objects.ts';
import type { Session } from '../session.ts';
import { kubeNamespace, readName, type PlaceFlags } from './place.ts';
import { pagesOf } from './pages.ts';

/** One VM. */
export interface VmRef {
  readonly namespace: string;
  readonly name: string;
}

/** Flags that pick many VMs. */
export interface PickFlags extends PlaceFlags {
  readonly selector?: string;
  readonly all?: boolean;
  readonly allNamespaces?: boolean;
}

export interface Picked {
  readonly targets: readonly VmRef[];
  /** Picked by a selector or by `--all`: nobody has typed these names. */
  readonly isSelected: boolean;
}

/** The VMs that names or selecting flags mean. */
export async function pickVms(session: Session, names: readonly string[], flags: PickFlags): Promise<Picked> {
  const isSelected = flags.selector !== undefined || flags.all === true;
  if (isSelected && names.length > 0) throw usageError('give names, or -l, or --all: not both');
  if (isSelected) return { targets: await selectVms(session, flags), isSelected };
  if (names.length === 0) throw usageError('which VM? give a name, or pick with -l SELECTOR or --all');
  const found = await Promise.all([...new Set(names)].map((name) => resolveVm(session, name, flags)));
  return { targets: [...new Map(found.map((vm) => [`${vm.namespace}/${vm.name}`, vm])).values()], isSelected };
}

async function selectVms(session: Session, flags: PickFlags): Promise<readonly VmRef[]> {
  const namespace = flags.allNamespaces === true ? undefined : kubeNamespace(session, flags);
  if (namespace === undefined && flags.allNamespaces !== true)
    throw usageError('in which namespace? many VMs are never picked in all of them by accident', [
      'name it: -n NAMESPACE',
      'or all of them: -A',
    ]);
  const { items, isComplete } = await allVms(session, { namespace, selector: flags.selector });
  if (!isComplete)
    throw usageError(`more than ${String(items.length)} VMs: pick fewer at a time`, 'narrow it with -n or -l');
  if (items.length === 0)
    throw noVm(flags.selector === undefined ? 'no VM' : `no VM that fits "${flags.selector}"`, namespace);
  return items.map(({ namespace: where, name }) => ({ namespace: where, name }));
}

/** VMs of a namespace or of all, in the order of namespace and name. */
export async function allVms(
  session: Session,
  wanted: { readonly namespace?: string | undefined; readonly selector?: string | undefined },
): Promise<{ readonly items: readonly VmInfo[]; readonly isComplete: boolean }> {
  const gateway = await session.gateway();
  return pagesOf(async (after) => (await gateway.lookup({ what: 'vms', ...defined(wanted), ...after })).answer);
}

/** The one VM of a name. Without a namespace it is looked for in all; several are never chosen among. */
export async function resolveVm(session: Session, text: string, flags: PlaceFlags): Promise<VmRef> {
  if (text.startsWith('set/'))
    throw usageError(`${text}: a set has no power of its own, its VMs are started and stopped by it`, [
      `vmflow hibernate ${text}`,
      `vmflow move ${text} --to NODE`,
    ]);
  const { namespace, name } = readName(session, text.replace(/^vm\//, ''), flags);
  if (namespace !== undefined) return { namespace, name };
  const { answer } = await (await session.gateway()).lookup({ what: 'vms', name });
  const [only, ...others] = answer.items;
  if (only === undefined) throw noVm(`no VM "${name}"`, undefined);
  if (others.length > 0) throw ambiguous(name, answer.items);
  return { namespace: only.namespace, name };
}

export function noVm(what: string, namespace: string | undefined): CliError {
  const where = namespace === undefined ? 'in any namespace' : `in namespace ${namespace}`;
  return new CliError({
    exit: 'notFound',
    reason: 'VM_NOT_FOUND',
    message: `there is ${what} ${where}`,
    next: namespace === undefined ? 'vmflow vm list' : `vmflow vm list -n ${namespace}`,
  });
}

function ambiguous(name: string, found: readonly VmInfo[]): CliError {
  return new CliError({
    exit: 'notFound',
    reason: 'NAME_AMBIGUOUS',
    message: `there are ${String(found.length)} VMs named "${name}"`,
    why: found.map((vm) => `${vm.namespace}/${vm.name}  (${vm.phase}, uid ${vm.uid})`).join('\n'),
    next: 'name the namespace: -n NAMESPACE, or NAMESPACE/NAME',
  });
}
