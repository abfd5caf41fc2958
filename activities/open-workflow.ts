import { WorkflowNotFoundError, type Client } from '@temporalio/client';

/** Whether a workflow with this id is open. Fails when Temporal doesn't answer: not knowing is no "no". */
export async function isOpen(temporal: Client, workflowId: string): Promise<boolean> {
  try {
    return (await temporal.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';
  } catch (err) {
    if (err instanceof WorkflowNotFoundError) return false;
    throw err;
  }
}
