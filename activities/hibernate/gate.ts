import { Context } from '@temporalio/activity';
import { WithStartWorkflowOperation, WorkflowNotFoundError, type Client, type Workflow } from '@temporalio/client';
import type { MigrationActivities } from '../../workflows/contracts/activities.ts';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import type { MigrationGateStatus, SlotAnswer, SlotCall } from '../../workflows/contracts/hibernate.ts';
import { migrateMainId, migrationGateId } from '../../workflows/contracts/ids.ts';
import { controlQueueOf } from '../../workflows/contracts/task-queues.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { SlotRequest } from '../../workflows/domain/hibernate/slots.ts';
import { resources } from '../kubernetes/resources.ts';
import { isOpen } from '../open-workflow.ts';
import type { HibernateDeps } from './deps.ts';
import { setFactsOf } from './facts.ts';

export function createCallGate({ temporal }: HibernateDeps): MigrationActivities['callGate'] {
  return async (call) => {
    const { taskQueue } = Context.current().info;
    return await temporal.workflow.executeUpdateWithStart<Workflow, SlotAnswer, [SlotCall]>(messages.slot, {
      args: [call],
      startWorkflowOperation: new WithStartWorkflowOperation<Workflow>('migrationGate', {
        taskQueue,
        workflowId: migrationGateId(taskQueue),
        args: [{}],
        workflowIdConflictPolicy: 'USE_EXISTING',
        staticSummary: 'Who may move a VM now',
        typedSearchAttributes: [{ key: searchKeys.kind, value: 'migration-gate' }],
      }),
    });
  };
}

/** What the gate needs to know to remember rightly, whatever it or the others have forgotten. */
export function createListMigrations({
  cluster,
  temporal,
  settings,
}: HibernateDeps): MigrationActivities['listMigrations'] {
  return async ({ holders, queue }) => {
    const sets = await cluster.list(resources.set);
    const facts = sets.map((set) => setFactsOf(set, []));
    const migrating = facts.filter(({ phase, record }) => phase === 'Migrating' || record !== undefined);
    const begun = migrating.map(({ namespace, name, record, nodeName }): SlotRequest => ({
      set: `${namespace}/${name}`,
      source: record?.from ?? '',
      target: nodeName,
      workflowId: migrateMainId(namespace, name),
    }));
    const isBegun = new Set(begun.map(({ set }) => set));
    const known = [...holders, ...queue].filter(({ set }) => !isBegun.has(set));
    const over = await Promise.all(
      known.map(async ({ set, workflowId }) => ((await isOpen(temporal, workflowId)) ? [] : [set])),
    );
    return { begun, over: over.flat(), limits: settings.gate };
  };
}

/** The gate has this set in its queue. One that doesn't answer isn't taken for one that has forgotten. */
export async function isQueued(temporal: Client, set: string): Promise<boolean> {
  const gateId = migrationGateId(controlQueueOf(Context.current().info.taskQueue));
  try {
    if (!(await isOpen(temporal, gateId))) return false;
    const { gate } = await temporal.workflow.getHandle(gateId).query<MigrationGateStatus>(messages.status);
    return gate.queue.some((request) => request.set === set);
  } catch (err) {
    return !(err instanceof WorkflowNotFoundError);
  }
}
