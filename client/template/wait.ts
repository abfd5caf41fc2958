import { parseDuration } from '../durations.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { ExecutionRef } from '../gateway.ts';
import type { Session } from '../session.ts';
import { follow, type FollowEnd } from './follow.ts';
import { exitOfView } from './outcome.ts';
import { progressOn } from './progress.ts';
import { quote, renderTemplate } from './render.ts';
import type { TemplateView } from './view.ts';

/** Flags of every command that can wait for the end. */
export interface WaitFlags {
  /** Absent: don't wait. Empty: to the end. Else the phase or step to wait for. */
  readonly wait?: string;
  readonly timeout?: string;
}

export interface WaitFor {
  readonly goal: 'update' | 'undo';
  /** When it is over; default: settled. */
  readonly isEnd?: (view: TemplateView) => boolean;
  readonly target?: { readonly version: string; readonly sha256: string };
}

/** Follows to the end with progress on standard error, prints the final state, and answers the exit code. */
export async function waitForEnd(
  session: Session,
  ref: ExecutionRef,
  flags: WaitFlags,
  wanted: WaitFor,
): Promise<ExitCode> {
  const { view, end } = await follow(session, ref, {
    stopAtConflict: true,
    show: session.flags.quiet === true ? () => undefined : progressOn(session, session.runtime.stderr),
    ...(flags.wait ? { until: flags.wait } : {}),
    ...(flags.timeout === undefined ? {} : { timeoutMs: parseDuration(flags.timeout, '--timeout') }),
    ...(wanted.target === undefined ? {} : { target: wanted.target }),
    ...(wanted.isEnd === undefined ? {} : { isEnd: wanted.isEnd }),
  });
  sayWhyItEnded(session, view, end);
  if (!isDrawnAlready(session)) await printView(session, view);
  return exitOfEnd(view, end, wanted.goal);
}

/** On a terminal the last drawing of the progress is the final state. */
function isDrawnAlready({ flags, runtime, isMachineReadable }: Session): boolean {
  return !isMachineReadable && flags.quiet !== true && runtime.stdout.isTTY && runtime.stderr.isTTY;
}

export function exitOfEnd(view: TemplateView, end: FollowEnd, goal: WaitFor['goal']): ExitCode {
  switch (end) {
    case 'timeout':
      return exitCodes.timeout.code;
    case 'interrupted':
      return exitCodes.interrupted.code;
    case 'superseded':
      return exitCodes.cancelled.code;
    case 'phase':
      return exitCodes.ok.code;
    case 'settled':
    case 'conflict':
      return exitOfView(view, goal);
  }
}

/** Leaving before the end is no end of the work; the line says how to come back and how to stop it. */
export function sayWhyItEnded(session: Session, view: TemplateView, end: FollowEnd): void {
  const again = `vmflow template watch ${quote(view.name)}`;
  if (end === 'timeout') session.note(`--timeout reached, the work goes on: ${again}`);
  if (end === 'superseded')
    session.note(`superseded: ${view.name} now goes to ${view.target?.version ?? 'another version'}: ${again}`);
  if (end === 'interrupted') {
    session.note(`stopped watching ${view.id}, the work goes on`);
    session.note(`  watch   ${again}`);
    session.note(`  cancel  vmflow template cancel ${quote(view.name)}`);
  }
}

export async function printView(session: Session, view: TemplateView): Promise<void> {
  await session.print({
    kind: 'TemplateSwap',
    document: view,
    names: [view.name],
    ids: [view.id],
    text: renderTemplate(view, {
      paint: session.paint,
      time: session.flags.time,
      now: session.runtime.now(),
      showLink: (url) => session.showLink(url),
    }),
  });
}
