import type { EntryRun } from '../entry-run.ts';
import { budgets } from '../budgets.ts';

/** M1: whether it can begin. Looks again every tick until it can; then waits for a place and begins. */
export async function assess(run: EntryRun): Promise<void> {
  const { state, settings } = run;
  const { record, baseline, placement, source_power, consented, target } = state.entry;
  const found = await run.insist(budgets.look, 'look whether it can begin', (a) =>
    a.assessEntry({
      scope: state.scope(),
      entry: { record, baseline, source_power, consented, ...(placement === undefined ? {} : { placement }) },
      expectsTarget: target.exists,
    }),
  );
  // A sync has found meanwhile that there is no such VM any more.
  if (state.entry.status === 'Conflict') return;
  state.learn(found);
  if (found.blocked !== undefined) {
    const { message } = found.blocked;
    if (state.entry.status !== 'Blocked' || state.entry.message !== message) state.enter('Blocked', message);
    await run.news.send();
    await run.until(() => run.isPaused, settings.tickMs, 'look again whether it can begin');
    return;
  }
  if (state.entry.status === 'Blocked') state.enter('Waiting', 'Instance has been unblocked');
  await run.news.send();
  state.within('awaiting-create-slot', 'Waiting for other instances to be created');
  const mayCreate = await run.slots.acquire('create', 'create', {
    until: Date.now() + 10 * settings.tickMs,
    syncLimit: 0,
  });
  if (!mayCreate || run.isPaused) {
    await run.slots.release();
    return;
  }
  state.enter('Creating new VM', 'Creating target instance definition', {
    target: { ...state.entry.target, exists: true },
  });
}
