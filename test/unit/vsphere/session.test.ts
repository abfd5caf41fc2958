import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';

import type { VSphereError } from '../../../activities/vsphere/faults.ts';
import { createVSphere } from '../../../activities/vsphere/vsphere-adapter.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Answer, ScriptedVCenter, SeenCall } from './scripted-vcenter.ts';
import { properties, serviceContent, startScriptedVCenter } from './scripted-vcenter.ts';

const folder = { type: 'Folder', value: 'group-v3' };
const vm = { type: 'VirtualMachine', value: 'vm-1' };
const lease = { type: 'HttpNfcLease', value: 'session[secret-key]lease-1' };
const found = { returns: '<returnval type="VirtualMachine">vm-1</returnval>' };
const task = { returns: '<returnval type="Task">task-1</returnval>' };

let vcenter: ScriptedVCenter;
beforeEach(async () => {
  vcenter = await startScriptedVCenter();
});
afterEach(() => vcenter.close());

/** Knows one cookie at a time; `expire` makes the present one worthless. */
function strictAbout(method: string, answer: { returns: string }): { expire(): void } {
  let dead = 0;
  vcenter.on(method, ({ headers }: SeenCall) => {
    const number = Number(/session-(\d+)/.exec(headers.cookie ?? '')?.[1] ?? 0);
    return number > dead ? answer : { fault: 'NotAuthenticated' };
  });
  return { expire: () => void (dead = vcenter.count('Login')) };
}

test('logs in with the first call that needs it and logs out on close', async () => {
  vcenter.on('FindChild', found);
  const session = await vcenter.open();
  assert.equal(vcenter.count('Login'), 0);
  assert.deepEqual(await session.findChild(folder, 'a'), vm);
  await session.findChild(folder, 'b');
  assert.equal(vcenter.count('Login'), 1);
  await session.close();
  await session.close();
  assert.equal(vcenter.count('Logout'), 1);
  await assert.rejects(session.findChild(folder, 'c'), { code: 'PROTOCOL' });
});

test('a session that never logged in does not log out', async () => {
  await (await vcenter.open()).close();
  assert.equal(vcenter.count('Logout'), 0);
});

test('speaks the API version of the server once it is known', async () => {
  vcenter.on('FindChild', found);
  await (await vcenter.open()).findChild(folder, 'a');
  const actions = vcenter.calls.map(({ method, headers }) => [method, headers['soapaction']]);
  assert.deepEqual(actions.at(0), ['RetrieveServiceContent', '"urn:vim25/6.5"']);
  assert.deepEqual(actions.at(-1), ['FindChild', '"urn:vim25/8.0.3.0"']);
});

test('200 parallel calls share one login, and one new login when the session has died', async () => {
  const calls = strictAbout('FindChild', found);
  const session = await vcenter.open();
  const many = (): Promise<unknown> => Promise.all(Array.from({ length: 200 }, () => session.findChild(folder, 'a')));
  await many();
  assert.equal(vcenter.count('Login'), 1);
  calls.expire();
  await many();
  assert.equal(vcenter.count('Login'), 2);
  assert.ok(vcenter.connections() <= 10, `${vcenter.connections()} connections for 400 calls`);
});

test('calls that the server holds back do not keep the short ones waiting', async () => {
  vcenter.on('Rename_Task', 'hang');
  vcenter.on('FindChild', found);
  const session = await vcenter.open();
  const stop = new AbortController();
  const held = Array.from({ length: 20 }, () => session.startRename(vm, 'a', { signal: stop.signal }));
  await waitFor('the held calls', () => vcenter.count('Rename_Task') === 20);
  assert.deepEqual(await session.findChild(folder, 'a'), vm);
  stop.abort(new Error('enough'));
  assert.ok((await Promise.allSettled(held)).every(({ status }) => status === 'rejected'));
});

test('the cookie of a dead session is not sent along with the new login', async () => {
  const calls = strictAbout('FindChild', found);
  const session = await vcenter.open();
  await session.findChild(folder, 'a');
  calls.expire();
  await session.findChild(folder, 'a');
  const logins = vcenter.calls.filter(({ method }) => method === 'Login');
  assert.deepEqual(
    logins.map(({ headers }) => headers.cookie),
    [undefined, undefined],
  );
});

test('a mutating call is replayed once after NotAuthenticated, since it was not executed', async () => {
  const calls = strictAbout('Rename_Task', task);
  const session = await vcenter.open();
  await session.startRename(vm, 'a');
  calls.expire();
  assert.deepEqual(await session.startRename(vm, 'b'), { type: 'Task', value: 'task-1' });
  assert.equal(vcenter.count('Rename_Task'), 3);
});

test('NotAuthenticated after the new login is thrown, not repeated for ever', async () => {
  vcenter.on('FindChild', { fault: 'NotAuthenticated' });
  const session = await vcenter.open();
  await assert.rejects(session.findChild(folder, 'a'), { faultType: 'NotAuthenticated' });
  assert.equal(vcenter.count('FindChild'), 2);
  assert.equal(vcenter.count('Login'), 2);
});

test('properties missing for want of a session make it log in and read again', async () => {
  const dead =
    '<missingSet><path>name</path><fault><fault xsi:type="NotAuthenticated"/><localizedMessage>x</localizedMessage></fault></missingSet>';
  const object = '<obj type="VirtualMachine">vm-1</obj>';
  vcenter.on('RetrievePropertiesEx', (_, nth) => ({
    returns:
      nth === 1
        ? properties(object, {}, dead)
        : properties(object, { name: '<val xsi:type="xsd:string"> a name </val>' }),
  }));
  const [content] = await (await vcenter.open()).retrieve([vm], ['name']);
  assert.equal(content?.props.get('name'), ' a name ', 'blanks are part of a name');
  assert.equal(vcenter.count('Login'), 2);
});

test('a path that the object does not have is absent; a forbidden one is a failure', async () => {
  const missing = (fault: string): string =>
    `<missingSet><path>nope</path><fault><fault xsi:type="${fault}"/></fault></missingSet>`;
  const object = '<obj type="VirtualMachine">vm-1</obj>';
  vcenter.on('RetrievePropertiesEx', (_, nth) => ({
    returns: properties(object, {}, missing(nth === 1 ? 'InvalidProperty' : 'NoPermission')),
  }));
  const session = await vcenter.open();
  const [content] = await session.retrieve([vm], ['nope']);
  assert.deepEqual([...(content?.props ?? [])], []);
  await assert.rejects(session.retrieve([vm], ['nope']), { faultType: 'NoPermission' });
});

test('all pages of an answer are read', async () => {
  const page = (name: string, token: string): string =>
    `<returnval>${token}<objects><obj type="VirtualMachine">${name}</obj></objects></returnval>`;
  vcenter.on('RetrievePropertiesEx', { returns: page('vm-1', '<token>t1</token>') });
  vcenter.on('ContinueRetrievePropertiesEx', (_, nth) => ({
    returns: page(`vm-${nth + 1}`, nth === 1 ? '<token>t2</token>' : ''),
  }));
  const objects = await (await vcenter.open()).retrieve([vm], ['name']);
  assert.deepEqual(
    objects.map(({ ref }) => ref.value),
    ['vm-1', 'vm-2', 'vm-3'],
  );
});

test('a nil answer of FindChild is "not there"; a fault never is', async () => {
  vcenter.on('FindChild', (_, nth) => (nth === 1 ? { returns: '' } : { fault: 'NoPermission' }));
  const session = await vcenter.open();
  assert.equal(await session.findChild(folder, 'a'), undefined);
  await assert.rejects(session.findChild(folder, 'a'), { faultType: 'NoPermission' });
});

test('a wrong password is AUTH with one Login, however often it is tried', async () => {
  vcenter.on('Login', { fault: 'InvalidLogin' });
  const session = await vcenter.open();
  const auth = { code: 'AUTH', message: /refuses the login of user/ };
  await Promise.all(Array.from({ length: 20 }, () => assert.rejects(session.findChild(folder, 'a'), auth)));
  await assert.rejects(session.findChild(folder, 'a'), (error: VSphereError) => !error.message.includes('pass-word'));
  assert.equal(vcenter.count('Login'), 1);
});

test('a refused password is remembered by all sessions of a client, another password is tried', async () => {
  vcenter.on('Login', { fault: 'InvalidLogin' });
  const vsphere = createVSphere({ allowInsecureTls: false });
  const attempt = (password: string): Promise<void> =>
    vsphere.withSession({ ...vcenter.endpoint, password }, (session) =>
      assert.rejects(session.findChild(folder, 'a'), { code: 'AUTH' }),
    );
  await attempt('one');
  const own = await vsphere.open({ ...vcenter.endpoint, password: 'one' });
  await assert.rejects(own.findChild(folder, 'a'), { code: 'AUTH' });
  assert.equal(vcenter.count('Login'), 1);
  await attempt('two');
  assert.equal(vcenter.count('Login'), 2);
  await vsphere.close();
});

test('a server that is no vCenter is refused', async () => {
  vcenter.on('RetrieveServiceContent', { returns: serviceContent('HostAgent') });
  await assert.rejects(vcenter.open(), { code: 'NOT_VCENTER' });
  assert.equal(vcenter.count('Login'), 0);
});

test('a read is repeated after a lost answer or a gateway error, three times at most', async () => {
  const answers: readonly Answer[] = [{ status: 503 }, 'drop', found];
  vcenter.on('FindChild', (_, nth) => answers[nth - 1] ?? 'drop');
  const session = await vcenter.open();
  assert.deepEqual(await session.findChild(folder, 'a'), vm);
  await assert.rejects(session.findChild(folder, 'a'), { code: 'TRANSPORT', outcomeUnknown: true });
  assert.equal(vcenter.count('FindChild'), 6);
});

for (const [answer, code] of [
  ['drop', 'TRANSPORT'],
  [{ status: 503 }, 'HTTP'],
  [{ status: 502 }, 'HTTP'],
] as const) {
  test(`a mutating call is not repeated after ${JSON.stringify(answer)}: its outcome is unknown`, async () => {
    vcenter.on('Rename_Task', answer);
    const session = await vcenter.open();
    await assert.rejects(session.startRename(vm, 'a'), { code, outcomeUnknown: true });
    assert.equal(vcenter.count('Rename_Task'), 1);
  });
}

test('no answer within the limit of the call is TIMEOUT with unknown outcome', async () => {
  vcenter.on('Rename_Task', 'hang');
  const session = await vcenter.open();
  await assert.rejects(session.startRename(vm, 'a', { timeoutMs: 50 }), { code: 'TIMEOUT', outcomeUnknown: true });
});

test('the time-out of the endpoint holds for every call', async () => {
  vcenter.on('FindChild', 'hang');
  const vsphere = createVSphere({ allowInsecureTls: false });
  const session = await vsphere.open({ ...vcenter.endpoint, apiTimeoutMs: 80 });
  await assert.rejects(session.findChild(folder, 'a'), { code: 'TIMEOUT' });
  await session.close();
});

test('an abort ends a call with its own reason, also while logging in', async () => {
  const reason = new Error('cancelled by the caller');
  vcenter.on('FindChild', 'hang');
  const session = await vcenter.open();
  const controller = new AbortController();
  const calling = session.findChild(folder, 'a', { signal: controller.signal });
  await waitFor('the call', () => vcenter.count('FindChild') === 1);
  controller.abort(reason);
  await assert.rejects(calling, reason);
  await assert.rejects(session.findChild(folder, 'a', { signal: AbortSignal.abort(reason) }), reason);

  vcenter.on('Login', 'hang');
  const second = await createVSphere({ allowInsecureTls: false }).open({ ...vcenter.endpoint, apiTimeoutMs: 5_000 });
  const stop = new AbortController();
  const waiting = second.findChild(folder, 'a', { signal: stop.signal });
  await waitFor('the login', () => vcenter.count('Login') === 2);
  stop.abort(reason);
  await assert.rejects(waiting, reason);
  await second.close();
});

test('an answer that is no SOAP is a protocol error, a bare 500 an HTTP error', async () => {
  vcenter.on('Rename_Task', (_, nth) => (nth === 1 ? { status: 200, body: 'hello' } : { status: 500, body: 'oops' }));
  const session = await vcenter.open();
  await assert.rejects(session.startRename(vm, 'a'), { code: 'PROTOCOL' });
  await assert.rejects(session.startRename(vm, 'a'), { code: 'HTTP' });
});

test('calls of a lease are never replayed on a new session', async () => {
  vcenter.on('FindChild', found);
  const session = await vcenter.open();
  await session.findChild(folder, 'a');
  const methods = {
    HttpNfcLeaseProgress: () => session.leaseProgress(lease, 50),
    HttpNfcLeaseComplete: () => session.leaseComplete(lease),
    HttpNfcLeaseGetManifest: () => session.leaseManifest(lease),
    RetrievePropertiesEx: () => session.waitForLease(lease, {}),
  };
  for (const [method, work] of Object.entries(methods)) {
    vcenter.on(method, { fault: 'NotAuthenticated' });
    await session.findChild(folder, 'a');
    await assert.rejects(work(), (error: VSphereError) => {
      assert.equal(error.code, 'LEASE_LOST', method);
      assert.ok(!error.message.includes('secret-key'));
      return true;
    });
    assert.equal(vcenter.count(method), 1, method);
  }
});

test('without a session a lease is lost without asking', async () => {
  const session = await vcenter.open();
  await assert.rejects(session.leaseProgress(lease, 1), { code: 'LEASE_LOST' });
  assert.equal(vcenter.count('Login'), 0);
});

for (const fault of ['Timedout', 'InvalidState', 'ManagedObjectNotFound']) {
  test(`${fault} of a lease call is LEASE_LOST; aborting such a lease succeeds`, async () => {
    vcenter.on('FindChild', found);
    for (const method of ['HttpNfcLeaseProgress', 'HttpNfcLeaseComplete', 'HttpNfcLeaseAbort'])
      vcenter.on(method, { fault });
    const session = await vcenter.open();
    await session.findChild(folder, 'a');
    await assert.rejects(session.leaseProgress(lease, 1), { code: 'LEASE_LOST' });
    await assert.rejects(session.leaseComplete(lease), { code: 'LEASE_LOST' });
    await session.leaseAbort(lease);
  });
}

const leaseState = (state: string, more: Readonly<Record<string, string>> = {}): { returns: string } => ({
  returns: properties('<obj type="HttpNfcLease">l</obj>', {
    state: `<val xsi:type="HttpNfcLeaseState">${state}</val>`,
    ...more,
  }),
});

test('a lease in error throws its fault; without one it is LEASE_ERROR_UNKNOWN', async () => {
  vcenter.on('FindChild', found);
  const error = '<val xsi:type="LocalizedMethodFault"><fault xsi:type="NoDiskSpace"><file>f</file></fault></val>';
  vcenter.on('RetrievePropertiesEx', (_, nth) =>
    nth === 1 ? leaseState('initializing') : leaseState('error', nth === 2 ? { error } : {}),
  );
  const session = await vcenter.open();
  await session.findChild(folder, 'a');
  await assert.rejects(session.waitForLease(lease, {}), { faultType: 'NoDiskSpace', kind: 'lease-error' });
  await assert.rejects(session.waitForLease(lease, {}), { code: 'LEASE_ERROR_UNKNOWN' });
});

test('a lease that never gets ready is TIMEOUT', async () => {
  vcenter.on('FindChild', found);
  vcenter.on('RetrievePropertiesEx', leaseState('initializing'));
  const session = await vcenter.open();
  await session.findChild(folder, 'a');
  await assert.rejects(session.waitForLease(lease, { timeoutMs: 100 }), { code: 'TIMEOUT' });
});

test('a pooled session is shared and logged out when the client closes', async () => {
  vcenter.on('FindChild', found);
  const vsphere = createVSphere({ allowInsecureTls: false });
  const use = (): Promise<unknown> =>
    vsphere.withSession(vcenter.endpoint, (session) => session.findChild(folder, 'a'));
  await Promise.all([use(), use(), use()]);
  await use();
  assert.equal(vcenter.count('Login'), 1);
  assert.equal(vcenter.count('Logout'), 0);
  await vsphere.close();
  assert.equal(vcenter.count('Logout'), 1);
});

test('a vCenter that was down when first asked is asked again', async () => {
  vcenter.on('RetrieveServiceContent', (_, nth) => (nth <= 3 ? { status: 503 } : { returns: serviceContent() }));
  vcenter.on('FindChild', found);
  const vsphere = createVSphere({ allowInsecureTls: false });
  const use = (): Promise<unknown> =>
    vsphere.withSession(vcenter.endpoint, (session) => session.findChild(folder, 'a'));
  await assert.rejects(use(), { code: 'HTTP' });
  assert.deepEqual(await use(), vm);
  await vsphere.close();
});
