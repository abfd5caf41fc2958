import { omit } from '../../domain/omit.ts';
import { budgets } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { now } from '../../shared/now.ts';
import { finalCopy } from './copy.ts';

/** The source goes off, and stays so until it is finished or rolled back; then the last pass. */
export async function finalPass(run: EntryRun): Promise<void> {
  const { state } = run;
  await run.news.send();
  state.within('powering-off', 'The source is being shut down');
  if (await isOn(run)) await switchOff(run, 'switch the source off');
  await finalCopy(run);
}

/**
 * M3 once more, where the source was off as its turn came: it may have waited for a place since. One that is still off isn't
 * touched, so that whatever is switched off by us is known to be; M4 sees one that is switched on later.
 */
async function isOn(run: EntryRun): Promise<boolean> {
  const { state } = run;
  if (state.entry.source_power.powered_off_by_us_at !== undefined) return true;
  const { power } = await run.insist(budgets.look, 'see whether the source is still off', (a) =>
    a.readSourcePower(state.scope()),
  );
  if (power === undefined || power === 'off') return false;
  const { placement, overrides, source_power } = state.entry;
  const running = overrides.stopped_after_migration !== true;
  state.change({
    source_power: { ...source_power, initial_running: true, powered_off_by_us_at: now() },
    ...(placement === undefined ? {} : { placement: { ...placement, running } }),
  });
  return true;
}

/** From the call on its guest may shut down at any time, until it is seen off. */
export async function switchOff(run: EntryRun, what: string): Promise<void> {
  const { state, settings } = run;
  state.change({ source_power: omit(state.entry.source_power, 'seen_off_at') });
  await run.insist(budgets.powerOff, what, (a) =>
    a.powerOffSource({ scope: state.scope(), graceMs: settings.shutdownGraceMs }),
  );
  state.change({ source_power: { ...state.entry.source_power, seen_off_at: now() } });
}
