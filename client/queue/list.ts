import type { MigrationView } from '../../workflows/contracts/batch.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import { askStatus } from '../status-query.ts';
import { entryColumns } from './render-rows.ts';
import { entriesIn, sortEntries, withView, type EntryRow } from './rows.ts';

export interface ListFlags {
  readonly batch?: string;
  readonly status?: string;
  readonly source?: string;
}

/** Entries that are asked at once, for what only they know. */
const atOnce = 16;

/** `queue list`: VMs of batches, conflicts first. */
export const listQueue: Action<ListFlags> = async (session, _args, flags) => {
  const found = await entriesIn(session, { batch: flags.batch });
  const wanted = found.filter((row) => isOf(row, flags.status) && (flags.source ?? row.source) === row.source);
  const rows = session.flags.output === 'wide' ? await asked(session, sortEntries(wanted)) : sortEntries(wanted);
  await session.print<EntryRow>({
    kind: 'QueueList',
    document: { items: rows },
    rows,
    columns: entryColumns(session),
    names: rows.map(({ vm }) => vm),
    ids: rows.map(({ uuid }) => uuid),
  });
  if (rows.length === 0) session.note(found.length === 0 ? 'no VM is in the queue' : 'no such VMs in the queue');
  return exitCodes.ok.code;
};

/** `conflict`, `error`, `idle`, or the beginning of a longer status. */
function isOf({ phase }: EntryRow, status: string | undefined): boolean {
  return status === undefined || phase.toLowerCase().startsWith(status.toLowerCase());
}

async function asked(session: Session, rows: readonly EntryRow[]): Promise<readonly EntryRow[]> {
  const { default: pLimit } = await import('p-limit');
  return await pLimit(atOnce).map(rows, async (row) =>
    withView(row, await askStatus<MigrationView>(session, { workflowId: row.id })),
  );
}
