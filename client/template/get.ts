import type { Action } from '../commands/command.ts';
import { parseDuration } from '../durations.ts';
import { exitCodes } from '../exit-codes.ts';
import { apiVersion } from '../output/result.ts';
import type { Session } from '../session.ts';
import { findTemplate, type Narrowing } from './find.ts';
import { follow } from './follow.ts';
import { progressOn, type Show } from './progress.ts';
import { loadView, type TemplateView } from './view.ts';
import { exitOfEnd, printView, sayWhyItEnded } from './wait.ts';

export interface GetFlags extends Narrowing {
  readonly watch?: boolean;
}

export interface WatchFlags extends Narrowing {
  readonly timeout?: string;
}

/** `template get NAME`: where it is, what it waits for, what to do next. */
export const getTemplate: Action<GetFlags> = async (session, args, flags) => {
  if (flags.watch === true) return watchTemplate(session, args, flags);
  const { execution } = await findTemplate(session, args[0] ?? '', flags);
  const { workflowId, runId } = execution;
  await printView(session, await loadView(session, { workflowId, runId }));
  return exitCodes.ok.code;
};

/** `template watch NAME`: the same until it is over; conflicts are shown and waited for. */
export const watchTemplate: Action<WatchFlags> = async (session, args, flags) => {
  const { execution } = await findTemplate(session, args[0] ?? '', flags);
  const { workflowId, runId } = execution;
  const { view, end } = await follow(
    session,
    { workflowId, runId },
    {
      stopAtConflict: false,
      show: watcher(session),
      ...(flags.timeout === undefined ? {} : { timeoutMs: parseDuration(flags.timeout, '--timeout') }),
    },
  );
  sayWhyItEnded(session, view, end);
  const isDrawn = session.flags.output === 'jsonl' || (!session.isMachineReadable && session.runtime.stdout.isTTY);
  if (!isDrawn) await printView(session, view);
  return exitOfEnd(view, end, 'undo');
};

/** Changes are the result of watching, so they go to standard output, unless one document was asked for. */
function watcher(session: Session): Show {
  if (session.flags.output === 'jsonl') return jsonLines(session);
  if (session.isMachineReadable || session.flags.quiet === true) return () => undefined;
  return progressOn(session, session.runtime.stdout.isTTY ? session.runtime.stdout : session.runtime.stderr);
}

/** One document per change. */
function jsonLines(session: Session): Show {
  let before = '';
  return (view: TemplateView) => {
    const line = JSON.stringify({ apiVersion, kind: 'TemplateSwap', ...view });
    if (line !== before) session.runtime.stdout.write(`${line}\n`);
    before = line;
  };
}
