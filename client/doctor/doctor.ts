import type { Check } from '../../workflows/contracts/lookup.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { checkColumns } from '../output/checks.ts';
import { checks, type Finding } from './checks.ts';

/** One line of the table: a check and the exit code it stands for. */
export interface DoctorRow extends Check {
  readonly exit: ExitCode;
}

/** Runs the checks in order; one that needs a failed one is skipped, so that the table names causes, not consequences. */
export const doctor: Action<object> = async (session) => {
  const rows: DoctorRow[] = [];
  const failed = new Set<string>();
  for (const check of checks) {
    if (check.needs.some((need) => failed.has(need))) {
      failed.add(check.id);
      continue;
    }
    const findings = await check.look(session).catch((error: unknown): readonly Finding[] => [check.explain(error)]);
    rows.push(...findings.map((finding) => ({ exit: exitCodes.ok.code, ...finding })));
    if (findings.some((finding) => !finding.ok && finding.isMinor !== true)) failed.add(check.id);
  }
  const items = rows.map(({ name, ok, detail, remedy }) => ({
    name,
    ok,
    detail,
    ...(remedy === undefined ? {} : { remedy }),
  }));
  await session.print<Check>({
    kind: 'DoctorReport',
    document: { items },
    rows: items,
    columns: checkColumns(session.paint),
    names: items.map((item) => item.name),
    ids: items.map((item) => item.name),
  });
  return rows.find((row) => !row.ok)?.exit ?? exitCodes.ok.code;
};
