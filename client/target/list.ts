import type { TargetInfo } from '../../workflows/contracts/batch-lookup.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { paintConnectivity } from '../source/list.ts';

/** `target list`: targets as the workers reach them. */
export const listTargets: Action<object> = async (session) => {
  const { answer } = await (await session.gateway()).lookup({ what: 'targets' });
  const rows = answer.targets;
  const names = rows.map(({ name }) => name);
  const limit = (value: number): string => (value === 0 ? 'none' : String(value));
  await session.print<TargetInfo>({
    kind: 'TargetList',
    document: { items: rows },
    rows,
    columns: [
      { header: 'NAME', cell: ({ name }) => name },
      { header: 'TYPE', cell: ({ type }) => type },
      { header: 'ENDPOINT', cell: ({ url }) => url },
      { header: 'STATUS', cell: ({ connectivity }) => paintConnectivity(connectivity, session.paint) },
      { header: 'AUTH', cell: ({ auth }) => auth },
      { header: 'VERSION', cell: ({ version }) => version },
      { header: 'IMPORT-LIMIT', cell: ({ importLimit }) => limit(importLimit), wide: true },
      { header: 'CREATE-LIMIT', cell: ({ createLimit }) => limit(createLimit), wide: true },
      { header: 'FINGERPRINT', cell: ({ fingerprint }) => fingerprint, wide: true },
      { header: 'DETAIL', cell: ({ detail }) => detail, wide: true },
    ],
    names,
    ids: names,
  });
  if (rows.length === 0) session.note("the workers' vmflow.yaml names no target; add targets");
  return exitCodes.ok.code;
};
