import { isCancellation } from '@temporalio/workflow';
import { knownFailure } from '../../shared/failures.ts';
import { budgets } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { cleanUp } from './clean-up.ts';
import { fail } from './fail.ts';

const firstPauseMs = 10_000;
const longestPauseMs = 300_000;

/** The instance with its empty disks. What fails is taken away again, and tried again after a pause, a limited number of times. */
export async function create(run: EntryRun): Promise<void> {
  const { state } = run;
  const { record, placement, source_power } = state.entry;
  if (placement === undefined) throw new Error('an entry without a placement is never created');
  await run.news.send();
  try {
    await run
      .act(budgets.create, 'create the target instance')
      .createTarget({ scope: state.scope(), record, placement, initialRunning: source_power.initial_running });
  } catch (err) {
    if (isCancellation(err)) throw err;
    await failed(run, knownFailure(err).message);
    return;
  }
  await run.slots.release();
  state.change({ attempts: { ...state.entry.attempts, create: 0 } });
  state.event('migration-created', { target: placement.target_name, project: placement.target_project });
  const kept = state.entry.last_background_sync !== undefined && Object.keys(state.entry.change_ids).length > 0;
  state.enter('Idle', kept ? 'Waiting to copy what has changed' : 'Waiting for the first copy', {
    stage: 'background',
  });
}

async function failed(run: EntryRun, cause: string): Promise<void> {
  const { state, settings } = run;
  const attempts = state.entry.attempts.create + 1;
  state.change({ attempts: { ...state.entry.attempts, create: attempts } });
  await cleanUp(run, ['deleteTarget']);
  await run.slots.release();
  if (attempts > settings.createRetries) {
    await fail(run, {
      code: 'CREATE_FAILED',
      message: `the target instance couldn't be created in ${attempts} attempts: ${cause}`,
      expected: 'a new instance at the target',
      found: cause,
    });
    return;
  }
  state.enter('Waiting', `Creating the target instance failed (attempt ${attempts}): ${cause}`);
  await run.news.send();
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempts - 1), 10 * settings.tickMs);
  await run.until(() => false, pauseMs, 'create the instance again');
}
