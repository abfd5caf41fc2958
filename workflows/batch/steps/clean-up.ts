import { CancellationScope, patched, sleep } from '@temporalio/workflow';
import type { CleanUpStep } from '../../domain/batch/clean-up.ts';
import { emptyTarget, owesPowerOn } from '../../domain/batch/entry.ts';
import { control } from '../../shared/proxies.ts';
import type { CopyPassActivities } from '../../contracts/batch-activities.ts';
import { budgets } from '../budgets.ts';
import type { EntryRun } from '../entry-run.ts';
import { now } from '../../shared/now.ts';

/** A roll-back that takes longer is for somebody to look at. */
const longMs = 300_000;

/** Does these steps in their order, however often a far side refuses one; nothing interrupts them. */
export async function cleanUp(run: EntryRun, steps: readonly CleanUpStep[]): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    for (const step of steps) await undo[step](run);
  });
}

const undo: Readonly<Record<CleanUpStep, (run: EntryRun) => Promise<void>>> = {
  /** A pass ends with the scope that it runs in. */
  stopCopy: () => Promise.resolve(),
  async removeSnapshot(run) {
    if (run.state.entry.pass === 0) return;
    await run.insist(budgets.removeSnapshot, 'remove the snapshots of this entry', () =>
      control<CopyPassActivities>(budgets.removeSnapshot, `remove our snapshots of ${run.state.name}`).endPass(
        run.state.passScope(),
      ),
    );
  },
  stopTarget,
  async powerOnSource(run) {
    const { state, settings } = run;
    const { source_power } = state.entry;
    if (!owesPowerOn(source_power)) return;
    const shutdown = source_power.seen_off_at === undefined ? { shutdownMs: settings.shutdownGraceMs } : {};
    const { gone } = await watched(run, 'its source is not on yet', () =>
      run.insist(budgets.powerOn, 'switch the source on again', (a) =>
        a.powerOnSource({ ...state.scope(), ...shutdown }),
      ),
    );
    if (gone) state.warn('source-gone', `${state.name} is to be switched on again and isn't at the source any more`);
    run.isSourceGone = gone;
    state.change({ source_power: { ...state.entry.source_power, restored_at: now() } });
  },
  async deleteTarget(run) {
    const { state } = run;
    if (!state.entry.target.exists) return;
    await run.insist(budgets.undo, 'delete what we made at the target', (a) => a.deleteTarget(state.scope()));
    state.change({ target: emptyTarget, change_ids: {} });
  },
  releaseSlots: (run) => run.slots.release(),
};

/**
 * Nothing but the final configuration gives the target its production networks: before that was sent, a target that can't be
 * reached doesn't keep the source off.
 */
async function stopTarget(run: EntryRun): Promise<void> {
  const { state } = run;
  const { exists, configured, released = false } = state.entry.target;
  if (!exists) return;
  if (configured) {
    await watched(run, 'its target is not seen to be stopped yet, and its source stays off until then', () =>
      run.insist(budgets.undo, 'stop the target', (a) => a.stopTarget({ ...state.scope(), released })),
    );
    return;
  }
  try {
    await run.act(budgets.undoBriefly, 'stop the target').stopTarget(state.scope());
  } catch {
    state.warn(
      'target-unreachable',
      `whether the target of ${state.name} is stopped couldn't be seen; it has no production networks`,
    );
  }
}

/** What is undone is tried for ever; who waits for the VM is told when that takes long. */
async function watched<T>({ state }: EntryRun, what: string, work: () => Promise<T>): Promise<T> {
  if (!patched('watched-roll-back')) return await work();
  const scope = new CancellationScope();
  const tell = async (): Promise<void> => {
    await sleep(longMs, { summary: 'say that it takes long' });
    state.warn('rollback-stuck', `the roll-back of ${state.name} takes long: ${what}`);
  };
  void scope.run(tell).catch(() => undefined);
  try {
    return await work();
  } finally {
    scope.cancel();
  }
}
