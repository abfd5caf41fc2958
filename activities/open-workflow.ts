import { WorkflowNotFoundError, type Client } from '@temporalio/client';

/** What was asked of a workflow; undefined: there is no such workflow (any more). Every other failure is one. */
export async function ifFound<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (err) {
    if (err instanceof WorkflowNotFoundError) return undefined;
    throw err;
  }
}

/** Whether a workflow with this id is open. Fails when Temporal doesn't answer: not knowing is no "no". */
export async function isOpen(temporal: Client, workflowId: string): Promise<boolean> {
  return (await ifFound(temporal.workflow.getHandle(workflowId).describe()))?.status.name === 'RUNNING';
}
