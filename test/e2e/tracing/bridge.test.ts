import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { SupervisedProcess } from '../../stack/processes.ts';
import { OtlpReceiver, type ReceivedSpan } from '../../support/otlp-receiver.ts';
import { VmRig } from '../../support/vm-rig.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startBridge } from '../../support/workers.ts';

let collector: OtlpReceiver;
let rig: VmRig;
let bridge: SupervisedProcess;
before(async () => {
  collector = await OtlpReceiver.start();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
  rig = await VmRig.start({ env });
  const { address, namespace } = rig.temporal;
  bridge = await startBridge({ address, namespace, taskQueue: rig.taskQueue, configPath: rig.configPath, env });
});
after(async () => {
  await bridge.stop();
  await rig.stop();
  collector.stop();
});

function ancestry(span: ReceivedSpan): readonly ReceivedSpan[] {
  const { parentSpanId = '' } = span;
  const parent = collector.spans.find(({ spanId }) => spanId === parentSpanId);
  return parent === undefined ? [span] : [span, ...ancestry(parent)];
}

test('a trace of an operation that was made with kubectl begins with the bridge and leads to the API server', async () => {
  const scenario = await rig.scenario();
  await scenario.vm('a', { runPolicy: 'Manual' });
  const start = await scenario.op('Start', 'a', { unseen: true });
  assert.equal(await start.ends(), 'Completed/OperationCompleted');

  // The operation runs in a workflow of its own, which the coordinator of its VM has started.
  const ofSignal = (): ReceivedSpan | undefined =>
    collector.spans.find(
      (span) => span.kind === 3 && ancestry(span).some(({ name }) => name === 'RunActivity:sendSignal'),
    );
  const call = await waitFor('the request', ofSignal);
  const path = await waitFor('its trace', () => {
    const found = ancestry(call);
    return (found.at(-1)?.parentSpanId ?? '') === '' ? found : undefined;
  });
  assert.deepEqual([path[0]?.service, path.at(-1)?.service], ['vmflow-control', 'vmflow-bridge']);
  assert.equal(new Set(path.map(({ traceId }) => traceId)).size, 1);
  const { attributes } = call;
  assert.deepEqual([attributes['http.request.method'], attributes['server.address']], [call.name, '127.0.0.1']);
  assert.match(String(attributes['url.path']), /^\/apis\/[^?]*$/);
});

test('what the bridge watches makes no traces, and no credential is in any', () => {
  const ofBridge = collector.spans.filter(({ service }) => service === 'vmflow-bridge');
  assert.deepEqual(
    ofBridge.filter(({ attributes }) => 'http.request.method' in attributes),
    [],
  );
  for (const token of Object.values(rig.kubernetes.tokens))
    assert.ok(collector.bodies.every((body) => !body.includes(token)));
});
