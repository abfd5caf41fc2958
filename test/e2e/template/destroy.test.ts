import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertClean, assertGap, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import { Rig } from '../../support/rig.ts';

const old = '416.94.1';
const wanted = '417.94.2';

let rig: Rig;
before(async () => {
  rig = await Rig.start();
});
after(() => rig.stop());

test('template/20 the previous template is in use: the new one is in place all the same, the old one goes later', async (t) => {
  const scenario = await rig.scenario();
  const { prod, rollback } = scenario.names;
  const previous = await scenario.template(prod, old);
  const poller = await scenario.poller();
  await rig.vcsim.control.addFault({
    method: 'Destroy_Task',
    objectName: rollback,
    fault: 'ResourceInUse',
    count: 3,
  });
  const swap = await scenario.start({ ova: await scenario.ova(wanted) });
  const status = await swap.reaches('DestroyingRollback');
  const { prod: now } = status.observed ?? {};
  assert.equal(now?.version, wanted);
  assert.equal(status.steps.find(({ id }) => id === 'verify')?.state, 'done');
  assert.equal(status.prodAbsentSince, undefined);
  const result = await swap.result(); // the pauses of three retries: 5, 10 and 20 seconds
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.rollbackDestroyed, true);
  const destroys = rig.proxy.requests().filter(({ method }) => method === 'Destroy_Task');
  assert.deepEqual(
    destroys.map(({ object }) => object?.value),
    Array.from({ length: 4 }, () => previous),
  );
  const ref = await assertClean(scenario);
  assert.equal(ref, now.ref.value);
  assert.deepEqual(poller.owners(), [previous, ref]);
  assertGap(t, poller);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
});
