import { budgets } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { finalCopy } from './copy.ts';

/** The source goes off, and stays so until it is finished or rolled back; then the last pass. */
export async function finalPass(run: EntryRun): Promise<void> {
  const { state, settings } = run;
  await run.news.send();
  state.within('powering-off', 'The source is being shut down');
  await run.insist(budgets.powerOff, 'switch the source off', (a) =>
    a.powerOffSource({ scope: state.scope(), graceMs: settings.shutdownGraceMs }),
  );
  await finalCopy(run);
}
