import type { Action } from '../commands/command.ts';
import { parseDuration } from '../durations.ts';
import { CliError } from '../errors.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { gatewayReasons, isUnanswered } from '../gateway.ts';
import { progressLines } from '../execution/progress.ts';
import { sayHowToComeBack } from '../migrate/end.ts';
import { LiveBlock } from '../output/live.ts';
import { apiVersion } from '../output/result.ts';
import type { Session } from '../session.ts';
import type { PlaceFlags } from '../vm/place.ts';
import { findSet, readSet, type SetRef } from './find.ts';
import { renderSet } from './render.ts';
import { isSettled, loadSet, type SetView } from './view.ts';

export interface GetFlags extends PlaceFlags {
  readonly watch?: boolean;
}

export interface WatchFlags extends PlaceFlags {
  readonly timeout?: string;
}

/** Milliseconds between two looks. Each is a question to the cluster, through a worker. */
const lookEveryMs = 2_000;
/** Looks that may fail in a row before contact counts as lost. */
const patience = 15;

/** `set get SET`. */
export const getSet: Action<GetFlags> = async (session, args, flags) => {
  if (flags.watch === true) return watchSet(session, args, flags);
  await printSet(session, await loadSet(session, await findSet(session, args[0] ?? '', flags)));
  return exitCodes.ok.code;
};

/** `set watch SET`: the same until nothing is under way. */
export const watchSet: Action<WatchFlags> = async (session, [text = ''], flags) => {
  const first = await findSet(session, text, flags);
  const { namespace, name } = first;
  const timeoutMs = flags.timeout === undefined ? undefined : parseDuration(flags.timeout, '--timeout');
  const end = session.runtime.now().getTime() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  const interrupt = session.runtime.onInterrupt();
  const show = watcher(session, first);
  try {
    let view: SetView | undefined = await loadSet(session, first);
    for (;;) {
      if (view === undefined) return sayGone(session, first);
      show(view);
      if (isSettled(view)) break;
      if (session.runtime.now().getTime() >= end) return leave(session, first, 'timeout');
      await session.runtime.sleep(lookEveryMs, interrupt.signal);
      if (interrupt.signal.aborted) return leave(session, first, 'interrupted');
      view = await lookAgain(session, { namespace, name }, interrupt.signal);
    }
    if (!isDrawn(session)) await printSet(session, view);
    return view.phase === 'Failed' ? exitCodes.failed.code : exitCodes.ok.code;
  } finally {
    interrupt.dispose();
  }
};

/** Undefined: the set is gone. */
async function lookAgain(session: Session, ref: SetRef, stopped: AbortSignal): Promise<SetView | undefined> {
  for (let failures = 0; ; failures++) {
    try {
      const set = await readSet(session, ref);
      return set === undefined ? undefined : await loadSet(session, set);
    } catch (error) {
      const isAway =
        error instanceof CliError && (error.reason === gatewayReasons.unreachable || isUnanswered(error.reason));
      if (!isAway || failures >= patience || stopped.aborted) throw error;
      if (failures === 0) session.note('lost contact, trying again (the work goes on)');
      await session.runtime.sleep(lookEveryMs, stopped);
    }
  }
}

function leave(session: Session, set: SetRef, kind: 'timeout' | 'interrupted'): ExitCode {
  sayHowToComeBack(session, set, { kind });
  return exitCodes[kind].code;
}

function sayGone(session: Session, { namespace, name }: SetRef): ExitCode {
  session.note(`${namespace}/${name} is gone`);
  return exitCodes.cancelled.code;
}

/** What was drawn or written line by line isn't printed once more. */
function isDrawn({ flags, runtime, isMachineReadable }: Session): boolean {
  return flags.output === 'jsonl' || (!isMachineReadable && flags.quiet !== true && isLive(runtime));
}

function isLive({ stdout, stderr }: Session['runtime']): boolean {
  return stdout.isTTY && stderr.isTTY;
}

/** Changes are the result of watching with `-o jsonl`; else they go where they don't disturb it. */
function watcher(session: Session, { namespace, name }: SetRef): (view: SetView) => void {
  const { flags, runtime, isMachineReadable } = session;
  if (flags.output === 'jsonl') {
    let before = '';
    return (view) => {
      const line = JSON.stringify({ apiVersion, kind: 'CocoonSet', ...view });
      if (line !== before) runtime.stdout.write(`${line}\n`);
      before = line;
    };
  }
  if (isMachineReadable || flags.quiet === true) return () => undefined;
  if (isLive(runtime)) {
    const block = new LiveBlock(runtime.stderr);
    return (view) => block.draw(renderSet(session, view, session.paintErr));
  }
  const lines = progressLines(session, `${namespace}/${name}`);
  let before = '';
  return (view) => {
    const phase = `${view.phase ?? 'New'}${view.node === undefined ? '' : ` on ${view.node}`}`;
    if (phase !== before) session.note(`${namespace}/${name}: ${phase}`);
    before = phase;
    if (view.migration !== undefined) lines(view.migration);
  };
}

export async function printSet(session: Session, view: SetView): Promise<void> {
  await session.print({
    kind: 'CocoonSet',
    document: view,
    names: [`${view.namespace}/${view.name}`],
    ids: [view.id],
    text: renderSet(session, view),
  });
}
