import type { Action } from '../commands/command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { follow, isDrawn, watcher } from '../execution/follow.ts';
import { omit } from '../objects.ts';
import type { Paint } from '../output/colors.ts';
import type { Session } from '../session.ts';
import { entriesIn, sortEntries, type EntryRow } from '../queue/rows.ts';
import { renderRows } from '../queue/render-rows.ts';
import { describeIfThere } from '../execution/wait.ts';
import { findBatch, isSettled, needingOf } from './find.ts';
import { printBatch } from './print.ts';
import { countsText, renderBatch } from './render.ts';
import { loadBatch, type BatchDocument } from './view.ts';

export interface WatchFlags {
  readonly timeout?: string;
  /** A status that ends it too. */
  readonly wait?: string;
  /** `all`: those that wait or are done too. */
  readonly show?: string;
}

/** What is shown of a batch while it is watched: its totals, and the VMs that move or need somebody. */
interface Watched extends BatchDocument {
  readonly rows: readonly EntryRow[];
}

/** `batch watch NAME`: follows it until nothing goes on without a person. */
export const watchBatch: Action<WatchFlags> = async (session, [name = ''], flags) => {
  const execution = await findBatch(session, name);
  const look = async (): Promise<Watched | undefined> => {
    const now = await describeIfThere(session, { workflowId: execution.workflowId });
    if (now?.state !== 'running') return undefined;
    const batch = await loadBatch(session, now);
    const rows = await entriesIn(session, { batch: batch.name, isMoving: flags.show !== 'all' });
    return { ...batch, rows: sortEntries(rows) };
  };
  return await untilSettled(session, name, look, flags);
};

/** Until it is finished, or nothing moves any more without somebody. */
async function untilSettled(
  session: Session,
  name: string,
  look: () => Promise<Watched | undefined>,
  flags: WatchFlags,
): Promise<ExitCode> {
  const first = await look();
  if (first === undefined) return sayGone(session, name);
  const followed = await follow(session, {
    first,
    look,
    show: watcher(session, {
      kind: 'Batch',
      render: (view, paint) => renderWatched(session, view, paint),
      tell: teller(session),
    }),
    isEnd: (view) => isSettled(view) || hasReached(view, flags.wait),
    timeout: flags.timeout,
  });
  if (followed.end === 'gone') return sayGone(session, name);
  if (followed.end !== 'ended') return leave(session, name, followed.end);
  if (!isDrawn(session)) await printBatch(session, omit(followed.view, 'rows'));
  return hasReached(followed.view, flags.wait) ? exitCodes.ok.code : exitOf(followed.view);
}

function hasReached({ phase }: BatchDocument, until: string | undefined): boolean {
  return until !== undefined && until !== '' && phase.toLowerCase() === until.toLowerCase();
}

export function exitOf({ phase, counts }: Pick<BatchDocument, 'phase' | 'counts'>): ExitCode {
  if (phase === 'Finished' || phase === 'Defined') return exitCodes.ok.code;
  return needingOf({ counts }) > 0 ? exitCodes.refused.code : exitCodes.cancelled.code;
}

function renderWatched(session: Session, view: Watched, paint: Paint): string {
  return `${renderBatch(session, view, paint)}${renderRows(session, view.rows)}`;
}

/** One line when the totals change, one per conflict with the command that ends it. */
function teller(session: Session): (view: Watched) => void {
  let before = '';
  const said = new Set<string>();
  return ({ name, phase, rows, ...batch }) => {
    const line = `${name}: ${phase}, ${countsText(batch)}`;
    if (line !== before) session.note(line);
    before = line;
    for (const { vm, uuid, conflict } of rows) {
      if (conflict === undefined || said.has(`${uuid} ${conflict}`)) continue;
      said.add(`${uuid} ${conflict}`);
      session.note(`${name}: ${vm} is in conflict (${conflict}); see: vmflow queue get ${uuid}`);
    }
  };
}

function sayGone(session: Session, name: string): ExitCode {
  session.note(`batch ${name} is gone`);
  return exitCodes.cancelled.code;
}

function leave(session: Session, name: string, kind: 'timeout' | 'interrupted'): ExitCode {
  const again = `vmflow batch watch ${name}`;
  if (kind === 'timeout') session.note(`--timeout reached, the work goes on: ${again}`);
  else {
    session.note(`stopped watching batch ${name}, the work goes on`);
    session.note(`  watch   ${again}`);
    session.note(`  stop    vmflow batch stop ${name}`);
  }
  return exitCodes[kind].code;
}
