import { fileURLToPath } from 'node:url';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

/** The peer of our worker: same SDK, same options, nothing of ours. Configured by the environment like ours. */
Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
const worker = await Worker.create({
  connection,
  namespace: process.env['TEMPORAL_NAMESPACE'] ?? '',
  taskQueue: process.env['VMFLOW_TASK_QUEUE'] ?? '',
  workflowsPath: fileURLToPath(new URL('./bare-workflow.ts', import.meta.url)),
  activities: { answer: (question: object) => Promise.resolve(question) },
});
const running = worker.run();
console.log('worker started');
await running;
await connection.close();
