import {
  ActivityCancellationType,
  defineQuery,
  isCancellation,
  log,
  setCurrentDetails,
  setHandler,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import type { CopyPassActivities, CopyTransferActivities } from '../contracts/batch-activities.ts';
import type { CopyPassInput, CopyPassResult, PassMode, PassScope } from '../contracts/batch.ts';
import { messages } from '../contracts/messages.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { control, transfer } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';

/** A snapshot that somebody removes in the middle is made anew, so often. */
const mostSnapshots = 3;

/**
 * One copy of the disks of one VM: snapshot, compare, copy disk by disk, remove the snapshot. The change ids are those of the
 * snapshot, read before anything is copied; they count only once everything is. A pass that fails or is cancelled leaves its snapshot
 * to who has begun it: a removal may take hours, and a source that is off has to be on again before.
 */
export async function copyPass({ entry, mode }: CopyPassInput): Promise<CopyPassResult> {
  let view: PassView = { disk: 0, disks: 0, bytes: 0 };
  setHandler(defineQuery(messages.status), () => ({
    kind: 'copy-pass',
    id: workflowInfo().workflowId,
    status: view.disk === 0 ? 'Snapshot' : 'Copying',
    ...view,
  }));
  for (let snapshots = 1; ; snapshots += 1) {
    try {
      const result = await copyAll(entry, mode, snapshots > 1, (now) => (view = now));
      if (result.finding === undefined)
        await onControl(budgets.removeSnapshot, `remove the snapshot of ${entry.name}`).endPass(entry);
      return result;
    } catch (err) {
      if (isCancellation(err) || knownFailure(err).type !== 'NotFound' || snapshots === mostSnapshots) throw err;
    }
  }
}

/** `disk`: the one that is copied, from 1; 0: none yet. */
interface PassView {
  readonly disk: number;
  readonly disks: number;
  readonly bytes: number;
}

async function copyAll(
  entry: PassScope,
  mode: PassMode,
  isAgain: boolean,
  onView: (view: PassView) => void,
): Promise<CopyPassResult> {
  const { name, changeIds } = entry;
  const begun = await onControl(budgets.snapshot, `snapshot of ${name}, compare its disks`).beginPass({
    scope: entry,
    mode,
  });
  const { snapshot, disks, finding } = begun;
  if (finding !== undefined) return { changeIds, bytes: 0, finding };
  const ids: Record<string, string> = {};
  let [bytes, compared] = [0, 0];
  for (const [index, disk] of disks.entries()) {
    const since = changeIds[disk.name] ?? '';
    const ordinal = `${index + 1}/${disks.length}`;
    onView({ disk: index + 1, disks: disks.length, bytes });
    setCurrentDetails(`**${name}**: disk ${ordinal} (${disk.name}), ${since === '' ? 'all of it' : 'changed blocks'}`);
    const copied = await copyOne({ scope: entry, mode, snapshot, disk, since, isAgain }, `${ordinal} of ${name}`);
    bytes += copied.bytes;
    compared += copied.compared;
    ids[disk.name] = disk.changeId;
  }
  return { changeIds: ids, bytes, ...(compared > 0 ? { compared } : {}) };
}

type CopyInput = Parameters<CopyTransferActivities['copyDisk']>[0];

/** Copies a disk, and compares it with its source unless a later pass will. What differs is copied as a whole, once. */
async function copyOne(input: CopyInput, what: string): Promise<{ readonly bytes: number; readonly compared: number }> {
  const { since, mode, disk } = input;
  const { bytesWritten: bytes } = await copyDisk(input, what);
  if (since !== '' && mode === 'background') return { bytes, compared: 0 };
  const first = await compare(input, what);
  if (first.differs === undefined) return { bytes, compared: first.bytes };
  log.warn('a copied disk differs from its source: it is copied again', { disk: disk.name, ...first.differs });
  const anew = { ...input, since: '', isAgain: true };
  const again = await copyDisk(anew, what);
  const second = await compare(anew, what);
  if (second.differs === undefined) return { bytes: bytes + again.bytesWritten, compared: second.bytes };
  const { start, length } = second.differs;
  throw failure(
    'Refused',
    `disk ${disk.name} was copied twice, and bytes ${start} to ${start + length} still differ from its source`,
    { code: 'CONTENT_DIFFERS' },
  );
}

async function copyDisk(input: CopyInput, what: string): ReturnType<CopyTransferActivities['copyDisk']> {
  const summary = `copy disk ${what}, ${input.since === '' ? 'all of it' : 'changed blocks'}`;
  return await onTransfer(budgets.copyDisk, summary).copyDisk(input);
}

async function compare(
  { scope, snapshot, disk, since }: CopyInput,
  what: string,
): ReturnType<CopyTransferActivities['verifyDisk']> {
  return await onTransfer(budgets.verifyDisk, `compare disk ${what}`).verifyDisk({ scope, snapshot, disk, since });
}

/** Whoever cancels a pass hears of it when nothing of it is under way any more. */
const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

function onControl(budget: ActivityOptions, summary: string): CopyPassActivities {
  return control<CopyPassActivities>({ ...budget, cancellationType }, summary);
}

function onTransfer(budget: ActivityOptions, summary: string): CopyTransferActivities {
  return transfer<CopyTransferActivities>({ ...budget, cancellationType }, summary);
}
