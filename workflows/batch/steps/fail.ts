import { errorPlan } from '../../domain/batch/clean-up.ts';
import type { ErrorCode, Finding } from '../../domain/batch/records.ts';
import type { EntryRun } from '../entry-run.ts';
import { cleanUp } from './clean-up.ts';
import { inWords } from './conflict.ts';

/** It can't be right any more: the source is as it was before, then it is an Error. What is at the target stays for inspection. */
export async function fail(run: EntryRun, finding: Finding<ErrorCode>): Promise<void> {
  const { state } = run;
  state.within('rolling-back', `${finding.message}; the source is switched on again where it was on`);
  run.takeGrant();
  await cleanUp(run, errorPlan(state.entry));
  state.event('queue-entry-errored', { code: finding.code });
  state.enter('Error', inWords(finding), { error: finding });
  state.forget('window', 'ready_since');
  await run.news.send();
}
