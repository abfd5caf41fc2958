import assert from 'node:assert/strict';
import { connect as tlsConnect } from 'node:tls';
import { after, afterEach, before, describe, test } from 'node:test';
import { startFaultProxy, type FaultProxy } from '../../sim/fault-proxy.ts';
import { deviceUrlHost, leaseInError, withSslThumbprint } from '../../sim/lease-answers.ts';
import { rawVim, type RawAnswer, type RawVim } from '../../sim/raw-vim.ts';
import { leaseInfo, openUpload, taskEnd } from '../../sim/vim-samples.ts';
import { startVcsim, type Vcsim } from '../../stack/vcsim.ts';
import { waitFor } from '../../support/wait-for.ts';

let vcsim: Vcsim;
let proxy: FaultProxy;
let vim: RawVim;
let vm = '';

before(async () => {
  vcsim = await startVcsim({ inventory: { vm: 0 } });
  proxy = await startFaultProxy({ target: vcsim.url });
  vim = rawVim(proxy.url);
  await vim.login(vcsim.username, vcsim.password);
  vm = await vcsim.control.createVm({ name: 'start' });
});
after(async () => {
  vim.close();
  await proxy.stop();
  await vcsim.stop();
});
afterEach(async () => {
  proxy.clearRules();
  proxy.clearRequests();
  await vcsim.control.abortLeases();
  await vcsim.control.clearTransfers();
});

const rename = (name: string): Promise<RawAnswer> =>
  vim.call('Rename_Task', `VirtualMachine:${vm}`, `<newName>${name}</newName>`);
const currentName = async (): Promise<string | undefined> =>
  (await vcsim.control.vms()).find(({ ref }) => ref === vm)?.name;

test('its certificate is trusted when it is the CA, and has the thumbprint it names', async () => {
  const { hostname, port } = new URL(proxy.origin);
  const socket = tlsConnect({ host: hostname, port: Number(port), ca: proxy.certPem });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  assert.equal(socket.authorized, true);
  assert.equal(socket.getPeerCertificate().fingerprint256, proxy.sha256);
  assert.equal(socket.getPeerCertificate().fingerprint, proxy.sha1);
  socket.destroy();
});

describe('SOAP calls', () => {
  test('pass unchanged and are recorded', async () => {
    assert.equal(await taskEnd(vim, (await rename('plain')).text), 'success');
    const [call] = proxy.mutating();
    assert.equal(call?.method, 'Rename_Task');
    assert.deepEqual(call.object, { type: 'VirtualMachine', value: vm });
    assert.match(call.body, /<newName>plain</);
    assert.equal(call.end?.status, 200);
    assert.match(call.session ?? '', /^[0-9a-f]{12}$/);
  });

  test('fault: answered without the simulator', async () => {
    const before = await currentName();
    const rule = proxy.addRule({
      method: 'Rename_Task',
      action: 'fault',
      fault: 'ResourceInUse',
      fields: '<name>x</name>',
    });
    const { status, text } = await rename('never');
    assert.deepEqual([status, /xsi:type="ResourceInUse"><name>x</.test(text)], [500, true]);
    assert.equal(rule.fired(), 1);
    assert.equal(await currentName(), before);
  });

  test('drop-before: the connection breaks and nothing happened', async () => {
    const before = await currentName();
    proxy.addRule({ method: 'Rename_Task', action: 'drop-before' });
    await assert.rejects(rename('never'), { code: 'ECONNRESET' });
    assert.equal(await currentName(), before);
  });

  test('drop-after: the connection breaks and it happened', async () => {
    proxy.addRule({ method: 'Rename_Task', action: 'drop-after' });
    await assert.rejects(rename('done'), { code: 'ECONNRESET' });
    await waitFor('the rename', async () => (await currentName()) === 'done');
  });

  test('truncate: half an answer, and it happened', async () => {
    proxy.addRule({ method: 'Rename_Task', action: 'truncate' });
    await assert.rejects(rename('half'), { code: 'ECONNRESET' });
    await waitFor('the rename', async () => (await currentName()) === 'half');
  });

  test('http-503: no SOAP in the answer', async () => {
    proxy.addRule({ method: 'CurrentTime', action: 'http-503' });
    assert.deepEqual(await vim.call('CurrentTime', 'ServiceInstance:ServiceInstance'), { status: 503, text: '' });
  });

  test('delay: late, but the same', async () => {
    proxy.addRule({ method: 'CurrentTime', action: 'delay', delayMs: 200 });
    const started = performance.now();
    assert.equal((await vim.call('CurrentTime', 'ServiceInstance:ServiceInstance')).status, 200);
    assert.ok(performance.now() - started >= 195);
  });

  test('hold: waits for its release, before the call or before its answer', async () => {
    const early = proxy.hold('Rename_Task');
    const first = rename('held');
    await early.arrived;
    assert.notEqual(await currentName(), 'held');
    early.release();
    assert.equal((await first).status, 200);

    const late = proxy.hold('Rename_Task', 'answer');
    const second = rename('held-late');
    await late.arrived;
    await waitFor('the rename', async () => (await currentName()) === 'held-late');
    late.release();
    assert.equal((await second).status, 200);
  });
});

describe('uploads', () => {
  test('go through the proxy and are recorded with their headers', async () => {
    const { url } = await openUpload(vim, vcsim.control, 'whole');
    assert.ok(url.startsWith(`${proxy.origin}/nfc/`));
    assert.equal((await vim.upload(url, 300_000)).status, 200);
    const upload = proxy.requests().find(({ kind }) => kind === 'nfc');
    assert.equal(upload?.headers['content-length'], '300000');
    assert.equal(upload.headers['content-type'], 'application/x-vnd.vmware-streamVmdk');
    assert.equal(upload.headers['transfer-encoding'], undefined);
    assert.equal(upload.bytes, 300_000);
  });

  test('reset: the connection breaks at its byte', async () => {
    const { url } = await openUpload(vim, vcsim.control, 'reset');
    proxy.addNfcRule({ action: 'reset', afterBytes: 1_000_000 });
    await assert.rejects(vim.upload(url, 12_000_000), /ECONNRESET|EPIPE/);
    const [transfer] = await vcsim.control.transfers();
    assert.ok(transfer && !transfer.done && transfer.bytes <= 1_000_000);
  });

  test('stall: nothing moves until it may', async () => {
    const { url } = await openUpload(vim, vcsim.control, 'stall');
    let goOn: () => void = () => undefined;
    const until = new Promise<void>((resolve) => (goOn = resolve));
    proxy.addNfcRule({ action: 'stall', afterBytes: 1_000_000, until });
    const upload = vim.upload(url, 12_000_000);
    await waitFor('the first part', async () => (await vcsim.control.transfers())[0]?.bytes === 1_000_000);
    goOn();
    assert.equal((await upload).status, 200);
    assert.equal((await vcsim.control.transfers())[0]?.bytes, 12_000_000);
  });

  test('status-500: after the whole body', async () => {
    const { url } = await openUpload(vim, vcsim.control, 'status');
    proxy.addNfcRule({ action: 'status-500', afterBytes: 1_000_000 });
    assert.equal((await vim.upload(url, 4_000_000)).status, 500);
    assert.equal(proxy.requests().find(({ kind }) => kind === 'nfc')?.bytes, 4_000_000);
  });

  test('early-response: while the body is still coming', async () => {
    const { url } = await openUpload(vim, vcsim.control, 'early');
    proxy.addNfcRule({ action: 'early-response', afterBytes: 1_000_000, status: 507 });
    assert.equal((await vim.upload(url, 40_000_000)).status, 507);
    assert.ok(proxy.requests().some(({ kind, bytes }) => kind === 'nfc' && bytes < 40_000_000));
  });

  test('throttle: no faster than asked', async () => {
    const { url } = await openUpload(vim, vcsim.control, 'throttle');
    proxy.addNfcRule({ action: 'throttle', bytesPerSecond: 2_000_000 });
    const started = performance.now();
    assert.equal((await vim.upload(url, 1_000_000)).status, 200);
    assert.ok(performance.now() - started >= 490);
  });
});

test('lease answers can be rewritten: error, device host, thumbprint', async () => {
  const { lease } = await openUpload(vim, vcsim.control, 'rewritten');
  const read = (): Promise<string> => leaseInfo(vim, lease);

  const inError = proxy.rewrite(
    'RetrievePropertiesEx',
    leaseInError('NoDiskSpace', '<file>x</file><datastore>d</datastore>'),
  );
  assert.match(await read(), />error<\/val>.*<fault [^>]*type="NoDiskSpace"><file>x</);
  inError.remove();

  proxy.rewrite('RetrievePropertiesEx', deviceUrlHost('*'));
  proxy.rewrite('RetrievePropertiesEx', withSslThumbprint('AA:BB'));
  assert.match(await read(), /<url>https:\/\/\*:\d+\/nfc\/.*<sslThumbprint>AA:BB</);
});

test('down: connections are refused; up: the same port serves again', async () => {
  await proxy.down();
  await assert.rejects(vim.call('CurrentTime', 'ServiceInstance:ServiceInstance'), { code: 'ECONNRESET' });
  await assert.rejects(vim.call('CurrentTime', 'ServiceInstance:ServiceInstance'), { code: 'ECONNREFUSED' });
  await proxy.up();
  assert.equal((await vim.call('CurrentTime', 'ServiceInstance:ServiceInstance')).status, 200);
});
