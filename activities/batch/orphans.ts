import type { OrphanActivities } from '../../workflows/contracts/batch-activities.ts';
import type { BatchView, EntriesPage, Member } from '../../workflows/contracts/batch.ts';
import { batchId, migrationId, shardId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { snapshotPrefix } from '../../workflows/domain/batch/snapshot-names.ts';
import { OperationError } from '../failures.ts';
import { isOpen } from '../open-workflow.ts';
import type { BatchDeps } from './deps.ts';
import { onSource } from './entry-source.ts';

export function createOrphans(deps: BatchDeps): OrphanActivities {
  return {
    async removeSnapshots({ source, vm, uuid }) {
      await onSource(deps, source, (port, options) => port.removeSnapshots(vm, snapshotPrefix(uuid), options));
    },
    async lookAtOrphan({ target: targetName, project, name, uuid, attempt }) {
      if (await isOpen(deps.temporal, migrationId(uuid)))
        throw new OperationError('Refused', `${name} is no orphan: its entry ${uuid} is there`, {
          code: 'NOT_ORPHAN',
          next: `vmflow queue get ${uuid}`,
        });
      const target = await deps.target(targetName);
      const found = await target.find(project, name);
      const marks = found?.marks;
      if (marks?.uuid !== uuid || marks.attempt !== attempt) return undefined;
      const { member, shard } = await memberOf(deps, marks.batch, uuid);
      return {
        scope: {
          uuid,
          batch: marks.batch,
          name,
          source: member?.source ?? marks.source,
          vm: member?.vm ?? (await vmOf(deps, marks.source, uuid)),
          attempt,
          target: targetName,
          project,
        },
        member: member ?? { uuid, source: marks.source, vm: '', name },
        shardId: shardId(marks.batch, shard),
        ran: marks.running,
      };
    },
  };
}

/** Its row, as long as its batch is there. */
async function memberOf(
  { temporal }: BatchDeps,
  batch: string,
  uuid: string,
): Promise<{ member?: Member; shard: number }> {
  if (!(await isOpen(temporal, batchId(batch)))) return { shard: 0 };
  const { shards } = await temporal.workflow.getHandle(batchId(batch)).query<BatchView>(messages.status);
  for (let shard = 0; shard < shards; shard += 1) {
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      const handle = temporal.workflow.getHandle(shardId(batch, shard));
      const page: EntriesPage = await handle.query<EntriesPage, [object]>(messages.entries, { cursor });
      const row = page.rows.find((one) => one.uuid === uuid);
      if (row !== undefined) return { member: { uuid, source: row.source, vm: row.vm, name: row.name }, shard };
      ({ cursor } = page);
    }
  }
  return { shard: 0 };
}

async function vmOf({ inventories }: BatchDeps, source: string, uuid: string): Promise<string> {
  const { instances } = await inventories.of(source);
  return instances.find((instance) => instance.uuid === uuid)?.source_specific_id ?? '';
}
