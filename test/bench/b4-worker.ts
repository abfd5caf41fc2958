import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createBatchSpecs } from '../../activities/batch/batch-specs.ts';
import { createBatchActivities } from '../../activities/batch/index.ts';
import { workflowBundlePath } from '../../workers/bundle.ts';
import { stickyTimeout } from '../../workers/process.ts';
import { transferQueueOf } from '../../workflows/contracts/task-queues.ts';
import { noOpTransfers, noOpWorld } from './b4-world.ts';

/** Our workflows and activities over far sides that do nothing. Configured by the environment like ours. */
Runtime.install({ logger: new DefaultLogger('ERROR') });
const address = process.env['TEMPORAL_ADDRESS'] ?? '';
const namespace = process.env['TEMPORAL_NAMESPACE'] ?? '';
const taskQueue = process.env['VMFLOW_TASK_QUEUE'] ?? '';
const connection = await NativeConnection.connect({ address });
const client = new Client({ connection, namespace });
const world = noOpWorld(Number(process.env['BENCH_VMS']), client, createBatchSpecs(client));
const control = await Worker.create({
  connection,
  namespace,
  taskQueue,
  workflowBundle: { codePath: await workflowBundlePath() },
  activities: createBatchActivities(world),
  stickyQueueScheduleToStartTimeout: stickyTimeout,
});
const transfer = await Worker.create({
  connection,
  namespace,
  taskQueue: transferQueueOf(taskQueue),
  activities: noOpTransfers,
});
const running = Promise.all([control.run(), transfer.run()]);
console.log('worker started');
await running;
await connection.close();
