import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { codecOf } from '../../activities/codec/codec.ts';
import { failureConverterPath, workflowBundlePath } from '../../workers/bundle.ts';

/** `npm run replay -- [--namespace NS] [--query Q]`: replays live histories against this build before it goes out. */
const { values } = parseArgs({
  options: { namespace: { type: 'string' }, query: { type: 'string', default: "ExecutionStatus = 'Running'" } },
});
Runtime.install({ logger: new DefaultLogger('ERROR') });
const { connectionOptions, namespace: configured } = loadClientConnectConfig();
const namespace = values.namespace ?? configured ?? 'vmflow';
const codec = await codecOf(process.env);
const connection = await Connection.connect(connectionOptions);
// Lists have memos, which are payloads too.
const coded = codec === undefined ? {} : { dataConverter: { payloadCodecs: [codec], failureConverterPath } };
const client = new Client({ connection, namespace, ...coded });
const histories = client.workflow.list({ query: values.query }).intoHistories({ concurrency: 5 });
let failed = 0;
let replayed = 0;
for await (const { workflowId, error } of Worker.runReplayHistories(
  {
    workflowBundle: { codePath: await workflowBundlePath(codec === undefined ? 'plain' : 'encoded') },
    ...coded,
  },
  histories,
)) {
  replayed++;
  if (error === undefined) continue;
  failed++;
  console.log(`${workflowId}: ${error.message}`);
}
console.log(`${replayed - failed} of ${replayed} histories of namespace ${namespace} replay on this build`);
await connection.close();
process.exit(failed === 0 ? 0 : 1);
