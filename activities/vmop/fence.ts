import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { vmOperationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { TakeDown, VmopRef } from '../../workflows/contracts/vmop.ts';

/**
 * Ends the workflow of an operation and waits until it is closed: from then on nothing more comes from it. One that isn't
 * running, or was ended by hand, counts as closed. Ends early with the signal's reason.
 */
export async function endWorkflow(
  temporal: Client,
  op: Pick<VmopRef, 'namespace' | 'uid'>,
  order: TakeDown,
  signal: AbortSignal,
): Promise<void> {
  const handle = temporal.workflow.getHandle(vmOperationId(op.namespace, op.uid));
  await temporal.withAbortSignal(signal, async () => {
    try {
      await handle.signal<[TakeDown]>(messages.takeDown, order);
    } catch (err) {
      if (err instanceof WorkflowNotFoundError) return;
      throw err;
    }
    await handle.result().catch((err: unknown) => {
      // However it ended, it is over; anything else (no connection) is for the next attempt.
      if (!isClosed(err)) throw err;
    });
  });
}

function isClosed(err: unknown): boolean {
  return (
    err instanceof Error &&
    ['WorkflowFailedError', 'WorkflowNotFoundError', 'WorkflowContinuedAsNewError'].includes(err.name)
  );
}
