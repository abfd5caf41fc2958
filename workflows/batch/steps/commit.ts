import { omit } from '../../domain/omit.ts';
import { budgets } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { now } from '../../shared/now.ts';
import { conflict, vmGone } from './conflict.ts';

/** The batch has given it a place: M3, then the limits, then it is committed. Until then nothing has happened to the source. */
export async function commit(run: EntryRun): Promise<void> {
  const { state } = run;
  const grant = run.takeGrant();
  if (grant === undefined) return;
  if (!run.mayBegin()) {
    await decline(run);
    return;
  }
  const { power } = await run.insist(budgets.look, 'read the power of the source', (a) =>
    a.readSourcePower(state.scope()),
  );
  if (power === undefined) {
    await conflict(run, vmGone(state.entry.record), 'M3');
    return;
  }
  const end = grant.window?.end;
  state.within('awaiting-import-slot', 'Waiting for other instances to finish importing', end);
  const until = end === undefined ? undefined : Date.parse(end);
  const mayImport = await run.slots.acquire('import', 'final', {
    syncLimit: 0,
    ...(until === undefined ? {} : { until }),
  });
  if (!mayImport || isOver(end) || !run.mayBegin()) {
    await run.slots.release();
    await decline(run);
    return;
  }
  const isOn = power !== 'off';
  const { placement, source_power, overrides } = state.entry;
  if (placement === undefined) throw new Error('an entry without a placement is never committed');
  const facts = omit(source_power, 'restored_at', 'powered_off_by_us_at', 'seen_off_at');
  state.event('migration-final-started', { window: grant.window?.name });
  state.enter(
    'Performing final import tasks',
    grant.window === undefined ? 'Final import' : `Final import in window ${grant.window.name}`,
    {
      ...(grant.window === undefined ? {} : { window: grant.window }),
      cutover: false,
      placement: { ...placement, running: (placement.running || isOn) && overrides.stopped_after_migration !== true },
      source_power: {
        ...facts,
        initial_running: facts.initial_running || isOn,
        // Written before the call that does it.
        ...(isOn ? { powered_off_by_us_at: now() } : {}),
      },
      pass: state.entry.pass + 1,
    },
  );
}

function isOver(end: string | undefined): boolean {
  return end !== undefined && Date.parse(end) <= Date.now();
}

/** It gives its place back, and may ask again. */
async function decline(run: EntryRun): Promise<void> {
  await run.news.send();
  run.news.forget();
}
