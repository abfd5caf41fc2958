import type { Client } from '@temporalio/client';
import { searchKeys, type OperationKind } from '../../../workflows/contracts/attributes.ts';

/** An entry that is in the queue, by what Temporal has recorded of it. */
export interface OpenEntry {
  readonly batch: string;
  readonly status: string;
}

/** All entries that are in the queue, by the instance uuid of their VM. */
export async function openEntries(temporal: Client): Promise<ReadonlyMap<string, OpenEntry>> {
  const kind: OperationKind = 'migration';
  const query = `${searchKeys.kind.name} = '${kind}' AND ExecutionStatus = 'Running'`;
  const entries = new Map<string, OpenEntry>();
  for await (const { workflowId, typedSearchAttributes } of temporal.workflow.list({ query })) {
    const text = (name: string): string => {
      const found = typedSearchAttributes.getAll().find(({ key }) => key.name === name)?.value;
      return typeof found === 'string' ? found : '';
    };
    const uuid = workflowId.split('/')[1] ?? '';
    entries.set(uuid, { batch: text(searchKeys.batch.name), status: text(searchKeys.status.name) });
  }
  return entries;
}
