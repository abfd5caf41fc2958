import type { VmopInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { inWords } from '../../workflows/domain/vmop/matrix.ts';
import { CliError } from '../errors.ts';
import type { Session } from '../session.ts';
import { readName, type PlaceFlags } from '../vm/place.ts';

/** The one operation that a name, `NAMESPACE/NAME`, a UID or a workflow id means. Exit 3 when there is none or more than one. */
export async function findOperation(session: Session, text: string, flags: PlaceFlags): Promise<VmopInfo> {
  const { namespace, name } = readName(session, text.replace(/^vmop\//, ''), flags);
  const found = await lookUp(session, name, namespace);
  const [only, ...others] = found;
  if (only === undefined) throw noOperation(name, namespace);
  if (others.length > 0) throw ambiguous(name, found);
  return only;
}

/** The operation with this UID as the cluster has it now; undefined: its object is gone. */
export async function readOperation(
  session: Session,
  { namespace, uid }: { readonly namespace: string; readonly uid: string },
): Promise<VmopInfo | undefined> {
  return (await lookUp(session, uid, namespace)).find((op) => op.uid === uid);
}

async function lookUp(session: Session, nameOrUid: string, namespace?: string): Promise<readonly VmopInfo[]> {
  const where = namespace === undefined ? {} : { namespace };
  return (await (await session.gateway()).lookup({ what: 'vmop', nameOrUid, ...where })).answer.found;
}

function noOperation(name: string, namespace: string | undefined): CliError {
  const where = namespace === undefined ? 'in any namespace' : `in namespace ${namespace}`;
  return new CliError({
    exit: 'notFound',
    reason: 'OPERATION_NOT_FOUND',
    message: `there is no operation "${name}" ${where}`,
    state: 'finished operations are deleted after a day, and of each VM all but the ten newest',
    next: namespace === undefined ? 'vmflow op list' : `vmflow op list -n ${namespace}`,
  });
}

function ambiguous(name: string, found: readonly VmopInfo[]): CliError {
  return new CliError({
    exit: 'notFound',
    reason: 'NAME_AMBIGUOUS',
    message: `there are ${String(found.length)} operations named "${name}"`,
    why: found.map((op) => `${op.namespace}/${op.name}  (${inWords(op)} of ${op.vmName}, uid ${op.uid})`).join('\n'),
    next: 'name the namespace: -n NAMESPACE, or NAMESPACE/NAME, or use the uid',
  });
}
