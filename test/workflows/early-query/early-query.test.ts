import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, type WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { isAskAgain } from '../../../workflows/contracts/ask-again.ts';
import { connectTemporal, type TemporalUnderTest } from '../../support/shared-temporal.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { byTheClock } from './workflow.ts';

let temporal: TemporalUnderTest;
const workers: ChildProcess[] = [];
before(async () => {
  temporal = await connectTemporal();
});
after(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await temporal.stop();
});

async function startWorker(taskQueue: string): Promise<ChildProcess> {
  const path = fileURLToPath(new URL('./worker.ts', import.meta.url));
  const worker = spawn(process.execPath, [path, temporal.address, temporal.namespace, taskQueue], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  workers.push(worker);
  await once(worker.stdout, 'data');
  return worker;
}

/** A workflow that waits for its timer, whose worker was killed. */
async function orphaned(client = temporal.client): Promise<{
  readonly handle: WorkflowHandle<typeof byTheClock>;
  readonly taskQueue: string;
}> {
  const taskQueue = `early-${randomUUID()}`;
  const first = await startWorker(taskQueue);
  const handle = await client.workflow.start<typeof byTheClock>('byTheClock', { taskQueue, workflowId: taskQueue });
  await waitFor('its timer', async () => (await handle.describe()).historyLength >= 5);
  first.kill('SIGKILL');
  return { handle, taskQueue };
}

test('a query to a worker that has just taken over changes nothing: what it then does is what a replay gives', async () => {
  const { handle, taskQueue } = await orphaned();
  // Asked now, the query waits for the dead worker while the timer fires, and goes to the next one before the task does.
  const asked = handle.query<string>('state');
  await startWorker(taskQueue);
  assert.equal(await asked, 'told');
  assert.equal(await handle.result(), 'in time');
  await Worker.runReplayHistory(
    { workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)) },
    await handle.fetchHistory(),
    handle.workflowId,
  );
});

test('a client that does not ask again hears why', async () => {
  const plain = new Client({ connection: temporal.client.connection, namespace: temporal.namespace });
  const { handle, taskQueue } = await orphaned(plain);
  const asked = handle.query<string>('state');
  const refused = assert.rejects(asked, /ask again/);
  await startWorker(taskQueue);
  await refused;
  assert.equal(await handle.result(), 'in time');
});

test('a workflow that was terminated before it could do what it was told has no answer', async () => {
  const { handle, taskQueue } = await orphaned();
  await waitFor('the timer to fire', async () => (await handle.describe()).historyLength >= 7);
  await handle.terminate();
  await startWorker(taskQueue);
  await assert.rejects(handle.query<string>('state'), (error) => isAskAgain(error));
});
