import { migrationId } from '../../workflows/contracts/ids.ts';
import { CliError } from '../errors.ts';
import { describeIfThere } from '../execution/wait.ts';
import type { ExecutionView } from '../gateway.ts';
import type { Session } from '../session.ts';
import { entriesIn, type EntryRow } from './rows.ts';

/** Flag that tells entries of one name apart. */
export interface NarrowFlags {
  readonly batch?: string;
}

/** The one entry that a name, an instance uuid or a workflow id means. Exit 3 when there is none or more than one. */
export async function findEntry(session: Session, text: string, flags: NarrowFlags): Promise<ExecutionView> {
  const uuid = /^(?:migration\/)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.exec(text)?.[1];
  if (uuid !== undefined) return await byUuid(session, uuid.toLowerCase());
  const all = await entriesIn(session, { name: text, batch: flags.batch, isClosedToo: true });
  const open = all.filter(({ execution }) => execution === 'running');
  const found = open.length > 0 ? open : newest(all);
  const [only, ...others] = found;
  if (only === undefined) throw noEntry(text, flags);
  if (others.length > 0) throw ambiguous(text, found);
  return await byUuid(session, only.uuid);
}

async function byUuid(session: Session, uuid: string): Promise<ExecutionView> {
  const execution = await describeIfThere(session, { workflowId: migrationId(uuid) });
  if (execution === undefined) throw noEntry(uuid, {});
  return execution;
}

/** Of each VM the last of its runs; lists are newest first. */
function newest(rows: readonly EntryRow[]): readonly EntryRow[] {
  const byVm = new Map<string, EntryRow>();
  for (const row of rows) if (!byVm.has(row.uuid)) byVm.set(row.uuid, row);
  return [...byVm.values()];
}

function noEntry(text: string, { batch }: NarrowFlags): CliError {
  return new CliError({
    exit: 'notFound',
    reason: 'ENTRY_NOT_FOUND',
    message: `there is no VM "${text}" in the queue${batch === undefined ? '' : ` of batch ${batch}`}`,
    next: batch === undefined ? 'vmflow queue list' : `vmflow queue list --batch ${batch}`,
  });
}

function ambiguous(name: string, found: readonly EntryRow[]): CliError {
  return new CliError({
    exit: 'notFound',
    reason: 'NAME_AMBIGUOUS',
    message: `there are ${String(found.length)} VMs named "${name}" in the queue`,
    why: found
      .map(({ uuid, batch, source, phase }) => `${uuid}  (batch ${batch}, source ${source ?? '?'}, ${phase})`)
      .join('\n'),
    next: 'use the uuid instead of the name, or name the batch with --batch',
  });
}
