import { Context } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { SourceActivities } from '../../workflows/contracts/batch-activities.ts';
import type { BatchSpecAnswer, MigrationRecord, SourceUpdated, SyncResult } from '../../workflows/contracts/batch.ts';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { allowedBy, exclusionReason } from '../../workflows/domain/batch/exclusion.ts';
import { mergeRecord, syncRights } from '../../workflows/domain/batch/sync-merge.ts';
import { whileBeating } from '../heartbeat.ts';
import type { BatchDeps } from './deps.ts';
import { atOnce } from './entries.ts';
import type { Inventory } from './inventories.ts';
import { overridesOf } from './judge.ts';

/** Reads a whole source; nobody is told anything before the last page is read. Safe to run twice. */
export function createSyncSource(deps: BatchDeps): Pick<SourceActivities, 'syncSource'> {
  return {
    async syncSource(source) {
      return await whileBeating(
        () => ({}),
        async () => {
          const { cancellationSignal: signal } = Context.current();
          const inventory = await deps.inventories.of(source, { maxAgeMs: 0, signal });
          const told = await tellBlocked(deps, source, inventory);
          const { instances, networks, warnings } = inventory;
          return {
            at: new Date(inventory.at).toISOString(),
            instances: instances.length,
            networks: networks.size,
            ...told,
            warnings: grouped(warnings),
          };
        },
      );
    },
  };
}

/** Only entries that wait for the source to change hear of it: everything else looks for itself when it must. */
async function tellBlocked(
  deps: BatchDeps,
  source: string,
  { instances, unread }: Inventory,
): Promise<{ readonly updated: number; readonly missing: number }> {
  const fresh = new Map(instances.map((instance) => [instance.source_specific_id, instance]));
  const hidden = new Set(unread);
  const limit = pLimit(atOnce);
  const counts = { updated: 0, missing: 0 };
  const batches = new Map<string, Promise<BatchSpecAnswer>>();
  // As it is now, asked once: whether a batch runs decides what may be updated.
  const specOf = (batch: string): Promise<BatchSpecAnswer> => {
    const spec = batches.get(batch) ?? deps.specs.of(batch, true);
    batches.set(batch, spec);
    return spec;
  };
  const tell = async (workflowId: string): Promise<void> => {
    const handle = deps.temporal.workflow.getHandle(workflowId);
    const record = await handle.query<MigrationRecord>(messages.record);
    const { spec, status } = await specOf(record.view.batch);
    const overrides = overridesOf(spec, record.view.uuid);
    const isExcluded = exclusionReason(record.record, overrides, allowedBy(spec.config)) !== undefined;
    const { entryStatus, batch } = record.view;
    const rights = syncRights([{ batch, status, isExcluded }], { batch, status: entryStatus });
    const found = fresh.get(record.record.source_specific_id);
    if (!rights.mayUpdate || hidden.has(record.record.source_specific_id)) return;
    if (found === undefined) {
      if (rights.ifMissing !== 'conflict') return;
      counts.missing += 1;
      await handle.signal<[SourceUpdated]>(messages.sourceUpdated, { missing: true });
      return;
    }
    counts.updated += 1;
    await handle.signal<[SourceUpdated]>(messages.sourceUpdated, { record: mergeRecord(record.record, found) });
  };
  const jobs: Promise<void>[] = [];
  const query = `${searchKeys.kind.name} = 'migration' AND ${searchKeys.status.name} = 'Blocked' AND ${searchKeys.source.name} = '${source}' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId } of deps.temporal.workflow.list({ query })) jobs.push(limit(() => tell(workflowId)));
  await Promise.all(jobs);
  return counts;
}

function grouped(warnings: Inventory['warnings']): SyncResult['warnings'] {
  const types = [...new Set(warnings.map(({ type }) => type))];
  return types.map((type) => {
    const of = warnings.filter((warning) => warning.type === type);
    return { type, messages: of.slice(-10).map(({ message }) => message), count: of.length };
  });
}
