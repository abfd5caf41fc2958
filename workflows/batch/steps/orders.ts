import { sourceGone, type ByWhom } from '../../contracts/batch.ts';
import { cleanUpPlan } from '../../domain/batch/clean-up.ts';
import { budgets } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { cleanUp } from './clean-up.ts';

/** Ends what is under way and undoes it, in the one safe order. It is Canceled at once; what is still to be done is shown. */
export async function cancel(run: EntryRun, { by, reason }: ByWhom, isCleanUp: boolean): Promise<void> {
  const { state } = run;
  const plan = cleanUpPlan(state.entry, { cleanup: isCleanUp });
  // A place that was given meanwhile is given back with the news.
  run.takeGrant();
  state.event('queue-entry-canceled', { by, reason, cleanup: isCleanUp });
  state.enter('Canceled', `canceled by ${by}${reason === undefined ? '' : `: ${reason}`}`, { stage: 'background' });
  state.within('cleanup-pending', `canceled by ${by}; what it left is being cleaned up`);
  state.forget('window', 'conflict', 'error', 'ready_since');
  await cleanUp(run, plan);
  const why = reason === undefined ? '' : `: ${reason}`;
  state.within(undefined, `canceled by ${by}${why}${run.isSourceGone ? `; ${sourceGone}` : ''}`);
  await run.news.send();
}

/** A new try: the VM is read and placed anew. What is at the target is gone on with where it still fits. */
export async function retry(run: EntryRun, by: string): Promise<void> {
  const { state } = run;
  state.event('queue-entry-retried', { by });
  const { record, baseline, placement, source_power, consented, target } = state.entry;
  const plan = await run.act(budgets.person, 'read and place it anew').replanEntry({
    scope: state.scope(),
    entry: { record, baseline, source_power, consented, target, ...(placement === undefined ? {} : { placement }) },
  });
  if (target.exists && !plan.keepsTarget) {
    await cleanUp(run, ['stopTarget', 'deleteTarget']);
    state.change({ attempt: state.entry.attempt + 1 });
  }
  state.learn(plan);
  const fresh = {
    stage: 'background',
    attempts: { create: 0, copy: 0, finalize: 0 },
    source_power: { initial_running: plan.record.running },
  } as const;
  if (plan.blocked === undefined) state.enter('Waiting', 'Retried: performing initial migration checks', fresh);
  else state.enter('Blocked', plan.blocked.message, fresh);
  state.forget('ready_since');
  run.news.forget();
  await run.news.send();
}

/** Deletes what an entry that is over has left at the target. */
export async function deleteLeftOvers(run: EntryRun, by: string): Promise<void> {
  run.state.event('queue-entry-cleaned', { by });
  await cleanUp(run, ['stopTarget', 'deleteTarget']);
}
