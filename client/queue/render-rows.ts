import { formatTime } from '../output/units.ts';
import { renderTable, type Column } from '../output/table.ts';
import type { Session } from '../session.ts';
import type { EntryRow } from './rows.ts';

/** Columns of every table of entries. */
export function entryColumns(session: Session): readonly Column<EntryRow>[] {
  const time = (iso: string | undefined): string => formatTime(iso, session.flags.time, session.runtime.now());
  return [
    { header: 'VM', cell: ({ vm }) => vm },
    { header: 'BATCH', cell: ({ batch }) => batch },
    { header: 'PHASE', cell: ({ phase }) => phase },
    { header: 'PROGRESS', cell: ({ progress }) => (progress === undefined ? undefined : percent(progress)) },
    { header: 'WAITING-FOR', cell: ({ conflict, waitingFor }) => conflict ?? waitingFor },
    { header: 'WINDOW', cell: ({ window, deadline }) => windowText(window, deadline, time) },
    { header: 'TARGET', cell: ({ target }) => target, wide: true },
    { header: 'UPDATED', cell: ({ since }) => (since === undefined ? undefined : time(since)), wide: true },
    { header: 'MESSAGE', cell: ({ message }) => message, wide: true },
    { header: 'UUID', cell: ({ uuid }) => uuid, wide: true },
    { header: 'LINK', cell: ({ link }) => link, wide: true },
  ];
}

export function percent(share: number): string {
  return `${String(Math.round(share * 100))}%`;
}

/** Its window; while its source is off also when that ends. */
function windowText(
  window: string | undefined,
  deadline: string | undefined,
  time: (iso: string | undefined) => string,
): string | undefined {
  if (deadline === undefined) return window;
  return `${window === undefined ? '' : `${window} `}ends ${time(deadline)}`;
}

/** Rows that a screen shows; the rest is a number. */
const shown = 20;

/** The rows of a watch: a table, and for each conflict the command that decides it. Empty without rows. */
export function renderRows(session: Session, rows: readonly EntryRow[]): string {
  if (rows.length === 0) return '';
  const columns = entryColumns(session).filter(({ wide, header }) => wide !== true && header !== 'BATCH');
  const table = renderTable(rows.slice(0, shown), columns, { headers: true });
  const rest = rows.length > shown ? `  and ${String(rows.length - shown)} more: vmflow queue list\n` : '';
  const conflicts = rows.filter(({ conflict }) => conflict !== undefined).slice(0, 5);
  return `\n${table}${rest}${conflicts.map(({ uuid, vm }) => `  ${vm}: vmflow queue resolve ${uuid}\n`).join('')}`;
}
