import { isCancellation } from '@temporalio/workflow';
import { knownFailure } from '../../shared/failures.ts';
import { budgets } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { fail } from './fail.ts';

/** The guest is made fit for the target. From then on no change id describes the disks of the target. */
export async function adapt(run: EntryRun): Promise<void> {
  const { state } = run;
  if (state.entry.status === 'Idle') state.enter('Performing post-import tasks', 'Adapting the guest');
  state.within('adapting-guest', 'Adapting the guest');
  try {
    const scope = state.scope();
    const { changes } = await run.act(budgets.adapt, 'see what the guest needs').adaptGuest({ scope, dryRun: true });
    if (changes) {
      state.change({ target: { ...state.entry.target, adapted: true } });
      await run.act(budgets.adapt, 'adapt the guest').adaptGuest({ scope, dryRun: false });
    }
  } catch (err) {
    if (isCancellation(err)) throw err;
    const { message } = knownFailure(err);
    await fail(run, {
      code: 'WORKER_FAILED',
      message: `the guest couldn't be adapted: ${message}`,
      expected: 'a guest that fits the target',
      found: message,
    });
    return;
  }
  state.event('migration-final-completed');
  state.enter('Worker tasks complete', 'Performing final checks');
  // Nothing is imported any more; what follows must not wait for others, nor others for it.
  await run.slots.release();
}
