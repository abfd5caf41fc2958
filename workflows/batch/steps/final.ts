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
  await switchOff(run, 'switch the source off');
  await finalCopy(run);
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
