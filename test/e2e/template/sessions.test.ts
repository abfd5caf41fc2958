import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { RecordedRequest } from '../../sim/request-log.ts';
import { assertClean, assertGap } from '../../support/guarantees.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { Rig } from '../../support/rig.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: Rig;
let ova: BuiltOva;
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova();
});
after(() => rig.stop());

const called = (method: string): RecordedRequest[] => rig.proxy.requests().filter((call) => call.method === method);

/** Ends the session that sent this request. */
async function terminateSessionOf({ session }: RecordedRequest): Promise<void> {
  const sessions = await rig.vcsim.control.sessions();
  const found = sessions.find(({ key }) => createHash('sha256').update(key).digest('hex').slice(0, 12) === session);
  assert.ok(found, 'the session of the request is open');
  assert.equal(await rig.vcsim.control.terminateSessions(found.key), 1);
}

/** Login with the cookie of a dead session would be called a wrong password. */
function assertCleanLogins(): void {
  assert.ok(called('Login').every(({ session }) => session === undefined));
}

test('template/27 a session terminated in the upload: the lease is lost, a new session imports anew', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  rig.proxy.rewrite('RetrievePropertiesEx', (answer) => answer.replace(/<leaseTimeout>\d+</g, '<leaseTimeout>3<'));
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 1024 });
  const swap = await scenario.start({ ova });
  await waitFor('the upload', () => rig.proxy.requests().some(({ kind }) => kind === 'nfc'));
  const [first] = called('ImportVApp');
  assert.ok(first);
  await terminateSessionOf(first);

  const result = await swap.result();
  assert.equal(result.outcome, 'swapped');
  assert.equal(result.uploadAttempts, 2);
  assert.match((await swap.failures())[0] ?? '', /lease is lost \(NotAuthenticated\)/);
  const imports = called('ImportVApp');
  assert.equal(imports.length, 2);
  assert.notEqual(imports[1]?.session, first.session);
  const afterwards = rig.proxy.requests().filter(({ startedMs }) => startedMs > (imports[1]?.startedMs ?? 0));
  assert.ok(afterwards.every(({ session }) => session !== first.session));
  assertCleanLogins();
  // A server ends the leases of a session with it; the simulator does not.
  assert.equal(await rig.vcsim.control.abortLeases(), 1);
  await assertClean(scenario);
});

test('template/28 a session terminated between the renames: one login, and the second rename is sent again', async (t) => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const poller = await scenario.poller();
  const second = rig.proxy.hold({ method: 'Rename_Task', nth: 2 });
  const swap = await scenario.start({ ova });
  const held = await second.arrived;
  await terminateSessionOf(held);
  second.release();
  const result = await swap.result();
  await poller.stop();

  assert.equal(result.outcome, 'swapped');
  assert.deepEqual(await swap.failures(), []);
  const logins = called('Login').filter(({ startedMs }) => startedMs > held.startedMs);
  assert.equal(logins.length, 1);
  assertCleanLogins();
  const renames = called('Rename_Task');
  assert.deepEqual(
    renames.map(({ end }) => end?.status),
    [200, 500, 200],
  );
  assert.equal(renames[2]?.body, renames[1]?.body);
  assert.notEqual(renames[2]?.session, renames[1]?.session);
  assertGap(t, poller, 1_000);
  await assertClean(scenario);
});

test('template/29 a wrong password is said at once and costs one Login, however often it is tried', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  for (let run = 1; run <= 2; run++) {
    const failure = await (await scenario.start({ ova, vcenter: 'wrong-password' })).failure();
    assert.equal(failure.type, 'Unauthenticated');
    assert.equal(failure.details?.code, 'AUTH');
    assert.match(failure.message, /refuses the login of administrator@vsphere\.local/);
    assert.ok(!failure.message.includes(rig.taskQueue), 'the message tells the password');
  }
  assert.equal(called('Login').length, 1);
  assert.deepEqual(rig.proxy.mutating(), []);
});

test('template/30 a wrong thumbprint ends it before a byte of HTTP is sent', async () => {
  const scenario = await rig.scenario();
  const failure = await (await scenario.start({ ova, vcenter: 'wrong-thumbprint' })).failure();
  assert.equal(failure.details?.code, 'TLS_THUMBPRINT');
  assert.equal((failure.details as { primary?: { kind?: string } }).primary?.kind, 'transport');
  assert.ok(failure.message.includes(rig.proxy.sha256), failure.message);
  assert.match(failure.message, /expected was AB:?AB:?AB/i);
  assert.deepEqual(rig.proxy.requests(), []);
});

test('no session is left: the import closes its own, a worker that stops closes the shared one', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const tag = await rig.vcsim.control.ensureTag('os', 'rhcos');
  await rig.vcsim.control.terminateSessions();
  assert.equal((await scenario.swap({ ova, options: { tags: [tag] } })).outcome, 'swapped');
  const [importing] = called('ImportVApp');
  const [renaming] = called('Rename_Task');
  assert.notEqual(importing?.session, renaming?.session);
  const keys = (await rig.vcsim.control.sessions()).map(({ key }) =>
    createHash('sha256').update(key).digest('hex').slice(0, 12),
  );
  assert.deepEqual(keys, [renaming?.session]);
  await Promise.all([...rig.workers.values()].map((worker) => worker.stop()));
  assert.deepEqual(await rig.vcsim.control.sessions(), []);
});
