import type { BatchPlan, PlannedVm, PlannedWindow } from '../../workflows/contracts/batch-lookup.ts';
import { batchId } from '../../workflows/contracts/ids.ts';
import type { Action } from '../commands/command.ts';
import { formatDuration } from '../durations.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { namesText } from '../output/names.ts';
import type { Column } from '../output/table.ts';
import type { Session } from '../session.ts';
import { mistakesIn, readBatch, type FileFlags, type ReadBatch } from './file.ts';
import { windowTimes, type WindowTimes } from './window-times.ts';

/** `batch plan -f FILE`: what would come of it. Starts nothing. */
export const planBatch: Action<FileFlags> = async (session, _args, flags) =>
  await planOf(session, await readBatch(session, flags.file));

/** The plan of a file that was read; exit 5 when something can't be planned. */
export async function planOf(session: Session, file: ReadBatch): Promise<ExitCode> {
  const { answer } = await (await session.gateway()).lookup({ what: 'batch-plan', spec: file.spec });
  const { plan, problems } = answer;
  if (plan === undefined) throw mistakesIn(file, problems);
  for (const warning of plan.warnings) session.note(`warning: ${warning}`);
  await printPlan(session, file, plan);
  if (plan.truncated)
    session.note('documents name only the first of them, those with trouble first; the counts are of all');
  const bad = plan.members - plan.counts.planned;
  if (bad === 0) return exitCodes.ok.code;
  session.note(
    `exit 5: ${String(bad)} of ${String(plan.members)} VMs can't be planned. Next: vmflow batch plan -f ${file.path} -o json | jq .blocked`,
  );
  return exitCodes.refused.code;
}

/** One line of the table: a window, or a kind of trouble. */
interface PlanRow {
  readonly window: string;
  readonly utc?: string;
  readonly vms: number;
  readonly free?: string;
  readonly longest?: string;
  readonly note?: string;
}

const columns: readonly Column<PlanRow>[] = [
  { header: 'WINDOW', cell: ({ window }) => window },
  { header: 'UTC', cell: ({ utc }) => utc },
  { header: 'VMS', cell: ({ vms }) => String(vms) },
  { header: 'FREE', cell: ({ free }) => free },
  { header: 'LONGEST', cell: ({ longest }) => longest },
  { header: 'NOTE', cell: ({ note }) => note },
];

async function printPlan(session: Session, { spec, written }: ReadBatch, plan: BatchPlan): Promise<void> {
  const windows = await Promise.all(
    plan.windows.map(async (window) => ({ ...window, times: await windowTimes(window, written[window.name]) })),
  );
  const { name } = spec;
  const { items, ...rest } = plan;
  await session.print<PlanRow>({
    kind: 'BatchPlan',
    document: {
      name,
      ...rest,
      windows: windows.map(({ times, ...window }) => ({ ...window, local: times.local, utc: times.utc })),
      planned: items.filter(({ state }) => state === 'planned'),
      blocked: items.filter(({ state }) => state !== 'planned'),
    },
    rows: [...windowRows(windows, plan), ...troubleRows(plan)],
    columns,
    names: items.map((vm) => vm.name),
    ids: [batchId(name)],
  });
  if (plan.members === plan.counts.planned) session.note(`${String(plan.members)} VMs, all planned`);
}

function windowRows(
  windows: readonly (PlannedWindow & { readonly times: WindowTimes })[],
  { counts }: BatchPlan,
): PlanRow[] {
  if (windows.length === 0) return counts.planned === 0 ? [] : [{ window: 'at any time', vms: counts.planned }];
  return windows.map(({ name, times, vms, capacity, longestMs, notes }) => ({
    window: `${name} ${times.local}`,
    utc: times.utc,
    vms,
    free: capacity === 0 ? 'any' : String(Math.max(0, capacity - vms)),
    ...(longestMs === 0 ? {} : { longest: formatDuration(longestMs) }),
    note: notes.join('; '),
  }));
}

const troubles: readonly (readonly [PlannedVm['state'], string])[] = [
  ['no-place', 'no place left'],
  ['does-not-fit', 'does not fit'],
  ['blocked', 'blocked'],
  ['taken', 'taken'],
];

function troubleRows({ counts, items }: BatchPlan): PlanRow[] {
  return troubles.flatMap(([state, window]) => {
    if (counts[state] === 0) return [];
    const told = items.filter((vm) => vm.state === state).map(({ name, why = '' }) => `${name}: ${why}`);
    return [{ window, vms: counts[state], note: namesText(told, '; ', counts[state]) }];
  });
}
