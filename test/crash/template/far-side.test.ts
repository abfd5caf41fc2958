import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ImportHeartbeat } from '../../../workflows/contracts/template.ts';
import type { RecordedRequest } from '../../sim/request-log.ts';
import { assertClean, assertGap, assertMeasured, assertNeverLost, assertOnlyGood } from '../../support/guarantees.ts';
import { bigDisk, type BuiltOva } from '../../support/ova-builder.ts';
import type { Poller } from '../../support/poller.ts';
import { Rig, type Scenario, type Swap } from '../../support/rig.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

const old = '416.94.1';
const wanted = '417.94.2';
const mebi = 1024 * 1024;
const diskBytes = 24 * mebi;
/** Heartbeat timeout of an import: an attempt that can't reach Temporal for longer stops. */
const silenceMs = 20_000;
/** The longest pause between two attempts at a rename while the name is absent. */
const renamePauseMs = 5_000;
/** What an attempt itself may take on cores that other tests share; the measure is printed. */
const busyMs = 15_000;

let rig: Rig;
let ova: BuiltOva;
before(async () => {
  rig = await Rig.start({ ownTemporal: true });
  ova = await (await rig.scenario()).ova(wanted, { disks: [bigDisk(diskBytes)] });
});
after(() => rig.stop());

interface Running {
  readonly scenario: Scenario;
  readonly previous: string;
  readonly poller: Poller;
  readonly swap: Swap;
}

async function started(scenario: Scenario, what = ova): Promise<Running> {
  const previous = await scenario.template(scenario.names.prod, old);
  const poller = await scenario.poller();
  return { scenario, previous, poller, swap: await scenario.start({ ova: what }) };
}

/** A swap whose upload stands still after 4 MiB, until `goOn`. */
async function inUpload(scenario: Scenario): Promise<{ readonly goOn: () => void } & Running> {
  let goOn: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (goOn = resolve));
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 4 * mebi, until });
  const running = await started(scenario);
  await waitFor('4 MiB of the upload', () =>
    rig.proxy.requests().some(({ kind, bytes }) => kind === 'nfc' && bytes >= 4 * mebi),
  );
  return { ...running, goOn };
}

const called = (method: string): readonly RecordedRequest[] =>
  rig.proxy.requests().filter((call) => call.method === method);

/** Of the one activity that runs. */
async function pending(swap: Swap): Promise<{ attempt: number; last: ImportHeartbeat | undefined }> {
  const [activity] = (await swap.handle.describe()).raw.pendingActivities ?? [];
  const data = activity?.heartbeatDetails?.payloads?.[0]?.data;
  return {
    attempt: activity?.attempt ?? 0,
    last: data == null ? undefined : (JSON.parse(Buffer.from(data).toString()) as ImportHeartbeat),
  };
}

/** A vCenter that restarts: nobody reaches it, and it forgets sessions and leases. */
async function vCenterDown(): Promise<void> {
  await rig.proxy.down();
  await rig.vcsim.control.abortLeases();
  await rig.vcsim.control.terminateSessions();
}

async function attempt(swap: Swap, nth: number): Promise<void> {
  await waitFor(`attempt ${nth}`, async () => (await pending(swap)).attempt >= nth, { timeoutMs: 90_000 });
}

/** Waits until this attempt, or a later one, has told that it waits for vCenter. */
async function waitsForVCenter(swap: Swap, nth: number): Promise<void> {
  const isWaiting = async (): Promise<boolean> => {
    const { attempt: now, last } = await pending(swap);
    return now >= nth && last?.attempt === now && last.waitingFor === 'vcenter';
  };
  await waitFor(`attempt ${nth} to wait for vCenter`, isWaiting, { timeoutMs: 90_000 });
}

/** Answers the new template's reference. */
async function assertSwapped(running: Running, uploadAttempts: number): Promise<string> {
  const { scenario, previous, poller, swap } = running;
  const result = await swap.result();
  await poller.stop();
  assert.equal(result.outcome, 'swapped');
  assert.equal(result.uploadAttempts, uploadAttempts);
  const ref = await assertClean(scenario);
  assert.deepEqual(poller.owners(), [previous, ref]);
  assertOnlyGood(poller, old, wanted);
  assertNeverLost(poller);
  return ref;
}

test('crash row 18: vCenter restarts: a half import is removed and done again, a complete one adopted', async (t) => {
  const [halfway, whole] = [await rig.scenario(), await rig.scenario()];
  const upload = await inUpload(halfway);
  const half = (await halfway.vms()).find(({ name }) => name === halfway.names.temp)?.ref;
  assert.ok(half !== undefined);
  const isComplete = ({ session }: RecordedRequest): boolean =>
    called('HttpNfcLeaseComplete').some((call) => call.session === session);
  const held = rig.proxy.hold({ method: 'FindChild', match: isComplete });
  const complete = await started(whole);
  await held.arrived;
  await waitFor('its heartbeat', async () => (await pending(complete.swap)).last?.phase === 'completed');
  await vCenterDown();
  upload.goOn();
  held.release();
  // The second attempts wait, and die waiting; the third ones know all the same what the first ones left.
  await Promise.all([upload, complete].map(({ swap }) => waitsForVCenter(swap, 2)));
  await rig.killWorker('transfer');
  await rig.startWorker('transfer');
  await Promise.all([upload, complete].map(({ swap }) => waitsForVCenter(swap, 3)));
  await rig.proxy.up();
  const renewed = await assertSwapped(upload, 2);
  await assertSwapped(complete, 1);
  for (const { poller } of [upload, complete]) assertGap(t, poller);

  const imports = called('ImportVApp');
  assert.equal(new Set(imports.map(({ session }) => session)).size, 3);
  assert.deepEqual(
    called('HttpNfcLeaseComplete').map(({ session }) => session),
    [imports[1]?.session, imports[2]?.session],
  );
  assert.equal((await complete.swap.result()).uploadedBytes, diskBytes);
  const destroyed = called('Destroy_Task').map(({ object }) => object?.value);
  assert.deepEqual(destroyed.sort(), [half, upload.previous, complete.previous].sort());
  assert.notEqual(renewed, half);
});

test('crash row 19: vCenter restarts between the renames: the second one is done as soon as it is back', async (t) => {
  const scenario = await rig.scenario();
  await rig.vcsim.control.clearCalls();
  const held = rig.proxy.hold({ method: 'Rename_Task', nth: 2 });
  const running = await started(scenario, await scenario.ova(wanted));
  const { swap, previous, poller } = running;
  await held.arrived;
  await vCenterDown();
  held.release();
  await attempt(swap, 2); // the first one found nobody
  await rig.proxy.up();
  const upAt = performance.now();
  const ref = await assertSwapped(running, 1);

  const backMs = (poller.samples.find((sample) => sample.ref === ref)?.at ?? Infinity) - upAt;
  t.diagnostic(`the name is back ${backMs.toFixed(0)} ms after vCenter`);
  assert.ok(backMs <= renamePauseMs + busyMs, `${backMs} ms`);
  assertMeasured(poller, (await swap.result()).gapMs);
  const renamed = (await rig.vcsim.control.calls()).mutating.filter(({ method }) => method === 'Rename_Task');
  assert.deepEqual(
    renamed.map(({ object }) => object),
    [previous, ref],
  );
});

test('crash row 17: Temporal dies in the upload and is back soon: the upload goes on meanwhile', async (t) => {
  const upload = await inUpload(await rig.scenario());
  await rig.temporal.server?.kill();
  upload.goOn();
  await waitFor('the end of the upload', () => called('HttpNfcLeaseComplete')[0]?.end);
  await rig.temporal.server?.restart();
  await assertSwapped(upload, 1);
  assertGap(t, upload.poller);
  assert.equal(called('ImportVApp').length, 1);
});

test('crash row 17: Temporal dies in the upload and stays away: the upload stops by itself, and is done again', async (t) => {
  const upload = await inUpload(await rig.scenario());
  await rig.temporal.server?.kill();
  const killedAt = performance.now();
  await waitFor('the end of the import', async () => (await upload.scenario.vms()).length === 1, {
    timeoutMs: silenceMs + patienceMs,
  });
  t.diagnostic(`stopped ${(performance.now() - killedAt).toFixed(0)} ms after Temporal`);
  assert.deepEqual(await rig.vcsim.control.leases(), []);
  assert.equal(called('HttpNfcLeaseAbort').length, 1);
  rig.proxy.clearRules();
  await rig.temporal.server?.restart();
  await assertSwapped(upload, 2);
  assertGap(t, upload.poller);
  assert.equal(called('HttpNfcLeaseComplete').length, 1);
});
