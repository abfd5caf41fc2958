import { CancellationScope, CancelledFailure, isCancellation } from '@temporalio/workflow';
import { knownFailure } from '../../shared/failures.ts';
import { budgets } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { conflict } from './conflict.ts';

/** M5: the target gets its final shape and is started. From the first call on it may have the production networks. */
export async function finish(run: EntryRun): Promise<void> {
  const { state } = run;
  const { record, placement } = state.entry;
  if (placement === undefined) throw new Error('an entry without a placement is never finished');
  const scope = state.scope();
  let step = 'configure';
  try {
    if (state.entry.target.started && (await isRunning(run))) {
      await complete(run);
      return;
    }
    state.change({ target: { ...state.entry.target, configured: true } });
    state.within('configuring', 'Configuring the target instance');
    await run.act(budgets.finalize, 'configure the target').configureTarget({ scope, record, placement });
    if (run.isWindowOver) return;
    if (placement.running) {
      step = 'start';
      state.change({ target: { ...state.entry.target, started: true } });
      state.within('starting', 'Starting target instance');
      await run.act(budgets.finalize, 'start the target').startTarget(scope);
    }
  } catch (err) {
    if (isCancellation(err)) throw err;
    await failed(run, step, knownFailure(err));
    return;
  }
  await complete(run);
}

/** The target is as it is to be. */
export async function complete(run: EntryRun): Promise<void> {
  const { state } = run;
  // The call before may have been carried out in spite of the order: nothing is handed over yet.
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('ordered before the hand-over');
  state.change({ target: { ...state.entry.target, released: true } });
  await handOver(run);
  state.event('migration-finished', { target: state.entry.placement?.target_name });
  state.enter('Finished', 'Finished');
  state.forget('window', 'conflict', 'ready_since');
  await run.slots.release();
  await run.news.send();
}

/** What is handed over may be in use, and has no mark by which it could be deleted: an order ends a call that hangs, not more. */
async function handOver(run: EntryRun): Promise<void> {
  const release = (): Promise<void> =>
    run.insist(budgets.undo, 'the target belongs to nobody but its owner now', (a) =>
      a.releaseTarget(run.state.scope()),
    );
  try {
    await release();
  } catch (err) {
    if (!isCancellation(err)) throw err;
    await CancellationScope.nonCancellable(release);
  }
}

export async function isRunning(run: EntryRun): Promise<boolean> {
  const { running } = await run.insist(budgets.look, 'see whether the target runs', (a) =>
    a.targetState(run.state.scope()),
  );
  return running;
}

/** What may go by itself is tried again, a limited number of times while the window lasts; else a person has to look. */
async function failed(
  run: EntryRun,
  step: string,
  { type, message }: { type: string; message: string },
): Promise<void> {
  const { state, settings } = run;
  const attempts = state.entry.attempts.finalize + 1;
  state.change({ attempts: { ...state.entry.attempts, finalize: attempts } });
  if (transient.has(type) && attempts <= settings.finalizeRetries) {
    state.within('configuring', `The target couldn't be finished (attempt ${attempts}): ${message}`);
    await run.until(() => run.isWindowOver, settings.finalizePauseMs, 'finish the target again');
    return;
  }
  state.change({ attempts: { ...state.entry.attempts, finalize: 0 } });
  await conflict(
    run,
    {
      code: 'FINALIZE_FAILED',
      message: `FINALIZE_FAILED(${step}): ${message}`,
      expected: step === 'start' ? 'a running target instance' : 'a configured target instance',
      found: message,
    },
    'M5',
  );
}

const transient: ReadonlySet<string> = new Set([
  'Timeout',
  'Unavailable',
  'Busy',
  'Conflict',
  'Throttled',
  'LeaseLost',
]);
