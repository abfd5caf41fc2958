import type { Orphan } from '../../workflows/contracts/batch-lookup.ts';
import { CliError } from '../errors.ts';
import type { Session } from '../session.ts';

/** What is left at the targets, and whether all of them could be asked. */
export async function allOrphans(session: Session) {
  return (await (await session.gateway()).lookup({ what: 'orphans' })).answer;
}

/** As people write one: `target/project/name`. */
export function orphanName({ target, project, name }: Pick<Orphan, 'target' | 'project' | 'name'>): string {
  return `${target}/${project}/${name}`;
}

/** The one orphan of a name, `target/project/name` or the uuid of its source VM. Exit 3 when there is none or more than one. */
export async function findOrphan(session: Session, text: string): Promise<Orphan> {
  const { orphans, unread } = await allOrphans(session);
  const found = orphans.filter((one) => [one.name, orphanName(one), one.uuid].includes(text));
  const [only, ...others] = found;
  if (only === undefined)
    throw new CliError({
      exit: 'notFound',
      reason: 'ORPHAN_NOT_FOUND',
      message: `nothing called "${text}" was left at a target`,
      why: unread.length === 0 ? undefined : `these could not be asked: ${unread.join('; ')}`,
      next: 'vmflow orphans list',
    });
  if (others.length > 0)
    throw new CliError({
      exit: 'notFound',
      reason: 'NAME_AMBIGUOUS',
      message: `"${text}" can mean ${String(found.length)} instances`,
      why: found.map((one) => `${orphanName(one)}  (batch ${one.batch}, uuid ${one.uuid})`).join('\n'),
      next: 'write it as shown: TARGET/PROJECT/NAME',
    });
  return only;
}
