import type { ConflictCode, ErrorCode, Finding } from '../../domain/batch/records.ts';

import { budgets } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { now } from '../../shared/now.ts';
import { fail } from './fail.ts';
import { conflict } from './conflict.ts';
import { switchOff } from './final.ts';
import { finish } from './finish.ts';
import { rollBack } from './roll-back.ts';

/** M4: whether source, target and placement are still what was copied; then M5. */
export async function verify(run: EntryRun): Promise<void> {
  const { state } = run;
  state.within(run.isResolve ? 'revalidating' : 'final-checks', 'Performing final checks');
  const { record, baseline, placement, source_power, change_ids, target } = state.entry;
  const { isResolve } = run;
  const found = await run.insist(budgets.finalCheck, 'compare source and target once more', (a) =>
    a.finalCheck({
      scope: state.scope(),
      entry: { record, baseline, source_power, change_ids, target, ...(placement === undefined ? {} : { placement }) },
      isResolve,
    }),
  );
  for (const warning of found.warnings) state.warn('migration-warning', warning);
  if (found.verdict === 'powered-on') {
    await switchOffAgain(run);
    return;
  }
  state.change({ record: found.record, placement: found.placement });
  run.isResolve = false;
  const { finding, verdict } = found;
  if (verdict === 'clean' || finding === undefined) await finish(run);
  else if (verdict === 'error') await fail(run, finding as Finding<ErrorCode>);
  else await conflict(run, finding as Finding<ConflictCode>, 'M4');
}

/** Somebody switched the source on: off again, whatever else is found. What it wrote meanwhile isn't at the target. */
async function switchOffAgain(run: EntryRun): Promise<void> {
  const { state, settings } = run;
  state.warn('source-powered-on', `${state.name} was switched on behind our back; it is switched off again`);
  if (state.entry.source_power.powered_off_by_us_at === undefined)
    state.change({ source_power: { ...state.entry.source_power, initial_running: true, powered_off_by_us_at: now() } });
  state.within('powering-off', 'The source was switched on; it is being shut down again');
  await switchOff(run, 'switch the source off again');
  const { changed } = await run.insist(budgets.look, 'see whether it has written anything', (a) =>
    a.changedSince({ scope: state.scope(), changeIds: state.entry.change_ids }),
  );
  if (changed === 'none' || settings.staleSource === 'accept') return;
  state.warn('copy-stale', `the source of ${state.name} has written data after the last copy`);
  const { window, full_copy_took_ms = 0 } = state.entry;
  const leftMs = window?.end === undefined ? Number.POSITIVE_INFINITY : Date.parse(window.end) - Date.now();
  if (leftMs < full_copy_took_ms + 60_000) {
    await rollBack(run, 'the source has written data after the last copy, and its window is too short to copy again');
    return;
  }
  state.change({ change_ids: {}, target: { ...state.entry.target, adapted: false } });
  state.enter('Performing final import tasks', 'Copying again: the source has written data after the last copy', {
    stage: 'final',
    pass: state.entry.pass + 1,
  });
}
