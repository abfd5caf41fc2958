import type { SourceView } from '../../workflows/contracts/batch.ts';
import type { Connectivity, SourceInfo } from '../../workflows/contracts/batch-lookup.ts';
import { sourceId } from '../../workflows/contracts/ids.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Paint } from '../output/colors.ts';
import { formatTime } from '../output/units.ts';
import type { Session } from '../session.ts';
import { askStatus } from '../status-query.ts';

/** A source as the workers reach it, and what its last sync has seen. */
export interface SourceRow extends SourceInfo {
  readonly syncing: boolean;
  readonly lastSync?: NonNullable<SourceView['last']>;
  readonly lastError?: string;
}

/** `source list`. */
export const listSources: Action<object> = async (session) => {
  const { answer } = await (await session.gateway()).lookup({ what: 'sources' });
  const rows = await Promise.all(answer.sources.map((source) => withSync(session, source)));
  const names = rows.map(({ name }) => name);
  await session.print<SourceRow>({
    kind: 'SourceList',
    document: { items: rows },
    rows,
    columns: [
      { header: 'NAME', cell: ({ name }) => name },
      { header: 'TYPE', cell: ({ type }) => type },
      { header: 'ENDPOINT', cell: ({ url }) => url },
      { header: 'STATUS', cell: ({ connectivity }) => paintConnectivity(connectivity, session.paint) },
      { header: 'SYNCING', cell: ({ syncing }) => (syncing ? 'yes' : 'no') },
      { header: 'VMS', cell: ({ lastSync }) => (lastSync === undefined ? undefined : String(lastSync.instances)) },
      { header: 'LAST-SYNC', cell: ({ lastSync }) => lastSyncText(session, lastSync) },
      { header: 'USER', cell: ({ user }) => user, wide: true },
      { header: 'FINGERPRINT', cell: ({ fingerprint }) => fingerprint, wide: true },
      { header: 'DETAIL', cell: ({ detail, lastError }) => detail ?? lastError, wide: true },
      { header: 'WARNINGS', cell: ({ lastSync }) => warningsText(lastSync), wide: true },
    ],
    names,
    ids: names,
  });
  if (rows.length === 0) session.note("the workers' vmflow.yaml names no source; add vcenters");
  return exitCodes.ok.code;
};

async function withSync(session: Session, source: SourceInfo): Promise<SourceRow> {
  const status = await askStatus<SourceView>(session, { workflowId: sourceId(source.name) });
  return {
    ...source,
    syncing: status?.syncing ?? false,
    ...(status?.last === undefined ? {} : { lastSync: status.last }),
    ...(status?.lastError === undefined ? {} : { lastError: status.lastError }),
  };
}

export function paintConnectivity(connectivity: Connectivity, paint: Paint): string {
  if (connectivity === 'OK') return paint.green(connectivity);
  return connectivity === 'Unknown' ? connectivity : paint.red(connectivity);
}

function lastSyncText({ flags, runtime }: Session, last: SourceRow['lastSync']): string {
  return last === undefined ? 'No update' : formatTime(last.at, flags.time, runtime.now());
}

function warningsText(last: SourceRow['lastSync']): string | undefined {
  const told = last?.warnings.map(({ type, count }) => `${type} (${String(count)})`);
  return told?.join(', ');
}
