import {
  CancellationScope,
  ActivityCancellationType,
  defineQuery,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { CopyPassActivities, CopyTransferActivities, PassDisk } from '../contracts/batch-activities.ts';
import type { CopyPassInput, CopyPassResult } from '../contracts/batch.ts';
import { messages } from '../contracts/messages.ts';
import { control, transfer } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';

/**
 * One copy of the disks of one VM: snapshot, compare, copy disk by disk, remove the snapshot, whatever happens. The change ids are
 * those of the snapshot, read before anything is copied; they count only once everything is.
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
  try {
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
      ).copyDisk({ scope: entry, mode, snapshot: begun.snapshot, disk, since });
      copied += 1;
      bytes += done.bytesWritten;
      changeIds[disk.name] = disk.changeId;
    }
    return { changeIds, bytes };
  } finally {
    await CancellationScope.nonCancellable(() =>
      control<CopyPassActivities>(budgets.removeSnapshot, `remove the snapshot of ${entry.name}`).endPass(entry),
    );
  }
}
