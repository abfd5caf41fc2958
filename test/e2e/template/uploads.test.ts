import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import { deviceUrlHost, leaseInError } from '../../sim/lease-answers.ts';
import type { RecordedRequest } from '../../sim/request-log.ts';
import { startVcsim, type Vcsim } from '../../stack/vcsim.ts';
import { assertClean, assertGap, assertOnlyGood } from '../../support/guarantees.ts';
import { bigDisk, type BuiltOva } from '../../support/ova-builder.ts';
import { password, Rig, type Scenario, type Swap } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

const mebi = 1024 * 1024;
const size = 24 * mebi;

let rig: Rig;
let esx: Vcsim;
/** Larger than what the kernel's buffers swallow. */
let ova: BuiltOva;
before(async () => {
  esx = await startVcsim({ esx: true, password });
  const { url, username: user, sha256 } = esx;
  const lone = { url, user, passwordEnv: 'VC_PASSWORD', tls: { mode: 'thumbprint', sha256 } };
  rig = await Rig.start({ config: { vcenters: { 'lone-esxi': lone } } });
  ova = await (await rig.scenario()).ova('417.94.2', { disks: [bigDisk(size)] });
});
after(async () => {
  await rig.stop();
  await esx.stop();
});

const called = (method: string): RecordedRequest[] => rig.proxy.requests().filter((call) => call.method === method);
const uploads = (): RecordedRequest[] => rig.proxy.requests().filter(({ kind }) => kind === 'nfc');
const percentOf = ({ body }: RecordedRequest): number => Number(/<percent>(\d+)</.exec(body)?.[1]);

/** Leases say that they end after this many seconds without progress, so that they are kept alive more often. */
const shortLeases = (seconds: number): void => {
  rig.proxy.rewrite('RetrievePropertiesEx', (answer) =>
    answer.replace(/<leaseTimeout>\d+</g, `<leaseTimeout>${seconds}<`),
  );
};

/** One import failed this way, the second succeeded; the failed one aborted its lease and removed its VM. */
async function assertSecondTry(scenario: Scenario, swap: Swap, failure: RegExp): Promise<void> {
  const result = await swap.result();
  assert.equal(result.outcome, 'swapped');
  assert.equal(result.uploadAttempts, 2);
  const failures = await swap.failures();
  assert.equal(failures.length, 1, failures.join('\n'));
  assert.match(failures[0] ?? '', failure);
  const steps = rig.proxy
    .mutating()
    .map(({ method }) => method)
    .filter((method) => /^(ImportVApp|HttpNfcLease\w+|Destroy_Task|Rename_Task)$/.test(method));
  assert.deepEqual(steps, [
    'ImportVApp',
    'HttpNfcLeaseAbort',
    'Destroy_Task',
    'ImportVApp',
    'HttpNfcLeaseComplete',
    'Rename_Task',
    'Rename_Task',
    'Destroy_Task',
  ]);
  await assertClean(scenario);
}

test('template/23, case/50 a connection reset in the upload: lease aborted, temp destroyed, import repeated', async (t) => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const poller = await scenario.poller();
  rig.proxy.addNfcRule({ action: 'reset', afterBytes: 0.6 * size });
  const swap = await scenario.start({ ova });
  await assertSecondTry(scenario, swap, /broke after \d+ of \d+ bytes/);
  await poller.stop();
  assertGap(t, poller);
  assertOnlyGood(poller, '416.94.1', '417.94.2');

  for (const upload of uploads()) {
    assert.equal(upload.verb, 'POST');
    assert.equal(upload.headers['content-type'], 'application/x-vnd.vmware-streamVmdk');
    assert.equal(upload.headers['content-length'], String(size));
    assert.equal(upload.headers['transfer-encoding'], undefined);
    assert.equal(upload.session, undefined);
  }
});

test('template/24 an upload that stands still is given up although its lease is kept alive', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  shortLeases(6);
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: mebi });
  const swap = await scenario.start({ ova, options: { uploadStallMs: 5_000 } });
  await assertSecondTry(scenario, swap, /took no more data for 5000 ms/);
  const [abort] = called('HttpNfcLeaseAbort');
  const [upload] = uploads();
  const meanwhile = called('HttpNfcLeaseProgress').filter(
    ({ startedMs }) => startedMs > (upload?.startedMs ?? 0) && startedMs < (abort?.startedMs ?? 0),
  );
  assert.ok(meanwhile.length >= 2, `${meanwhile.length} progress calls while nothing moved`);
});

test('template/25 an early HTTP 500 is the verdict, not the broken pipe that follows it', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  rig.proxy.addNfcRule({ action: 'early-response', status: 500, afterBytes: mebi });
  const swap = await scenario.start({ ova });
  await assertSecondTry(scenario, swap, /HTTP status 500 before the file was sent/);
  assert.doesNotMatch((await swap.failures()).join('\n'), /EPIPE|ECONNRESET|hang up/);
});

test('template/26 a lease in error for want of space is waited out and tried again', async () => {
  const scenario = await rig.scenario();
  const old = await scenario.template(scenario.names.prod, '416.94.1');
  const full = rig.proxy.rewrite('RetrievePropertiesEx', leaseInError('NoDiskSpace'));
  const swap = await scenario.start({ ova });
  const status = await swap.reaches('WaitingForSpace');
  full.remove();
  assert.equal(status.waitingFor, 'capacity');
  const waitMs = Date.parse(status.deadline ?? '') - Date.now();
  assert.ok(waitMs > 4 * 60_000 && waitMs <= 5 * 60_000, `waits ${waitMs} ms`);
  assert.match(status.message, /NoDiskSpace/);
  assert.equal(await codeOfFailure(swap), 'INSUFFICIENT_SPACE');
  assert.deepEqual(
    (await scenario.inventory()).map(({ ref }) => ref),
    [old],
  );
  assert.deepEqual(await rig.vcsim.control.leases(), []);

  await swap.update(messages.retryNow, { by: 'a test' });
  assert.equal((await swap.result()).outcome, 'swapped');
  await assertClean(scenario);
});

async function codeOfFailure(swap: Swap): Promise<unknown> {
  const { events } = await swap.handle.fetchHistory();
  const failed = (events ?? []).find((event) => event.activityTaskFailedEventAttributes != null);
  const payload = failed?.activityTaskFailedEventAttributes?.failure?.applicationFailureInfo?.details?.payloads?.[0];
  return (JSON.parse(Buffer.from(payload?.data ?? []).toString()) as { code?: unknown }).code;
}

test('case/52 the lease is kept alive while no byte moves for longer than its time-out', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const leaseMs = 6_000;
  shortLeases(leaseMs / 1_000);
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: mebi, until });
  const swap = await scenario.start({ ova });
  const [first] = await waitFor('the upload', () => (uploads().length > 0 ? uploads() : undefined));
  const begun = first?.startedMs ?? 0;
  await waitFor('progress calls for longer than the lease lasts', () =>
    called('HttpNfcLeaseProgress').some(({ startedMs }) => startedMs > begun + leaseMs + 500),
  );
  assert.equal(first?.end, undefined);
  release();
  const result = await swap.result();
  assert.equal(result.uploadAttempts, 1);
  const times = called('HttpNfcLeaseProgress').map(({ startedMs }) => startedMs);
  assert.ok(times.length >= 6, `${times.length} progress calls`);
  const longest = Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? time)));
  assert.ok(longest < leaseMs, `${longest} ms between two progress calls`);
  await assertClean(scenario);
});

test("case/56 the upload's progress is posted to the lease", async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  shortLeases(3);
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: size / 2, until });
  const swap = await scenario.start({ ova });
  const lease = await waitFor('half of it in the lease', async () => {
    const [open] = await rig.vcsim.control.leases();
    return open !== undefined && open.percent >= 50 ? open : undefined;
  });
  assert.ok(lease.percent < 100, `${lease.percent} % with half of the upload taken`);
  assert.equal(lease.name, scenario.names.temp);
  release();
  await swap.result();
  const told = called('HttpNfcLeaseProgress').map(percentOf);
  assert.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  );
  assert.equal(told.at(-1), 100);
  assert.ok(told.every((percent) => Number.isInteger(percent) && percent >= 0 && percent <= 100));
});

test('case/60 an upload address without a host means the vCenter that named it', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  rig.proxy.rewrite('RetrievePropertiesEx', deviceUrlHost('*'));
  assert.equal((await scenario.swap({ ova })).outcome, 'swapped');
  assert.equal(uploads().length, 1);
  assert.equal(uploads()[0]?.bytes, size);
  await assertClean(scenario);
});

test('case/60 a lone ESXi host is refused', async () => {
  const scenario = await rig.scenario();
  const swap = await scenario.start({ ova, vcenter: 'lone-esxi' });
  const failure = await swap.failure();
  assert.equal(failure.details?.code, 'NOT_VCENTER');
  assert.match(failure.message, /not a vCenter/);
  assert.deepEqual(await esx.control.sessions(), []);
});

test('a vCenter that is away when the import begins costs no upload attempt', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  // The proof that a session lives is the first call of an import.
  const away = rig.proxy.addRule({ method: 'CurrentTime', times: Infinity, action: 'http-503' });
  const swap = await scenario.start({ ova, options: { maxUploadAttempts: 1 } });
  await waitFor('the import to wait', async () => {
    const { pendingActivities } = (await swap.handle.describe()).raw;
    const [payload] = pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
    return payload?.data != null && Buffer.from(payload.data).includes('"waitingFor":"vcenter"');
  });
  away.remove();
  const result = await swap.result();

  assert.equal(result.outcome, 'swapped');
  assert.equal(result.uploadAttempts, 1);
  await assertClean(scenario);
});

test('an attempt that ends before its upload is no upload', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  rig.proxy.addRule({ method: 'ImportVApp', action: 'fault', fault: 'TaskInProgress' });
  const swap = await scenario.start({ ova });
  const result = await swap.result();

  assert.equal(called('ImportVApp').length, 2);
  assert.equal(result.uploadAttempts, 1);
  await assertClean(scenario);
});
