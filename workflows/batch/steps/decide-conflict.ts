import type { ConflictDesk } from '../../shared/conflict-desk.ts';
import type { EntryRun } from '../entry-run.ts';
import { cleanUp } from './clean-up.ts';

const reminderMs = 3_600_000;

/** Waits for a person; answers whether the entry is to be cancelled. The end of a window or an order interrupts it. */
export async function decideConflict(run: EntryRun, desk: ConflictDesk): Promise<'cancel' | undefined> {
  const { state } = run;
  const conflict = state.conflict();
  if (conflict === undefined) throw new Error('an entry in Conflict has a conflict');
  const isHeld = state.isCommitted && run.settings.windowEndInConflict === 'hold';
  // Whoever hears of it may decide it.
  const [resolution] = await Promise.all([
    desk.decision(conflict, isHeld ? reminderMs : undefined, 'remind that the source is off'),
    run.news.send(),
  ]);
  if (resolution === undefined) {
    state.warn('source-off', `${state.name} is in Conflict and its source is off`);
    return undefined;
  }
  if (resolution.decision === 'cancel') return 'cancel';
  await resolved(run, resolution.by);
  return undefined;
}

/** M6: back to where it is checked again. */
async function resolved(run: EntryRun, by: string): Promise<void> {
  const { state } = run;
  const { stage, target, conflict } = state.entry;
  state.event('queue-entry-resolved', { by, code: conflict?.code });
  const change = { resolve_count: state.entry.resolve_count + 1 };
  if (stage === 'complete') {
    run.isResolve = true;
    state.enter('Worker tasks complete', 'Conflict resolved', change);
  } else if (target.adapted || target.configured || target.started || (target.exists && conflict?.moment !== 'M3')) {
    await cleanUp(run, ['stopTarget', 'deleteTarget']);
    state.enter('Waiting', 'Conflict resolved', {
      ...change,
      stage: 'background',
      attempt: state.entry.attempt + 1,
    });
    state.forget('ready_since');
  } else if (target.exists) {
    state.enter('Idle', 'Conflict resolved', change);
  } else {
    const consented = state.entry.consented || conflict?.code === 'EXPRESSION_MISMATCH';
    state.enter('Waiting', 'Conflict resolved', { ...change, consented });
  }
  state.forget('conflict');
  run.news.forget();
}
