import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';

const [address = '', namespace = '', taskQueue = ''] = process.argv.slice(2);
const worker = await Worker.create({
  ...{ namespace, taskQueue },
  connection: await NativeConnection.connect({ address }),
  workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)),
  interceptors: { workflowModules: [fileURLToPath(new URL('../../../workflows/early-query.ts', import.meta.url))] },
  activities: { record: () => Promise.resolve() },
  stickyQueueScheduleToStartTimeout: '4 seconds',
});
process.stdout.write('ready\n');
await worker.run();
