import {
  ActivityCancellationType,
  defineQuery,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { CopyPassActivities, CopyTransferActivities, PassDisk } from '../contracts/batch-activities.ts';
import type { CopyPassInput, CopyPassResult } from '../contracts/batch.ts';
import { messages } from '../contracts/messages.ts';
import { knownFailure } from '../shared/failures.ts';
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
  const waitForEnd = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
  let disks: readonly PassDisk[] = [];
  let copied = 0;
  let bytes = 0;
  setHandler(defineQuery(messages.status), () => ({
    kind: 'copy-pass',
    id: workflowInfo().workflowId,
    status: copied === disks.length ? 'Snapshot' : 'Copying',
    disk: copied + 1,
    disks: disks.length,
    bytes,
  }));
  const copyAll = async (isAgain: boolean): Promise<CopyPassResult> => {
    copied = bytes = 0;
    const begun = await control<CopyPassActivities>(
      { ...budgets.snapshot, cancellationType: waitForEnd },
      `snapshot of ${entry.name}, compare its disks`,
    ).beginPass({ scope: entry, mode });
    if (begun.finding !== undefined) return { changeIds: entry.changeIds, bytes: 0, finding: begun.finding };
    disks = begun.disks;
    const changeIds: Record<string, string> = {};
    for (const disk of disks) {
      const since = entry.changeIds[disk.name] ?? '';
      const what = since === '' ? 'all of it' : 'changed blocks';
      setCurrentDetails(`**${entry.name}**: disk ${copied + 1} of ${disks.length} (${disk.name}), ${what}`);
      const done = await transfer<CopyTransferActivities>(
        { ...budgets.copyDisk, cancellationType: waitForEnd },
        `copy disk ${copied + 1}/${disks.length} of ${entry.name}, ${what}`,
      ).copyDisk({ scope: entry, mode, snapshot: begun.snapshot, disk, since, isAgain });
      copied += 1;
      bytes += done.bytesWritten;
      changeIds[disk.name] = disk.changeId;
    }
    return { changeIds, bytes };
  };
  for (let snapshots = 1; ; snapshots += 1) {
    try {
      const result = await copyAll(snapshots > 1);
      if (result.finding === undefined)
        await control<CopyPassActivities>(
          { ...budgets.removeSnapshot, cancellationType: waitForEnd },
          `remove the snapshot of ${entry.name}`,
        ).endPass(entry);
      return result;
    } catch (err) {
      if (isCancellation(err) || knownFailure(err).type !== 'NotFound' || snapshots === mostSnapshots) throw err;
    }
  }
}
