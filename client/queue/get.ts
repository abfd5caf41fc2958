import type { Action } from '../commands/command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { follow, isDrawn, watcher } from '../execution/follow.ts';
import { progressLines } from '../execution/progress.ts';
import { describeIfThere, type WaitFlags } from '../execution/wait.ts';
import type { Session } from '../session.ts';
import { findEntry, type NarrowFlags } from './find.ts';
import { renderEntry } from './render.ts';
import { loadEntry, timelineOf, type EntryDocument } from './view.ts';

export interface GetFlags extends NarrowFlags {
  readonly watch?: boolean;
}

export interface WatchFlags extends NarrowFlags {
  readonly timeout?: string;
}

/** `queue get VM`; with `-o wide` and in documents also what happened so far. */
export const getEntry: Action<GetFlags> = async (session, args, flags) => {
  if (flags.watch === true) return await watchEntry(session, args, flags);
  const view = await loadEntry(session, await findEntry(session, args[0] ?? '', flags));
  const wantsHistory = session.flags.output === 'wide' || session.isMachineReadable;
  const timeline = wantsHistory ? await timelineOf(session, view.id) : undefined;
  return await printEntry(session, timeline === undefined ? view : { ...view, timeline });
};

/** `queue watch VM`: until it is over or needs a person. */
export const watchEntry: Action<WatchFlags> = async (session, [text = ''], flags) => {
  const view = await loadEntry(session, await findEntry(session, text, flags));
  return await followEntry(session, view, { wait: '', ...flags });
};

/**
 * Follows an entry to its end, prints how it then stands, and answers its exit code.
 * @param answered since when the conflict is there that was just decided: it is no end
 */
export async function followEntry(
  session: Session,
  first: EntryDocument,
  flags: WaitFlags,
  answered?: string,
): Promise<ExitCode> {
  const lines = progressLines(session, first.vm);
  const followed = await follow<EntryDocument>(session, {
    first,
    look: () => lookAgain(session, first),
    show: watcher<EntryDocument>(session, {
      kind: 'QueueEntry',
      render: (view, paint) => renderEntry(session, view, paint),
      tell: lines,
    }),
    isEnd: (view) => isOver(view) || isNewConflict(view, answered) || hasReached(view, flags.wait),
    timeout: flags.timeout,
  });
  if (followed.end === 'gone') return exitCodes.cancelled.code;
  if (followed.end !== 'ended') return leave(session, first, followed.end);
  if (!isDrawn(session)) await printEntry(session, followed.view);
  return hasReached(followed.view, flags.wait) ? exitCodes.ok.code : exitOfEntry(followed.view);
}

/** Undefined: Temporal has forgotten it. */
export async function lookAgain(session: Session, { id }: EntryDocument): Promise<EntryDocument | undefined> {
  const execution = await describeIfThere(session, { workflowId: id });
  return execution === undefined ? undefined : await loadEntry(session, execution);
}

function isOver({ phase, execution, substate }: EntryDocument): boolean {
  if (execution !== 'running') return true;
  return ['Finished', 'Error', 'Canceled'].includes(phase) && substate !== 'cleanup-pending';
}

function isNewConflict({ conflict }: EntryDocument, answered: string | undefined): boolean {
  return conflict !== undefined && conflict.since !== answered;
}

function hasReached({ phase, steps }: EntryDocument, until: string | undefined): boolean {
  if (until === undefined || until === '') return false;
  const wanted = until.toLowerCase();
  const begun = steps.filter(({ state }) => state !== 'pending' && state !== 'skipped');
  return phase.toLowerCase() === wanted || begun.some(({ id }) => id.toLowerCase() === wanted);
}

function exitOfEntry({ phase, conflict }: EntryDocument): ExitCode {
  if (conflict !== undefined) return exitCodes.refused.code;
  if (phase === 'Finished') return exitCodes.ok.code;
  return phase === 'Canceled' ? exitCodes.cancelled.code : exitCodes.failed.code;
}

function leave(session: Session, { vm, uuid }: EntryDocument, kind: 'timeout' | 'interrupted'): ExitCode {
  const again = `vmflow queue watch ${uuid}`;
  if (kind === 'timeout') session.note(`--timeout reached, the work goes on: ${again}`);
  else {
    session.note(`stopped watching ${vm}, the work goes on`);
    session.note(`  watch   ${again}`);
    session.note(`  cancel  vmflow queue cancel ${uuid}`);
  }
  return exitCodes[kind].code;
}

export async function printEntry(session: Session, view: EntryDocument): Promise<ExitCode> {
  await session.print({
    kind: 'QueueEntry',
    document: view,
    names: [view.vm],
    ids: [view.uuid],
    text: renderEntry(session, view),
  });
  return exitCodes.ok.code;
}
