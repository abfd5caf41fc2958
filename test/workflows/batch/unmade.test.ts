import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { WithStartWorkflowOperation, type Workflow } from '@temporalio/client';
import { batchId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { Stage } from './stage.ts';
import { minute } from './times.ts';

let stage: Stage;
before(async () => void (stage = await Stage.open()));
after(() => stage.close());

test('an apply that is refused before it is looked at leaves no batch behind', async () => {
  const name = `unmade-${process.pid}`;
  const { client } = stage.server;
  const apply = client.workflow.executeUpdateWithStart<Workflow, unknown, [object]>(messages.apply, {
    args: [{ spec: {} }],
    startWorkflowOperation: new WithStartWorkflowOperation<Workflow>('batch', {
      taskQueue: stage.taskQueue,
      workflowId: batchId(name),
      args: [{ name }],
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  });
  await assert.rejects(apply);
  const statusOf = async (): Promise<string> => (await client.workflow.getHandle(batchId(name)).describe()).status.name;
  assert.equal(await statusOf(), 'RUNNING', 'its run was started all the same');
  await stage.advance(6 * minute);
  await stage.until('its end', async () => (await statusOf()) === 'COMPLETED');
});
