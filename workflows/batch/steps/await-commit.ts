import { nextTopUp } from '../../domain/batch/top-ups.ts';
import { isCopiedAhead } from '../../domain/batch/entry.ts';
import { predictWindow } from '../../domain/batch/windows.ts';
import { repeatWishMs } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { commit } from './commit.ts';

/** Its copy is as good as it gets: asks to be committed, and waits for that or for the next top-up. */
export async function awaitCommit(run: EntryRun): Promise<void> {
  const { state } = run;
  if (run.hasGrant()) {
    await commit(run);
    return;
  }
  state.change({ ready_since: state.entry.ready_since ?? state.entry.since });
  if (state.entry.held) {
    await run.news.send();
    state.within('awaiting-window', `held: it isn't committed until somebody says vmflow queue unhold`, undefined);
  } else {
    await run.news.send(run.request());
    const window = predicted(run);
    const { group, depends_on = [] } = state.entry.overrides;
    const after =
      group === undefined && depends_on.length === 0 ? '' : ', after the VMs of its batch that go before it';
    const what = window === undefined ? 'Waiting for migration window' : `Waiting for migration window ${window.name}`;
    state.within(
      'awaiting-window',
      `${what}${window?.start === undefined ? '' : `, from ${window.start}`}${after}`,
      window?.start,
    );
  }
  const dueMs = topUpAt(run);
  const waitMs = Math.min(repeatWishMs, dueMs === undefined ? repeatWishMs : Math.max(dueMs - Date.now(), 0));
  await run.until(() => run.hasGrant() || run.isPaused, waitMs, 'wait for its window or the next top-up');
  // A wish that was lost is repeated; one that is known changes nothing.
  if (!run.hasGrant() && waitMs === repeatWishMs) run.news.forget();
}

/** A top-up is due now. */
export function isTopUpDue(run: EntryRun): boolean {
  const at = topUpAt(run);
  return at !== undefined && at <= Date.now();
}

function predicted(run: EntryRun): ReturnType<typeof predictWindow> {
  return predictWindow(run.settings.windows, run.state.entry.min_boot_ms, Date.now());
}

function topUpAt(run: EntryRun): number | undefined {
  const { record, last_background_sync, top_up_left_out = '', last_sync_took_ms, cutover } = run.state.entry;
  if (last_background_sync === undefined || cutover || !isCopiedAhead(record, run.settings)) return undefined;
  const start = predicted(run)?.start;
  return nextTopUp({
    now: Date.now(),
    intervalMs: run.settings.intervalMs,
    limitMs: run.settings.finalLimitMs,
    lastEnd: Date.parse(top_up_left_out > last_background_sync ? top_up_left_out : last_background_sync),
    lastTookMs: last_sync_took_ms ?? 0,
    ...(start === undefined ? {} : { windowStart: Date.parse(start) }),
  });
}
