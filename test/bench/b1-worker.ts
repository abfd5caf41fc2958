import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { workflowBundlePath } from '../../workers/bundle.ts';
import { waitQueueOf } from '../../workflows/contracts/task-queues.ts';
import type { VmopActivities, VmopWaits } from '../../workflows/contracts/activities.ts';

/** One worker with activities that do nothing: ours with our workflows, its peer with the bare SDK. Configured by the environment like ours. */
Runtime.install({ logger: new DefaultLogger('ERROR') });
const [whose = 'ours'] = process.argv.slice(2);
const taskQueue = process.env['VMFLOW_TASK_QUEUE'] ?? '';
const connection = await NativeConnection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
const common = { connection, namespace: process.env['TEMPORAL_NAMESPACE'] ?? '' };

const pins = { vmUid: 'vm-uid', instanceUid: 'instance-uid' };
const done = { ok: true, reason: 'OperationCompleted', message: '' };
const control = {
  pin: () => Promise.resolve(pins),
  sendSignal: () => Promise.resolve(pins),
  finishVmop: () => Promise.resolve({}),
} satisfies Partial<VmopActivities>;
const waits: Partial<VmopWaits> = { awaitOutcome: () => Promise.resolve(done) };

const bare = { answer: (question: object) => Promise.resolve(question) };
const workflowBundle =
  whose === 'ours'
    ? { codePath: await workflowBundlePath() }
    : await bundleWorkflowCode({
        workflowsPath: fileURLToPath(new URL('./bare-workflows.ts', import.meta.url)),
        logger: new DefaultLogger('ERROR'),
      });
const worker = await Worker.create({
  ...common,
  taskQueue,
  workflowBundle,
  activities: whose === 'ours' ? control : bare,
});
const waiter = await Worker.create({
  ...common,
  taskQueue: waitQueueOf(taskQueue),
  activities: whose === 'ours' ? waits : bare,
});
const running = Promise.all([worker.run(), waiter.run()]);
console.log('worker started');
await running;
await connection.close();
