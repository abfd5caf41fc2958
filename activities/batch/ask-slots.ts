import { Context } from '@temporalio/activity';
import type { EntryActivities, SlotsActivities } from '../../workflows/contracts/batch-activities.ts';
import type { SlotOrder } from '../../workflows/contracts/batch.ts';
import type { SlotWish } from '../../workflows/domain/batch/slots.ts';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import { batchSlotsId, migrationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { isOpen } from '../open-workflow.ts';
import type { BatchDeps } from './deps.ts';

/** Where nothing is limited nobody has to be asked. */
export function createAskSlots({ config, temporal }: BatchDeps): EntryActivities['askSlots'] {
  return async ({ scope, kind, priority, token, askedAt, host, syncLimit }) => {
    const target = config.file.targets[scope.target];
    const source = config.file.vcenters[scope.source]?.source;
    const limits: Record<string, number> =
      kind === 'create'
        ? { [`target-create/${scope.target}`]: target?.createLimit ?? 0 }
        : {
            [`source/${scope.source}`]: source?.importLimit ?? 0,
            [`target-import/${scope.target}`]: target?.importLimit ?? 0,
            [`host/${scope.source}/${host}`]: source?.hostImportLimit ?? 0,
            ...(priority === 'final' ? {} : { [`batch-topup/${scope.batch}`]: syncLimit }),
          };
    const permits = Object.entries(limits).flatMap(([name, limit]) => (limit > 0 ? [{ name, limit }] : []));
    if (permits.length === 0) return { granted: true };
    const { taskQueue } = Context.current().info;
    const ask: SlotWish = {
      holder: scope.uuid,
      token,
      workflowId: migrationId(scope.uuid),
      priority,
      permits,
      askedAt,
    };
    await temporal.workflow.signalWithStart('slots', {
      workflowId: batchSlotsId(taskQueue),
      taskQueue,
      args: [{}],
      signal: messages.slotOrder,
      signalArgs: [{ kind: 'ask', ask } satisfies SlotOrder],
      staticSummary: 'Who may create and import VMs now',
      typedSearchAttributes: [{ key: searchKeys.kind, value: 'slots' }],
    });
    return { granted: false };
  };
}

export function createOverOf({ temporal }: BatchDeps): SlotsActivities['overOf'] {
  return async (workflowIds) => {
    const over = await Promise.all(workflowIds.map(async (id) => ((await isOpen(temporal, id)) ? [] : [id])));
    return over.flat();
  };
}
