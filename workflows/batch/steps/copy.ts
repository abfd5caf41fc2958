import {
  CancellationScope,
  ChildWorkflowCancellationType,
  ParentClosePolicy,
  executeChild,
  isCancellation,
} from '@temporalio/workflow';
import type { CopyPassInput, CopyPassResult, PassMode } from '../../contracts/batch.ts';
import { copyPassId } from '../../contracts/ids.ts';
import { searchKeys } from '../../contracts/attributes.ts';
import type { ErrorCode, Finding } from '../../domain/batch/records.ts';
import { knownFailure } from '../../shared/failures.ts';
import type { EntryRun } from '../entry-run.ts';
import { defined } from '../../shared/defined.ts';
import { now } from '../../shared/now.ts';
import { fail } from './fail.ts';

/** A copy while the source runs: the first one, and those that keep it short later. */
export async function backgroundCopy(run: EntryRun): Promise<void> {
  const { state, settings } = run;
  const isFirst = state.entry.stage === 'background';
  if (state.entry.status === 'Idle') {
    state.within('awaiting-import-slot', 'Waiting for other instances to finish importing');
    const priority = isFirst ? 'first' : 'top-up';
    // A top-up that finds no place is left out: the next one is due soon enough.
    const until = Date.now() + (isFirst ? 10 * settings.tickMs : Math.min(settings.finalLimitMs, 2 * settings.tickMs));
    // One that is ready for its window is shown as such, and keeps its place in the line.
    const onWait = isFirst ? { onWait: () => run.news.send() } : {};
    if (!(await run.slots.acquire('import', priority, { until, syncLimit: settings.syncLimit, ...onWait }))) {
      if (!isFirst) state.change({ top_up_left_out: now() });
      return;
    }
    if (run.isPaused) {
      await run.slots.release();
      return;
    }
    state.event('migration-sync-started', { first: isFirst });
    state.enter('Performing background import tasks', isFirst ? 'Copying the disks' : 'Copying what has changed', {
      pass: state.entry.pass + 1,
    });
  }
  const began = Date.now();
  const isFull = copiesAll(run);
  const result = await pass(run, 'background');
  await run.slots.release();
  if (result === undefined) return;
  state.event('migration-sync-completed', { bytes: result.bytes, ...defined('compared', result.compared) });
  state.enter('Idle', 'Waiting for migration window', {
    stage: 'final',
    change_ids: result.changeIds,
    last_background_sync: now(),
    last_sync_took_ms: Date.now() - began,
    ...(isFull ? { full_copy_took_ms: Date.now() - began } : {}),
    ready_since: state.entry.ready_since ?? now(),
  });
}

/** The source is off: the last changes. */
export async function finalCopy(run: EntryRun): Promise<void> {
  const { state } = run;
  const began = Date.now();
  const isFull = copiesAll(run);
  state.within('copying', 'Copying the last changes');
  const result = await pass(run, 'final');
  if (result === undefined) return;
  state.enter('Idle', 'Waiting for worker to begin post-import tasks', {
    stage: 'complete',
    change_ids: result.changeIds,
    ...(isFull ? { full_copy_took_ms: Date.now() - began } : {}),
  });
}

/** The source doesn't know what has changed since. */
function copiesAll({ state }: EntryRun): boolean {
  return Object.values(state.entry.change_ids).every((id) => id === '');
}

/** One pass; undefined: the entry is an Error now. */
async function pass(run: EntryRun, mode: PassMode): Promise<CopyPassResult | undefined> {
  const { state } = run;
  const { instance_uuid, pass: number, batch_name } = state.entry;
  // A top-up doesn't give up its turn: a place that it gets meanwhile is taken after it.
  const isTopUp = mode === 'background' && state.entry.stage === 'final' && run.mayBegin();
  await run.news.send(isTopUp ? run.request() : undefined);
  let finding: Finding<ErrorCode>;
  try {
    const result = await executeChild<(input: CopyPassInput) => Promise<CopyPassResult>>('copyPass', {
      workflowId: copyPassId(instance_uuid, number),
      args: [{ entry: state.passScope(), mode }],
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
      staticSummary: `${mode} copy ${number} of ${state.name}`,
      typedSearchAttributes: [
        { key: searchKeys.kind, value: 'copy-pass' },
        { key: searchKeys.vm, value: state.name },
        { key: searchKeys.batch, value: batch_name },
      ],
    });
    if (result.finding === undefined) return result;
    finding = result.finding as Finding<ErrorCode>;
  } catch (err) {
    // Somebody may have cancelled the pass alone.
    if (isCancellation(err) && CancellationScope.current().consideredCancelled) throw err;
    const { message } = knownFailure(err);
    finding = {
      code: 'WORKER_FAILED',
      message: `the disks couldn't be copied: ${message}`,
      expected: 'an exact copy of the disks',
      found: message,
    };
  }
  await fail(run, finding);
  return undefined;
}
