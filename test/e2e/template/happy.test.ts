import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertGap } from '../../support/guarantees.ts';
import { historySize } from '../../support/history-size.ts';
import { Rig } from '../../support/rig.ts';

let rig: Rig;
before(async () => {
  rig = await Rig.start();
});
after(() => rig.stop());

test('template/1 happy path: the new version is swapped in and nothing else is left', async (t) => {
  const scenario = await rig.scenario();
  const old = await scenario.template(scenario.names.prod, '416.94.1');
  const tag = await rig.vcsim.control.ensureTag('os', 'rhcos');
  const poller = await scenario.poller();
  const swap = await scenario.start({ ova: await scenario.ova(), options: { tags: ['os/rhcos'] } });
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.previous?.moRef, old);
  const [left, ...others] = await scenario.inventory();
  assert.deepEqual(others, []);
  assert.equal(left?.name, scenario.names.prod);
  assert.equal(left.template, true);
  assert.equal(left.version, '417.94.2');
  assert.notEqual(left.ref, old);
  assert.deepEqual(await rig.vcsim.control.attachedTags(left.ref), [tag]);
  assertGap(t, poller);
  assert.deepEqual(poller.owners(), [old, left.ref]);
  const { events, largestPayload } = await historySize(swap.handle);
  assert.ok(events <= 100, `a plain swap is short: ${events} events`);
  assert.ok(largestPayload <= 16_384, `and says little: ${largestPayload} bytes at once`);
});
