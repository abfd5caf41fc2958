import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { VmRig } from '../../support/vm-rig.ts';

let rig: VmRig;
before(async () => {
  rig = await VmRig.start({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=80'] });
});
after(async () => await rig.stop());

test('a coordinator with a long life goes on in new runs: numbers grow, repeats are recognised, nothing is lost', async () => {
  const scenario = await rig.scenario();
  await scenario.vm('a', { runPolicy: 'Manual' });
  const operations = [];
  for (let round = 0; round < 8; round++) {
    for (const type of ['Start', 'Stop'] as const) {
      const operation = await scenario.op(type, 'a');
      operations.push(operation);
      assert.equal(await operation.ends(), 'Completed/OperationCompleted');
    }
  }
  const numbers = await Promise.all(operations.map(async (operation) => (await operation.read())?.seq));
  assert.deepEqual(
    numbers,
    operations.map((_, place) => place + 1),
  );
  const runs = new Set<string>();
  for await (const { workflowId, runId } of rig.client.workflow.list({ query: "WorkflowType = 'vmCoordinator'" }))
    if (workflowId === `vm/${scenario.namespace}/a`) runs.add(runId);
  assert.ok(runs.size >= 3, `${runs.size} runs`);
  const first = operations[0];
  assert.ok(first !== undefined);
  assert.deepEqual(await first.submit(), { accepted: true, seq: 1 });
  assert.equal((await first.read())?.phase, 'Completed');
});
