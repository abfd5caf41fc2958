import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ImportHeartbeat } from '../../../workflows/contracts/template.ts';
import type { Hold } from '../../sim/hold.ts';
import type { RecordedRequest } from '../../sim/request-log.ts';
import { assertClean, assertGap, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import { Rig, type Scenario, type Swap } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const old = '416.94.1';
const wanted = '417.94.2';

let rig: Rig;
before(async () => {
  rig = await Rig.start();
});
after(() => rig.stop());

const on =
  (ref: string) =>
  ({ object }: RecordedRequest): boolean =>
    object?.value === ref;

async function lastHeartbeat(swap: Swap): Promise<ImportHeartbeat | undefined> {
  const { pendingActivities } = (await swap.handle.describe()).raw;
  const data = pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0]?.data;
  return data == null ? undefined : (JSON.parse(Buffer.from(data).toString()) as ImportHeartbeat);
}

/** Holds the first look of an import at its result, when the lease is complete. */
async function holdAfterImport(scenario: Scenario): Promise<Hold> {
  const folder = await rig.vcsim.control.find(scenario.folder);
  const isComplete = ({ session }: RecordedRequest): boolean =>
    rig.proxy.requests().some((call) => call.method === 'HttpNfcLeaseComplete' && call.session === session);
  return rig.proxy.hold({
    method: 'FindChild',
    match: (request: RecordedRequest) => request.body.includes(`>${folder?.ref}<`) && isComplete(request),
  });
}

test('the machine of all workers dies in four steps at once: every swap goes on from where it was', async (t) => {
  const restoring = await rig.scenario();
  const destroying = await rig.scenario();
  const finishing = await rig.scenario();
  const importing = await rig.scenario();
  const { prod, rollback } = restoring.names;
  const ova = await restoring.ova(wanted);
  const toRestore = await restoring.template(rollback, old);
  const current = await destroying.template(prod, wanted);
  const toDestroy = await destroying.template(rollback, old, destroying.marker(old, '', 'ready'));
  for (const scenario of [finishing, importing]) await scenario.template(prod, old);
  const poller = await restoring.poller();

  const restore = rig.proxy.hold({ method: 'Rename_Task', match: on(toRestore) });
  const destroy = rig.proxy.hold({ method: 'Destroy_Task', match: on(toDestroy) }, 'answer');
  const imported = await holdAfterImport(importing);
  const finish = rig.proxy.hold('MarkAsTemplate');
  const holds = [restore, destroy, imported, finish];
  const swaps = await Promise.all(
    [restoring, destroying, finishing, importing].map((scenario) => scenario.start({ ova })),
  );
  const held = await Promise.all(holds.map(({ arrived }) => arrived));
  await waitFor('the heartbeat of the whole import', async () => {
    const last = swaps[3] === undefined ? undefined : await lastHeartbeat(swaps[3]);
    return last?.phase === 'completed';
  });
  await Promise.all([rig.killWorker('control'), rig.killWorker('transfer')]);
  await waitFor('the end of their connections', () => held.every(({ end }) => end));
  for (const hold of holds) hold.release();
  await Promise.all([rig.startWorker('control'), rig.startWorker('transfer')]);
  const results = await Promise.all(swaps.map((swap) => swap.result()));
  await poller.stop();

  assert.deepEqual(
    results.map(({ outcome, rollbackDestroyed }) => ({ outcome, rollbackDestroyed })),
    ['restored-then-swapped', 'noop', 'swapped', 'swapped'].map((outcome) => ({ outcome, rollbackDestroyed: true })),
  );
  for (const scenario of [restoring, finishing, importing]) await assertClean(scenario);
  assert.equal(await assertClean(destroying), current);
  assert.equal(rig.proxy.mutating().filter(on(toDestroy)).length, 1);
  // Three imports for three new templates: the complete one was taken as it was.
  const imports = rig.proxy.mutating().filter(({ method }) => method === 'ImportVApp');
  assert.equal(imports.length, 3);
  assertGap(t, poller);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
});
