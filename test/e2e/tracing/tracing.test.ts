import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { workflowBundlePath } from '../../../workers/bundle.ts';
import { OtlpReceiver, type ReceivedSpan } from '../../support/otlp-receiver.ts';
import { password, Rig } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startWorker } from '../../support/workers.ts';
import { vmflow } from '../cli/run-process.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

let collector: OtlpReceiver;
let rig: Rig;
before(async () => {
  collector = await OtlpReceiver.start();
  rig = await Rig.start({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' },
  });
});
after(async () => {
  await rig.stop();
  collector.stop();
});

function temporal(): Record<string, string> {
  return {
    TEMPORAL_ADDRESS: rig.temporal.address,
    TEMPORAL_NAMESPACE: rig.temporal.namespace,
    VMFLOW_TASK_QUEUE: rig.taskQueue,
    VMFLOW_ACK_TIMEOUT: '60s',
  };
}

/** From the span up to the first one of its trace. */
function ancestry(span: ReceivedSpan): readonly ReceivedSpan[] {
  const { parentSpanId = '' } = span;
  if (parentSpanId === '') return [span];
  const parent = collector.spans.find(({ spanId }) => spanId === parentSpanId);
  return parent === undefined ? [span] : [span, ...ancestry(parent)];
}

test('one trace leads from the command line to every call of vCenter, and holds no secret', async () => {
  const scenario = await rig.scenario();
  const ova = await scenario.ova();
  const { exit, stderr } = await vmflow(
    { ...temporal(), OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces` },
    ...['template', 'update', 'traced', '--create', '--wait', '--ova', ova.path, '--sha256', ova.sha256],
    ...['--version', '417.94.2', '--vcenter', 'main', '--datacenter', 'DC0', '--cluster', 'DC0_C0'],
    ...['--datastore', 'LocalDS_0', '--network', 'VM Network', '--folder', scenario.folder],
  );
  assert.equal(exit, 0, stderr);

  const root = await waitFor('the first span', () =>
    Promise.resolve(collector.spans.find(({ name }) => name === 'vmflow template update')),
  );
  assert.deepEqual([root.service, root.attributes['process.exit.code']], ['vmflow-cli', 0]);
  const ofTrace = (): readonly ReceivedSpan[] => collector.spans.filter(({ traceId }) => traceId === root.traceId);
  const named = (name: string): Promise<ReceivedSpan> =>
    waitFor(`a span ${name}`, () => Promise.resolve(ofTrace().find((span) => span.name === name)));

  // The import runs in the transfer worker, the rename in the control worker.
  for (const [method, activity, service] of [
    ['ImportVApp', 'importToTemp', 'vmflow-transfer'],
    ['Rename_Task', 'promote', 'vmflow-control'],
  ] as const) {
    const call = await named(`vim25/${method}`);
    await named(`RunActivity:${activity}`);
    const path = ancestry(call);
    assert.deepEqual(
      path.map(({ name }) => name),
      [`vim25/${method}`, `RunActivity:${activity}`, 'UpdateWithStartWorkflow:ensure', 'vmflow template update'],
    );
    assert.deepEqual([path[0]?.service, path[0]?.kind], [service, 3]);
    const { port, hostname } = new URL(rig.proxy.url);
    assert.deepEqual(call.attributes, {
      'server.address': hostname,
      'server.port': Number(port),
      'rpc.system': 'soap',
      'rpc.service': 'vim25',
      'rpc.method': method,
      'http.response.status_code': 200,
    });
  }

  const everything = collector.bodies.join('\n');
  for (const secret of [password, 'vmware_soap_session', 'vmware-api-session-id', '/nfc/'])
    assert.ok(!everything.includes(secret), secret);
});

test('a command that fails says so in its span, by the reason alone', async () => {
  const { exit } = await vmflow(
    { ...temporal(), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'ops-desk' },
    ...['template', 'get', 'there-is-none'],
  );
  assert.equal(exit, 3);
  const span = await waitFor('its span', () =>
    Promise.resolve(collector.spans.find(({ name }) => name === 'vmflow template get')),
  );
  assert.deepEqual([span.service, span.status.code, span.attributes['process.exit.code']], ['ops-desk', 2, 3]);
});

test('a workflow that was handed a trace replays', async () => {
  const { executions } = await rig.client.workflowService.listWorkflowExecutions({
    namespace: rig.temporal.namespace,
    query: `TaskQueue = '${rig.taskQueue}' AND WorkflowType = 'templateSwap'`,
  });
  const workflowId = executions[0]?.execution?.workflowId ?? '';
  const history = await rig.client.workflow.getHandle(workflowId).fetchHistory();
  const scheduled = history.events?.map(({ activityTaskScheduledEventAttributes: of }) => of).find((of) => of != null);
  assert.ok(scheduled?.header?.fields?.['_tracer-data'], 'the trace is in its history');
  await Worker.runReplayHistory({ workflowBundle: { codePath: await workflowBundlePath() } }, history, workflowId);
});

describe('a collector that is away or never answers', () => {
  const deaf = createServer();
  const endpoints = { away: 'http://127.0.0.1:1', silent: '' };
  before(async () => {
    deaf.listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    endpoints.silent = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}`;
  });
  after(() => {
    deaf.close();
  });

  for (const which of ['away', 'silent'] as const) {
    test(`${which}: the command line answers as without it, and ends`, async () => {
      // Of nobody: others use this Temporal too.
      const argv = ['template', 'list', '--folder', '/DC0/vm/nowhere', '-o', 'json'];
      const plain = await vmflow(temporal(), ...argv);
      const traced = await vmflow({ ...temporal(), OTEL_EXPORTER_OTLP_ENDPOINT: endpoints[which] }, ...argv);
      assert.deepEqual([traced.exit, traced.stdout, traced.stderr], [plain.exit, plain.stdout, plain.stderr]);
    });

    test(`${which}: a worker works, says once what is lost, and ends in order`, async () => {
      const logFile = join(rig.dir, `${which}.log`);
      const taskQueue = `${rig.taskQueue}-${which}`;
      const worker = await startWorker('control', {
        ...{ address: rig.temporal.address, namespace: rig.temporal.namespace, configPath: rig.configPath },
        ...{ taskQueue, logFile },
        env: {
          VC_PASSWORD: password,
          OTEL_EXPORTER_OTLP_ENDPOINT: endpoints[which],
          OTEL_EXPORTER_OTLP_TIMEOUT: '300',
          OTEL_BSP_SCHEDULE_DELAY: '50',
        },
      });
      for (let asked = 0; asked < 3; asked += 1)
        assert.equal((await vmflow({ ...temporal(), VMFLOW_TASK_QUEUE: taskQueue }, 'endpoint', 'list')).exit, 0);
      const told = async (): Promise<number> =>
        (await readFile(logFile, 'utf8')).split('\n').filter((line) => line.includes('Traces can not be sent')).length;
      await waitFor('the word about it', told);
      await worker.stop(20_000);
      assert.deepEqual(await worker.exited, { code: 0, signal: null });
      assert.equal(await told(), 1);
    });
  }
});
