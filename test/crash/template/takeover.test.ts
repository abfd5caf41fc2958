import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ImportHeartbeat } from '../../../workflows/contracts/template.ts';
import type { RecordedRequest } from '../../sim/request-log.ts';
import { startTcpProxy, type TcpProxy } from '../../sim/tcp-proxy.ts';
import { assertClean, assertGap, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import { bigDisk, type BuiltOva } from '../../support/ova-builder.ts';
import { Rig, type Swap } from '../../support/rig.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

const mebi = 1024 * 1024;
/** Heartbeat time-out of an import and the pause before its next attempt. */
const takeoverMs = 20_000 + 5_000;

let rig: Rig;
let ova: BuiltOva;
/** Between the first transfer worker and Temporal. */
let route: TcpProxy;
before(async () => {
  rig = await Rig.start({ noWorkers: true });
  const [host, port] = rig.temporal.address.split(':');
  route = await startTcpProxy({ host: host ?? '127.0.0.1', port: Number(port) });
  await rig.startWorker('control');
  ova = await (await rig.scenario()).ova('417.94.2', { disks: [bigDisk(24 * mebi)] });
});
after(async () => {
  await rig.stop();
  await route.stop();
});

const called = (method: string): RecordedRequest[] => rig.proxy.requests().filter((call) => call.method === method);
const uploading = (): Promise<unknown> =>
  waitFor('4 MiB of the upload', () =>
    rig.proxy.requests().some(({ kind, bytes }) => kind === 'nfc' && bytes >= 4 * mebi),
  );

async function heartbeat(swap: Swap): Promise<ImportHeartbeat | undefined> {
  const { raw } = await swap.handle.describe();
  const data = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0]?.data;
  return data == null ? undefined : (JSON.parse(Buffer.from(data).toString()) as ImportHeartbeat);
}

test('template/43 a worker cut off from Temporal stops before another takes over, and completes nothing', async (t) => {
  const scenario = await rig.scenario();
  const old = await scenario.template(scenario.names.prod, '416.94.1');
  const zombie = await rig.startWorker('transfer', { address: route.address });
  t.after(() => zombie.stop());
  const poller = await scenario.poller();
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 4 * mebi, until });
  const swap = await scenario.start({ ova });
  await uploading();
  await route.cut();
  const cutAt = performance.now();
  await rig.startWorker('transfer');

  // The worst moment: its upload could go on just when the other one has begun to import.
  await waitFor('the second import', () => called('ImportVApp').length === 2, { timeoutMs: takeoverMs + patienceMs });
  release();
  const result = await swap.result();
  t.diagnostic(`taken over after ${Math.round((called('ImportVApp')[1]?.startedMs ?? 0) - cutAt)} ms`);
  const [first, second] = called('ImportVApp');
  await waitFor('the end of the first session', () =>
    called('Logout').some(({ session }) => session === first?.session),
  );
  await route.heal();
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.uploadAttempts, 2);
  assert.equal(result.previous?.moRef, old);
  assert.notEqual(second?.session, first?.session);
  const changes = rig.proxy.mutating().filter(({ kind }) => kind === 'soap');
  const ofZombie = changes.filter(({ session }) => session === first?.session).map(({ method }) => method);
  assert.equal(ofZombie[0], 'ImportVApp');
  assert.deepEqual(
    ofZombie.slice(1).filter((method) => !['HttpNfcLeaseAbort', 'Destroy_Task'].includes(method)),
    [],
  );
  assert.ok(ofZombie.includes('HttpNfcLeaseAbort'));
  assert.equal(called('HttpNfcLeaseComplete').length, 1);
  assert.equal(called('Rename_Task').length, 2);
  const destroyed = called('Destroy_Task').map(({ object }) => object?.value);
  assert.ok(!destroyed.includes(result.prod?.moRef));
  assert.equal(await assertClean(scenario), result.prod?.moRef);
  assertGap(t, poller);
  assertOnlyGood(poller, '416.94.1', '417.94.2');
  assertNeverLost(poller);
});

test('case/50 the worker killed in the upload: the next one waits out the lease, removes the VM and imports anew', async (t) => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  if (!rig.workers.has('transfer')) await rig.startWorker('transfer');
  const poller = await scenario.poller();
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 4 * mebi });
  const swap = await scenario.start({ ova });
  await uploading();
  const leftOver = (await scenario.vms()).find(({ name }) => name === scenario.names.temp);
  await waitFor('its heartbeat', async () => (await heartbeat(swap))?.entityRef === leftOver?.ref);
  await rig.killWorker('transfer');
  // A lease that nobody feeds keeps its VM until it times out; then the server removes it. The simulator does neither.
  const held = rig.proxy.addRule({ method: 'Destroy_Task', action: 'fault', fault: 'InvalidState', times: 2 });
  await rig.startWorker('transfer');
  await waitFor('the wait for the lease', async () => (await heartbeat(swap))?.phase === 'waiting-for-lease', {
    timeoutMs: takeoverMs + patienceMs,
  });
  const result = await swap.result();
  await poller.stop();

  assert.equal(held.fired(), 2);
  assert.equal(result.outcome, 'swapped');
  assert.equal(result.uploadAttempts, 2);
  const [first, ...more] = called('Destroy_Task').map(({ object }) => object?.value);
  assert.equal(first, leftOver?.ref);
  assert.deepEqual(more.slice(0, 2), [leftOver?.ref, leftOver?.ref]);
  assert.equal(await rig.vcsim.control.abortLeases(), 1); // of the killed worker's session
  await assertClean(scenario);
  assertGap(t, poller);
  assertOnlyGood(poller, '416.94.1', '417.94.2');
});
