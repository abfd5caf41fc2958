import { Context } from '@temporalio/activity';
import { WithStartWorkflowOperation, type Workflow } from '@temporalio/client';
import type { SourceActivities } from '../../workflows/contracts/batch-activities.ts';
import type { SourceInput, SourceView, SyncResult } from '../../workflows/contracts/batch.ts';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import { sourceId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { whileBeating } from '../heartbeat.ts';
import { ifFound } from '../open-workflow.ts';
import type { BatchDeps } from './deps.ts';

export function createSyncDueSources(deps: BatchDeps): SourceActivities['syncDueSources'] {
  return async () =>
    await whileBeating(
      () => ({}),
      async () => {
        const { disableAutoSync, syncIntervalMs } = deps.config.file.batches;
        if (disableAutoSync || !(await hasBatches(deps))) return { synced: [] };
        const synced: string[] = [];
        for (const name of Object.keys(deps.config.file.vcenters)) {
          if (!(await isDue(deps, name, syncIntervalMs))) continue;
          // One that can't be reached keeps nobody from the others; its entity remembers why.
          await sync(deps, name).then(
            () => synced.push(name),
            (err: unknown) => deps.log.warn('source could not be read', { source: name, error: String(err) }),
          );
        }
        return { synced };
      },
    );
}

async function hasBatches({ temporal }: BatchDeps): Promise<boolean> {
  const query = `${searchKeys.kind.name} = 'batch' AND ExecutionStatus = 'Running'`;
  return (await temporal.workflow.count(query)).count > 0;
}

async function isDue({ temporal }: BatchDeps, name: string, intervalMs: number): Promise<boolean> {
  const view = await ifFound(temporal.workflow.getHandle(sourceId(name)).query<SourceView>(messages.status));
  if (view === undefined) return true;
  const { syncing, last } = view;
  return !syncing && (last === undefined || Date.now() - Date.parse(last.at) >= intervalMs);
}

async function sync({ temporal }: BatchDeps, name: string): Promise<SyncResult> {
  const { taskQueue } = Context.current().info;
  const input: SourceInput = { name };
  return await temporal.workflow.executeUpdateWithStart<Workflow, SyncResult, []>(messages.sync, {
    startWorkflowOperation: new WithStartWorkflowOperation<Workflow>('source', {
      taskQueue,
      workflowId: sourceId(name),
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `source ${name}`,
    }),
  });
}
