import { CliError } from '../errors.ts';
import { gatewayReasons, type ExecutionRef } from '../gateway.ts';
import type { Session } from '../session.ts';
import { isSettled } from './outcome.ts';
import { loadView, type TemplateView } from './view.ts';

/** Why following ended. */
export type FollowEnd = 'settled' | 'phase' | 'conflict' | 'superseded' | 'timeout' | 'interrupted';

export interface FollowOptions {
  /** Ends here too: a phase, or the id of a step that has begun. */
  readonly until?: string;
  readonly timeoutMs?: number;
  /** A conflict ends it: a script must not hang on what only a person can decide. */
  readonly stopAtConflict: boolean;
  /** Another target than this one is somebody else's operation. */
  readonly target?: { readonly version: string; readonly sha256: string };
  /** When it is over; default: settled. */
  readonly isEnd?: (view: TemplateView) => boolean;
  /** Called with every view, also an unchanged one. */
  readonly show: (view: TemplateView) => void;
}

/** Milliseconds between two looks. Cheap: one query and one description, no history event. */
const lookEveryMs = 1_000;
/** Looks that may fail in a row before contact counts as lost; Temporal is restarted in less. */
const patience = 30;

/** Looks again and again until something of the options happens. The work never depends on it. */
export async function follow(
  session: Session,
  ref: ExecutionRef,
  options: FollowOptions,
): Promise<{ readonly view: TemplateView; readonly end: FollowEnd }> {
  const { runtime } = session;
  const started = runtime.now().getTime();
  const interrupt = runtime.onInterrupt();
  try {
    for (;;) {
      const view = await look(session, ref, interrupt.signal);
      options.show(view);
      const end = endOf(view, options);
      if (end !== undefined) return { view, end };
      const isLate = options.timeoutMs !== undefined && runtime.now().getTime() - started >= options.timeoutMs;
      if (isLate) return { view, end: 'timeout' };
      await runtime.sleep(lookEveryMs, interrupt.signal);
      if (interrupt.signal.aborted) return { view, end: 'interrupted' };
    }
  } finally {
    interrupt.dispose();
  }
}

function endOf(view: TemplateView, options: FollowOptions): FollowEnd | undefined {
  if (isSuperseded(view, options.target)) return 'superseded';
  if ((options.isEnd ?? isSettled)(view)) return 'settled';
  if (view.conflict !== undefined && options.stopAtConflict) return 'conflict';
  return options.until !== undefined && hasReached(view, options.until) ? 'phase' : undefined;
}

function isSuperseded(view: TemplateView, target: FollowOptions['target']): boolean {
  if (target === undefined || view.target === undefined || view.answeredBy === 'server') return false;
  return view.target.version !== target.version || view.target.sha256 !== target.sha256.toLowerCase();
}

/** A phase may be over between two looks, so the steps count too. */
function hasReached(view: TemplateView, until: string): boolean {
  const wanted = until.toLowerCase();
  if (view.phase.toLowerCase() === wanted) return true;
  return view.steps.some((step) => step.id.toLowerCase() === wanted && step.state !== 'pending');
}

/** One look; a Temporal that is away for a moment is waited for. */
async function look(session: Session, ref: ExecutionRef, signal: AbortSignal): Promise<TemplateView> {
  for (let failures = 0; ; failures++) {
    try {
      return await loadView(session, ref);
    } catch (error) {
      const isAway = error instanceof CliError && error.reason === gatewayReasons.unreachable;
      if (!isAway || failures >= patience || signal.aborted) throw error;
      if (failures === 0) session.note('lost contact with Temporal, trying again (the work goes on)');
      await session.runtime.sleep(lookEveryMs, signal);
    }
  }
}
