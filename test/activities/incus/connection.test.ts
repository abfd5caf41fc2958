import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTarget } from '../../../activities/incus/incus-adapter.ts';
import { TargetError } from '../../../activities/incus/target-error.ts';
import { createTargets } from '../../../activities/incus/targets.ts';
import { IncusSim } from '../../sim/incus/incus-sim.ts';
import { selfSigned } from '../../sim/self-signed.ts';
import { waitFor } from '../../support/wait-for.ts';
import { failure, gate, newInstance, useSim } from './builders.ts';

const rig = useSim();

test('a target that trusts us says its version and what it can do', async () => {
  const { version, extensions } = await rig.target.check();
  assert.equal(version, '7.0');
  assert.ok(extensions.includes('storage_volume_nbd'));
});

test('a refused connection is UNREACHABLE, and names target and address', async () => {
  await rig.sim.down();
  const error = await failure(rig.target.create(newInstance()), 'UNREACHABLE');
  assert.match(error.message, /Target tgt: could not create web in project default: .*127\.0\.0\.1:\d+ failed/);
  assert.match(error.next, /address of the target/);
});

describe('the certificate of the server', () => {
  test('is proven by its thumbprint; with another one nothing is sent', async () => {
    const other = selfSigned().sha256;
    const target = rig.connect({ tls: { mode: 'thumbprint', sha256: other } });
    const error = await failure(target.check(), 'CERTIFICATE');
    assert.ok(error.message.includes(rig.sim.certificate.sha256) && error.message.includes(other));
    assert.deepEqual(rig.sim.journal.requests(), []);
  });

  test('is proven by its SHA-1 thumbprint too', async () => {
    const { sha1 } = rig.sim.certificate;
    assert.equal((await rig.connect({ tls: { mode: 'thumbprint', sha1 } }).check()).version, '7.0');
  });

  test('of an unknown authority is CERTIFICATE, and nothing is sent', async () => {
    const error = await failure(rig.connect({ tls: { mode: 'ca' } }).check(), 'CERTIFICATE');
    assert.match(error.message, /could not be verified.*Nothing was sent/);
    assert.deepEqual(rig.sim.journal.requests(), []);
  });

  test('whose authority can not be read is CERTIFICATE', async () => {
    const target = rig.connect({ tls: { mode: 'ca', caFile: '/nowhere/ca.pem' } });
    assert.match((await failure(target.check(), 'CERTIFICATE')).message, /\/nowhere\/ca\.pem/);
  });

  test('is proven for the connection of a disk too', async () => {
    await rig.target.create(newInstance());
    const target = rig.connect({ tls: { mode: 'thumbprint', sha256: selfSigned().sha256 } });
    await failure(target.openDisk('default', 'web', 0, { writable: true }), 'CERTIFICATE');
    assert.deepEqual(rig.sim.journal.events('nbd-opened'), []);
  });
});

describe('a connection that would be unsafe is refused before it is made', () => {
  for (const [what, more] of [
    ['plain http', { url: 'http://127.0.0.1:1' }],
    ['tls.mode insecure without consent', { tls: { mode: 'insecure' } }],
  ] as const)
    test(what, () => {
      assert.throws(
        () => rig.connect(more),
        (error) => error instanceof TargetError && error.code === 'CERTIFICATE',
      );
    });

  test('tls.mode insecure with consent is not', async () => {
    const target = createTarget(rig.sim.endpoint({ tls: { mode: 'insecure' } }), { allowInsecureTls: true });
    assert.equal((await target.check()).version, '7.0');
    await target.close();
  });
});

describe('a client that nobody trusts', () => {
  for (const [what, client] of [
    ['with another certificate', selfSigned()],
    ['without a certificate', { certPem: '', keyPem: '' }],
  ] as const)
    test(`${what} is UNTRUSTED in every call, and changes nothing`, async () => {
      const target = rig.connect({ clientCert: client.certPem, clientKey: client.keyPem });
      for (const attempt of [
        () => target.check(),
        () => target.facts('default'),
        () => target.find('default', 'web'),
        () => target.create(newInstance()),
        () => target.start('default', 'web'),
        () => target.openDisk('default', 'web', 0, { writable: true }),
      ])
        assert.match((await failure(attempt(), 'UNTRUSTED')).next, /trust store/);
      assert.deepEqual(rig.sim.instances(), []);
    });

  test('has no pair of certificate and key: said at once, without the key', () => {
    const { certPem } = selfSigned();
    const { keyPem } = selfSigned();
    assert.throws(
      () => rig.connect({ clientCert: certPem, clientKey: keyPem }),
      (error) => error instanceof TargetError && error.code === 'UNTRUSTED' && !error.message.includes('BEGIN'),
    );
  });
});

test('a trusted client without the right is FORBIDDEN', async () => {
  rig.sim.faults.add({ path: /projects/, effect: { kind: 'status', status: 403, error: 'Forbidden' } });
  const error = await failure(rig.target.facts('default'), 'FORBIDDEN');
  assert.match(error.message, /Forbidden \(HTTP 403\)/);
});

describe('what is no answer of an Incus server', () => {
  test('a 404 of a proxy is no absence', async () => {
    rig.sim.faults.add({ path: /instances\/web$/, times: Infinity, effect: { kind: 'page', status: 404 } });
    await failure(rig.target.find('default', 'web'), 'PROTOCOL');
    await failure(rig.target.deleteOwned('default', 'web', { uuid: 'x', attempt: 1 }), 'PROTOCOL');
  });

  test('a page with status 200 is PROTOCOL', async () => {
    rig.sim.faults.add({ path: /^\/1\.0$/, effect: { kind: 'page', status: 200 } });
    assert.match((await failure(rig.target.check(), 'PROTOCOL')).message, /form that is not known/);
  });

  test('a 502 of a proxy is SERVER, and its page is not repeated', async () => {
    rig.sim.faults.add({ path: /^\/1\.0$/, effect: { kind: 'page', status: 502 } });
    assert.doesNotMatch((await failure(rig.target.check(), 'SERVER')).message, /html/);
  });
});

test('a read whose connection breaks is asked again', async () => {
  rig.sim.faults.add({ path: /^\/1\.0$/, times: 2, effect: { kind: 'drop', when: 'before' } });
  assert.equal((await rig.target.check()).version, '7.0');
});

test('a server that never answers is TIMEOUT when the time of the call is over', async () => {
  const { passed, open } = gate();
  rig.sim.faults.add({ path: /^\/1\.0$/, effect: { kind: 'hold', until: passed } });
  const error = await failure(rig.target.check({ timeoutMs: 100 }), 'TIMEOUT');
  assert.match(error.message, /not done within 100 ms/);
  open();
});

test('a caller that gives up gets its own reason, also while an operation is awaited', async () => {
  const { passed, open } = gate();
  rig.sim.faults.add({ method: 'POST', path: /instances$/, effect: { kind: 'hold-operation', until: passed } });
  const caller = new AbortController();
  const attempt = rig.target.create(newInstance(), { signal: caller.signal });
  await waitFor('the wait for the operation', () => rig.sim.journal.requests('GET', /\/wait$/).length > 0);
  const reason = new Error('the activity is cancelled');
  caller.abort(reason);
  await assert.rejects(attempt, (error) => error === reason);
  open();
});

test('keys and certificates are in no error', async () => {
  const { certPem, keyPem } = rig.sim.client;
  await rig.sim.down();
  const error = await failure(rig.target.check(), 'UNREACHABLE');
  const shown = `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`;
  for (const secret of [certPem, keyPem]) assert.ok(!shown.includes(secret.split('\n')[1]!));
});

test('clients are kept by name, and made anew when the address or a secret is another one', async () => {
  const targets = createTargets({ allowInsecureTls: false });
  const other = await IncusSim.start();
  try {
    const first = targets.of(rig.sim.endpoint());
    assert.equal(targets.of(rig.sim.endpoint()), first);
    const second = targets.of(other.endpoint());
    assert.notEqual(second, first);
    await other.addInstance({ name: 'only-here' });
    assert.ok(await targets.of(other.endpoint()).find('default', 'only-here'));
    assert.notEqual(targets.of(rig.sim.endpoint({ name: 'tgt2' })), second);
  } finally {
    await targets.close();
    await other.stop();
  }
});
