import { readRecords } from '../../activities/history/file.ts';
import { endActions, type HistoryRecord } from '../../activities/history/record.ts';
import { recordsOf } from '../../activities/history/records.ts';
import type { Action } from '../commands/command.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { gatewayReasons, type ExecutionView } from '../gateway.ts';
import type { Session } from '../session.ts';
import { recordFiles, type RecordFiles } from './record-files.ts';
import { Selection, type SelectionFlags } from './selection.ts';

export interface ExportFlags extends SelectionFlags {
  readonly file?: readonly string[];
  readonly out?: string;
}

/** Histories that are read at once. */
const atOnce = 8;

/** `history export`: the record and what isn't in it yet, each event once. */
export const exportHistory: Action<ExportFlags> = async (session, _args, flags) => {
  const selection = new Selection(flags, session.runtime.now());
  const files = await recordFiles(session, flags.file);
  const recorded = await fromFiles(files.paths, selection);
  const records = new Map(recorded.records);
  for (const record of await fromTemporal(session, selection, recorded.whole)) records.set(record.id, record);
  const lines = [...records.values()].toSorted(byTime).map((record) => `${JSON.stringify(record)}\n`);
  if (flags.out === undefined) session.runtime.stdout.write(lines.join(''));
  else await writeOut(session, flags.out, lines.join(''));
  await tellWhence(session, files, { recorded: recorded.records.size, all: records.size });
  return exitCodes.ok.code;
};

/** Of runs that are in the record to their end Temporal isn't asked again. */
async function fromFiles(
  paths: readonly string[],
  selection: Selection,
): Promise<{ readonly records: ReadonlyMap<string, HistoryRecord>; readonly whole: ReadonlySet<string> }> {
  const records = new Map<string, HistoryRecord>();
  const whole = new Set<string>();
  for (const path of paths) {
    try {
      for await (const record of readRecords(path)) {
        if (selection.has(record)) records.set(record.id, record);
        if (endActions.some((end) => end === record.action)) whole.add(record.run);
      }
    } catch (error) {
      throw unreadable(path, error);
    }
  }
  return { records, whole };
}

function unreadable(path: string, error: unknown): CliError {
  const isDenied = error instanceof Error && 'code' in error && error.code === 'EACCES';
  return new CliError({
    exit: isDenied ? 'denied' : 'failed',
    reason: 'RECORD_UNREADABLE',
    message: `can't read the record ${path}`,
    why: error instanceof Error ? error.message : String(error),
    state: 'nothing was exported',
    next: `ls -l ${path}`,
    cause: error,
  });
}

async function fromTemporal(
  session: Session,
  selection: Selection,
  whole: ReadonlySet<string>,
): Promise<readonly HistoryRecord[]> {
  const gateway = await session.gateway();
  const runs = await gateway.list(selection.query);
  const wanted = runs.filter((run) => !whole.has(run.runId) && selection.mayHave(run));
  const { default: pLimit } = await import('p-limit');
  const read = await pLimit(atOnce).map(wanted, (run) => recordsIn(session, run));
  return read.flat().filter((record) => selection.has(record));
}

async function recordsIn(session: Session, { workflowId, runId }: ExecutionView): Promise<readonly HistoryRecord[]> {
  try {
    return recordsOf(await (await session.gateway()).history({ workflowId, runId }));
  } catch (error) {
    if (!(error instanceof CliError) || error.reason !== gatewayReasons.notFound) throw error;
    session.note(`${workflowId} was removed while it was to be read`);
    return [];
  }
}

/** At the same time in the order of their events; ids end with a number. */
function byTime(a: HistoryRecord, b: HistoryRecord): number {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  return a.run === b.run ? eventOf(a) - eventOf(b) : a.run < b.run ? -1 : 1;
}

function eventOf({ id }: HistoryRecord): number {
  return Number(id.slice(id.lastIndexOf('/') + 1));
}

async function writeOut(session: Session, path: string, text: string): Promise<void> {
  try {
    await session.runtime.writeText(path, text);
  } catch (error) {
    throw new CliError({
      exit: 'failed',
      reason: 'FILE_NOT_WRITTEN',
      message: `can't write the record to ${path}`,
      why: error instanceof Error ? error.message : String(error),
      state: 'the record itself is as it was',
      next: 'name another file with --out, or leave --out out for standard output',
      cause: error,
    });
  }
}

/** What can be missing is said, so that nobody takes a part for the whole. */
async function tellWhence(
  session: Session,
  files: RecordFiles,
  { recorded, all }: { readonly recorded: number; readonly all: number },
): Promise<void> {
  const more = String(all - recorded);
  if ('why' in files) {
    const days = (await (await session.gateway()).namespace())?.retentionDays;
    const kept = days === undefined ? 'its retention' : `its retention (${String(days)} days)`;
    session.note(`${more} records, all from Temporal: what ${kept} or somebody has removed there is gone`);
    session.note(`no record of the bridge was read: ${files.why}`);
  } else session.note(`${String(recorded)} records from ${files.paths.join(', ')}, ${more} more from Temporal`);
}
