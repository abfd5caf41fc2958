import { rollbackPlan } from '../../domain/batch/clean-up.ts';
import type { EntryRun } from '../entry-run.ts';
import { cleanUp } from './clean-up.ts';
import { complete, isRunning } from './finish.ts';

/** What the end of its window does to an entry that isn't finished. */
export async function endWindow(run: EntryRun): Promise<void> {
  const { state } = run;
  run.isWindowOver = false;
  const { status, target } = state.entry;
  if (state.isCommitted && status !== 'Conflict' && target.started && (await isRunning(run))) {
    // It had its last step behind it.
    await complete(run);
    return;
  }
  const isConflict = status === 'Conflict';
  const message = isConflict
    ? `${state.entry.message}; its window ended, the source runs again where it was on`
    : 'Migration window ended, waiting for next migration window';
  await rollBack(run, message);
}

/** The source runs again as before, then what can't be used any more is deleted; a copy that is certainly intact is kept. */
export async function rollBack(run: EntryRun, message: string): Promise<void> {
  const { state, settings } = run;
  const plan = rollbackPlan(state.entry, settings.windowEndInConflict);
  if (plan === undefined) {
    // Held until a person decides: without a window, nothing else ends it.
    state.forget('window');
    return;
  }
  state.within('rolling-back', 'Its window ended; the source is switched on again where it was on');
  run.takeGrant();
  await cleanUp(run, plan.steps);
  state.event('migration-rolled-back', { kept: plan.status !== 'Waiting' });
  const isAnew = plan.status === 'Waiting';
  state.enter(plan.status, message, {
    stage: plan.stage,
    ...(isAnew ? { attempt: state.entry.attempt + 1, change_ids: {} } : {}),
  });
  state.forget('window', 'ready_since');
  run.news.forget();
  await run.news.send();
}
