import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertClean, assertGap, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import { bigDisk } from '../../support/ova-builder.ts';
import { Rig } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const old = '416.94.1';
const wanted = '417.94.2';
const mebi = 1024 * 1024;

let rig: Rig;
before(async () => {
  rig = await Rig.start();
});
after(() => rig.stop());

test('template/13 killed in the upload: another worker removes the half import and does it again', async (t) => {
  const scenario = await rig.scenario();
  const { prod, temp } = scenario.names;
  const previous = await scenario.template(prod, old);
  const ova = await scenario.ova(wanted, { disks: [bigDisk(8 * mebi, 'pattern')] });
  const poller = await scenario.poller();
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 4 * mebi });
  const swap = await scenario.start({ ova });
  await waitFor('4 MiB of the upload', () =>
    rig.proxy.requests().some(({ kind, bytes }) => kind === 'nfc' && bytes >= 4 * mebi),
  );
  await rig.killWorker('transfer');
  const half = (await scenario.inventory()).find(({ name }) => name === temp)?.ref;
  assert.ok(half !== undefined, 'killed too late: nothing half imported is there');
  await rig.startWorker('transfer');
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.uploadAttempts, 2);
  assert.equal(result.previous?.moRef, previous);
  const order = rig.proxy
    .mutating()
    .filter(({ method }) => method === 'ImportVApp' || method === 'Destroy_Task')
    .map(({ method, object }) => (method === 'Destroy_Task' ? `destroy ${object?.value}` : 'import'));
  assert.deepEqual(order, ['import', `destroy ${half}`, 'import', `destroy ${previous}`]);
  // The lease of the killed worker's session: a real server ends it after some minutes, the simulator never does.
  await rig.vcsim.control.abortLeases();
  assert.deepEqual(poller.owners(), [previous, await assertClean(scenario)]);
  assertGap(t, poller);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
});
