import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { freePort } from '../../stack/processes.ts';
import { connectTemporal } from '../../support/shared-temporal.ts';
import type { goesOn } from './workflow.ts';

test('an operation of several runs is counted once, and the length of its last run is not taken for its own', async (t) => {
  const address = `127.0.0.1:${await freePort()}`;
  Runtime.install({ telemetryOptions: { metrics: { prometheus: { bindAddress: address } } } });
  const temporal = await connectTemporal();
  t.after(() => temporal.stop());
  const connection = await NativeConnection.connect({ address: temporal.address });
  t.after(() => connection.close());
  const { namespace, client } = temporal;
  const taskQueue = `metrics-${randomUUID()}`;
  const worker = await Worker.create({
    ...{ connection, namespace, taskQueue },
    workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)),
    interceptors: {
      workflowModules: [fileURLToPath(new URL('../../../workflows/operation-metrics.ts', import.meta.url))],
    },
  });
  const text = await worker.runUntil(async () => {
    for (const runs of [1, 3]) {
      const workflowId = `${taskQueue}-${runs}`;
      await client.workflow.execute<typeof goesOn>('goesOn', { taskQueue, workflowId, args: [runs] });
    }
    return await (await fetch(`http://${address}/metrics`)).text();
  });
  assert.equal(valueOf(text, 'vmflow_operations_ended'), 2);
  assert.equal(valueOf(text, 'vmflow_operation_duration_count'), 1);
});

function valueOf(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name}{`) && one.includes('kind="goesOn"'));
  return Number(line?.split(' ').at(-1));
}
