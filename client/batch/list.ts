import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import type { BatchSpec } from '../../workflows/domain/batch/records.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Column } from '../output/table.ts';
import { formatTime } from '../output/units.ts';
import { naturally } from '../output/names.ts';
import type { Session } from '../session.ts';
import { etaText } from './render.ts';
import { loadBatch, specOf, type BatchDocument } from './view.ts';

/** Batches that a list shows at most. */
const mostListed = 500;
/** Batches that are asked at once. */
const atOnce = 8;

/** `batch list`: batches with their totals. */
export const listBatches: Action<object> = async (session) => {
  const kind: OperationKind = 'batch';
  const gateway = await session.gateway();
  const executions = await gateway.list(
    `${searchKeys.kind.name} = '${kind}' AND ExecutionStatus = 'Running'`,
    mostListed,
  );
  const { default: pLimit } = await import('p-limit');
  const isWide = session.flags.output === 'wide';
  const found = await pLimit(atOnce).map(executions, async (execution) => {
    const batch = await loadBatch(session, execution);
    const spec = isWide ? await specOf(session, batch.name) : undefined;
    return spec === undefined ? batch : { ...batch, spec };
  });
  const rows = found.sort((a, b) => naturally.compare(a.name, b.name));
  await session.print<BatchDocument>({
    kind: 'BatchList',
    document: { items: rows },
    rows,
    columns: columns(session),
    names: rows.map(({ name }) => name),
    ids: rows.map(({ id }) => id),
  });
  if (rows.some(({ answeredBy }) => answeredBy === 'server'))
    session.note('no worker can answer for some of them: their totals are not known');
  if (rows.length === 0) session.note('no batches; vmflow batch apply -f FILE makes one');
  return exitCodes.ok.code;
};

function columns(session: Session): readonly Column<BatchDocument>[] {
  const count = (phases: readonly (keyof BatchDocument['counts'])[]) => (batch: BatchDocument) =>
    batch.answeredBy === 'server'
      ? undefined
      : String(phases.reduce((sum, phase) => sum + (batch.counts[phase] ?? 0), 0));
  const spec = (text: (spec: BatchSpec) => string) => (batch: BatchDocument) =>
    batch.spec === undefined ? undefined : text(batch.spec);
  return [
    { header: 'NAME', cell: ({ name }) => name },
    { header: 'PHASE', cell: ({ phase }) => phase },
    { header: 'DONE', cell: count(['finished']) },
    { header: 'RUNNING', cell: count(['running', 'ready', 'committed']) },
    { header: 'WAITING', cell: count(['queued', 'waiting', 'blocked', 'none']) },
    { header: 'CONFLICT', cell: count(['conflict']) },
    { header: 'FAILED', cell: count(['error']) },
    { header: 'NEXT-WINDOW', cell: (batch) => nextWindow(session, batch) },
    { header: 'ETA', cell: (batch) => etaText(session, batch) },
    { header: 'MESSAGE', cell: ({ message }) => message, wide: true },
    { header: 'TARGET', cell: spec(({ defaults }) => defaults.placement.target), wide: true },
    { header: 'PROJECT', cell: spec(({ defaults }) => defaults.placement.target_project), wide: true },
    { header: 'POOL', cell: spec(({ defaults }) => defaults.placement.storage_pool), wide: true },
    { header: 'EXPRESSION', cell: spec(({ include_expression }) => include_expression), wide: true },
    {
      header: 'WINDOWS',
      cell: spec(({ migration_windows }) => migration_windows.map(({ name }) => name).join(',')),
      wide: true,
    },
    { header: 'LINK', cell: ({ link }) => link, wide: true },
  ];
}

/** The window that is open or comes next. */
function nextWindow({ flags, runtime }: Session, { windows = [] }: BatchDocument): string | undefined {
  const next = windows.find(({ state }) => state === 'open') ?? windows.find(({ state }) => state === 'ahead');
  if (next === undefined) return undefined;
  if (next.state === 'open') return `${next.name} (open)`;
  return `${next.name} ${formatTime(next.start, flags.time, runtime.now())}`;
}
