import { Context } from '@temporalio/activity';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { BatchActivities } from '../../workflows/contracts/batch-activities.ts';
import { sourceGone, type ByWhom, type MigrationView } from '../../workflows/contracts/batch.ts';
import { migrationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { ifFound } from '../open-workflow.ts';
import type { BatchDeps } from './deps.ts';
import { forEach } from './entries.ts';

/** Ends entries: cancelled, with or without what they made, then forgotten. One that can't be yet is waited for. */
export function createEndEntries({ temporal }: BatchDeps): BatchActivities['endEntries'] {
  return async ({ batch, uuids, by, cleanup }) => {
    const warnings: string[] = [];
    const { cancellationSignal } = Context.current();
    const end = async (uuid: string): Promise<void> => {
      const handle = temporal.workflow.getHandle(migrationId(uuid));
      const order = async (name: string, what: object): Promise<void> => {
        await handle.executeUpdate<string, [object]>(name, { args: [what] });
      };
      for (;;) {
        cancellationSignal.throwIfAborted();
        const view = await handle.query<MigrationView>(messages.status);
        if (view.batch !== batch) return;
        const deletes = cleanup === 'all' || (cleanup === 'unless-configured' && !view.configured);
        if (view.status !== 'Finished' && view.status !== 'Canceled')
          await order(messages.cancel, { ...by, cleanup: deletes });
        else if (await isTaken(() => forget(order, view, deletes, by))) {
          if (view.message.includes(sourceGone)) warnings.push(`${view.vm}: ${view.message}`);
          return;
        } else await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    };
    await forEach(uuids, (uuid) => ifFound(end(uuid)));
    return { warnings };
  };
}

/** An entry that was cancelled before may have left something. */
async function forget(
  order: (name: string, what: object) => Promise<void>,
  { status }: MigrationView,
  deletes: boolean,
  by: ByWhom,
): Promise<void> {
  if (status === 'Canceled' && deletes) await order(messages.cleanup, by);
  await order(messages.delete, by);
}

/** Refused while something of it is being cleaned up. */
async function isTaken(forget: () => Promise<void>): Promise<boolean> {
  try {
    await forget();
    return true;
  } catch (err) {
    if (err instanceof WorkflowUpdateFailedError) return false;
    throw err;
  }
}
