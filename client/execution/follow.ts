import { parseDuration } from '../durations.ts';
import { CliError } from '../errors.ts';
import { gatewayReasons, isUnanswered } from '../gateway.ts';
import { LiveBlock } from '../output/live.ts';
import { apiVersion } from '../output/result.ts';
import type { Paint } from '../output/colors.ts';
import type { OutputKind } from '../output/schemas.ts';
import type { Session } from '../session.ts';

/** Milliseconds between two looks. Each is a question to a worker. */
const lookEveryMs = 2_000;
/** Looks that may fail in a row before contact counts as lost. */
const patience = 15;

export interface Following<View> {
  /** What was seen before it is followed. */
  readonly first: View;
  /** Undefined: what is followed is gone. */
  readonly look: () => Promise<View | undefined>;
  readonly show: (view: View) => void;
  readonly isEnd: (view: View) => boolean;
  /** The value of `--timeout`. */
  readonly timeout?: string | undefined;
}

/** Why following ended, with the last view. */
export type Followed<View> =
  { readonly end: 'ended' | 'timeout' | 'interrupted'; readonly view: View } | { readonly end: 'gone' };

/** Looks again and again until the end, the time-out, or Ctrl-C. The work never depends on it. */
export async function follow<View>(session: Session, following: Following<View>): Promise<Followed<View>> {
  const { runtime } = session;
  const timeoutMs = following.timeout === undefined ? undefined : parseDuration(following.timeout, '--timeout');
  const end = runtime.now().getTime() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  const interrupt = runtime.onInterrupt();
  try {
    for (let view: View | undefined = following.first; ; view = await lookAgain(session, following, interrupt.signal)) {
      if (view === undefined) return { end: 'gone' };
      following.show(view);
      if (following.isEnd(view)) return { end: 'ended', view };
      if (runtime.now().getTime() >= end) return { end: 'timeout', view };
      await runtime.sleep(lookEveryMs, interrupt.signal);
      if (interrupt.signal.aborted) return { end: 'interrupted', view };
    }
  } finally {
    interrupt.dispose();
  }
}

async function lookAgain<View>(
  session: Session,
  { look }: Following<View>,
  stopped: AbortSignal,
): Promise<View | undefined> {
  for (let failures = 0; ; failures++) {
    try {
      return await look();
    } catch (error) {
      const isAway =
        error instanceof CliError && (error.reason === gatewayReasons.unreachable || isUnanswered(error.reason));
      if (!isAway || failures >= patience || stopped.aborted) throw error;
      if (failures === 0) session.note('lost contact, trying again (the work goes on)');
      await session.runtime.sleep(lookEveryMs, stopped);
    }
  }
}

export interface Watched<View> {
  /** Of the documents of `-o jsonl`. */
  readonly kind: OutputKind;
  /** What a terminal shows, drawn again with every look. */
  readonly render: (view: View, paint: Paint) => string;
  /** Where nothing can be drawn: says what is new, line by line. */
  readonly tell: (view: View) => void;
}

/** Changes are the result of watching with `-o jsonl`; else they go where they don't disturb it. */
export function watcher<View extends object>(
  session: Session,
  { kind, render, tell }: Watched<View>,
): (view: View) => void {
  const { flags, runtime, isMachineReadable } = session;
  if (flags.output === 'jsonl') {
    let before = '';
    return (view) => {
      const line = JSON.stringify({ apiVersion, kind, ...view });
      if (line !== before) runtime.stdout.write(`${line}\n`);
      before = line;
    };
  }
  if (isMachineReadable || flags.quiet === true) return () => undefined;
  if (!isLive(session)) return tell;
  const block = new LiveBlock(runtime.stderr);
  return (view) => block.draw(render(view, session.paintErr));
}

/** What was drawn or written line by line isn't printed once more. */
export function isDrawn(session: Session): boolean {
  const { flags, isMachineReadable } = session;
  return flags.output === 'jsonl' || (!isMachineReadable && flags.quiet !== true && isLive(session));
}

function isLive({ runtime: { stdout, stderr } }: Session): boolean {
  return stdout.isTTY && stderr.isTTY;
}
