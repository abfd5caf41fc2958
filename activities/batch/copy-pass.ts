import type { CopyPassActivities, PassDisk } from '../../workflows/contracts/batch-activities.ts';
import type { PassScope } from '../../workflows/contracts/batch.ts';
import { disksCheck } from '../../workflows/domain/batch/disks-check.ts';
import { isOwnSnapshot, snapshotName, snapshotPrefix } from '../../workflows/domain/batch/snapshot-names.ts';
import type { BatchDeps } from './deps.ts';
import { onSource } from './entry-source.ts';
import { placedDisks } from './judge.ts';

export function createCopyPass(deps: BatchDeps): CopyPassActivities {
  return {
    async beginPass({ scope }) {
      const target = await deps.target(scope.target);
      return await onSource(deps, scope.source, async (port, options) => {
        const prefix = snapshotPrefix(scope.uuid);
        const name = snapshotName(scope.uuid, scope.pass);
        const found = await port.snapshots(scope.vm, options);
        // What an earlier attempt of this very pass has made is gone on with.
        if (!found.some((one) => one.name === name)) await port.removeSnapshots(scope.vm, prefix, options);
        const { snapshot } = await port.createSnapshot(scope.vm, name, options);
        const foreign = found.filter((one) => !isOwnSnapshot(one.name, scope.uuid)).map((one) => one.name);
        if (foreign.length > 0)
          deps.log.warn('somebody else has snapshots of this VM', { vm: scope.name, snapshots: foreign });
        const disks = await port.snapshotDisks(scope.vm, snapshot, options);
        const finding = disksCheck(scope.name, scope.baseline, disks);
        if (finding !== undefined) return { snapshot, disks: [], finding };
        await target.setFence(scope.project, scope.name, scope.pass);
        return { snapshot, disks: passDisks(scope, disks) };
      });
    },
    async endPass(scope) {
      await onSource(deps, scope.source, (port, options) =>
        port.removeSnapshots(scope.vm, snapshotPrefix(scope.uuid), options),
      );
    },
  };
}

type SnapshotDisk = Omit<PassDisk, 'index'>;

/** Disks that can't be copied have no place at the target. */
function passDisks({ baseline }: PassScope, disks: readonly SnapshotDisk[]): PassDisk[] {
  return placedDisks(baseline).flatMap(({ name }, index) => {
    const disk = disks.find((one) => one.name === name);
    return disk === undefined ? [] : [{ name, index, key: disk.key, capacity: disk.capacity, changeId: disk.changeId }];
  });
}
