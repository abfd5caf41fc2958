import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { vmCoordinatorId } from '../../../workflows/contracts/ids.ts';
import { VmRig } from '../../support/vm-rig.ts';
import { textOf } from '../../support/text-of.ts';

let rig: VmRig;
before(async () => {
  rig = await VmRig.start({ noWorkers: true, env: { VMFLOW_LOG_LEVEL: 'trace' } });
});
after(async () => await rig.stop());

test('the token of the cluster is nowhere people can look: histories, queries, objects, logs, arguments', async () => {
  const log = join(rig.dir, 'control.log');
  const worker = await rig.startWorker({}, { logFile: log });
  const scenario = await rig.scenario();
  await scenario.vm('a', { runPolicy: 'Manual' });
  const start = await scenario.op('Start', 'a');
  assert.equal(await start.ends(), 'Completed/OperationCompleted');
  const token = rig.kubernetes.tokens.vmflow;
  const refusal = rig.proxy.refuse(
    { method: `delete ${resources.instance.plural}`, match: ({ path }) => path.includes(scenario.namespace) },
    401,
    `Unauthorized: Bearer ${token}`,
  );
  const stop = await scenario.op('Stop', 'a');
  assert.equal(await stop.ends(), 'Failed/OperationFailed');
  refusal.remove();
  await rig.proxy.down();
  const move = await scenario.op('Migrate', 'a', { unseen: true });
  const submitted = move.submit();
  await rig.proxy.up();
  await submitted;
  assert.equal(await move.ends(), 'Completed/Completed');

  const coordinator = rig.client.workflow.getHandle(vmCoordinatorId(scenario.namespace, 'a'));
  const handles = [start.handle, stop.handle, move.handle, coordinator];
  const seen = async (handle: (typeof handles)[number]): Promise<string> =>
    [
      await handle.fetchHistory(),
      (await handle.describe()).raw,
      await handle.query('status'),
      await handle.query('__temporal_workflow_metadata'),
    ]
      .map(textOf)
      .join('\n');
  const argv = await readFile(`/proc/${worker.pid}/cmdline`, 'utf8');
  const texts = await Promise.all(handles.map(seen));
  await rig.killWorkers();
  const objects = [...(await scenario.operations()), await scenario.events(stop.name)].map((each) =>
    JSON.stringify(each),
  );
  const places = {
    'histories, queries and describe': texts.join('\n'),
    objects: objects.join('\n'),
    log: await readFile(log, 'utf8'),
    arguments: argv,
  };
  // What is searched does hold what it should.
  assert.match(places['histories, queries and describe'], /delete InternalVirtualizationVirtualMachineInstance/);
  assert.match(places.objects, /SignalSentError/);
  assert.match(places.log, /worker started/);
  assert.match(places.arguments, /control\.ts/);
  for (const [place, text] of Object.entries(places)) assert.ok(!text.includes(token), `the token is in ${place}`);
});
