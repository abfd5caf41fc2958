import type { Orphan } from '../../workflows/contracts/batch-lookup.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { allOrphans, orphanName } from './find.ts';

/** `orphans list`: instances with our marks that no entry stands behind. */
export const listOrphans: Action<object> = async (session) => {
  const { orphans, unread, truncated } = await allOrphans(session);
  await session.print<Orphan>({
    kind: 'OrphanList',
    document: { items: orphans, unread },
    rows: orphans,
    columns: [
      { header: 'NAME', cell: orphanName },
      { header: 'STATUS', cell: ({ status }) => status },
      { header: 'BATCH', cell: ({ batch }) => batch },
      { header: 'SOURCE', cell: ({ source }) => source },
      { header: 'SOURCE-POWER', cell: ({ sourcePower }) => sourcePower },
      { header: 'WHY', cell: ({ why }) => why },
      { header: 'UUID', cell: ({ uuid }) => uuid, wide: true },
      { header: 'ATTEMPT', cell: ({ attempt }) => String(attempt), wide: true },
    ],
    names: orphans.map(orphanName),
    ids: orphans.map(orphanName),
  });
  for (const reason of unread) session.note(`could not be asked: ${reason}`);
  if (truncated) session.note('there are more than are shown');
  if (orphans.length === 0 && unread.length === 0) session.note('nothing is left at any target');
  return unread.length === 0 ? exitCodes.ok.code : exitCodes.unreachable.code;
};
