import assert from 'node:assert/strict';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { waitFor } from '../../support/wait-for.ts';
import { gate, useSim } from './builders.ts';

/** The simulator must refuse what a real server refuses: an adapter that works only with a kind one is of no use. */
const rig = useSim();

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: {
    readonly type: string;
    readonly error?: string;
    readonly metadata: { readonly id: string; readonly status_code: number; readonly err: string } & Record<
      string,
      never
    >;
  };
}

const client = () => ({ cert: rig.sim.client.certPem, key: rig.sim.client.keyPem });

function call(method: string, path: string, body?: unknown, more: https.RequestOptions = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { method, rejectUnauthorized: false, agent: false, ...client(), ...more };
    const request = https.request(rig.sim.url + path, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const parsed = JSON.parse(Buffer.concat(chunks).toString()) as Reply['body'];
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed });
      });
    });
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The end of the operation that a request has begun. */
async function ended(begun: Promise<Reply>) {
  const { status, body, headers } = await begun;
  assert.equal(status, 202, JSON.stringify(body));
  assert.equal(headers['location'], `/1.0/operations/${body.metadata.id}`);
  return (await call('GET', `/1.0/operations/${body.metadata.id}/wait?timeout=-1`)).body.metadata;
}

const newVm = (more: object = {}) => ({
  name: 'web',
  type: 'virtual-machine',
  source: { type: 'none' },
  devices: { root: { type: 'disk', path: '/', pool: 'default', size: '1MiB' } },
  ...more,
});

describe('creating an instance', () => {
  for (const [what, body, err] of [
    ['of a name that is taken', newVm(), /already exists/],
    ['with an unknown key', newVm({ name: 'db', config: { 'no.such': '1' } }), /Unknown configuration key/],
    [
      'in an unknown pool',
      newVm({ name: 'db', devices: { root: { type: 'disk', path: '/', pool: 'x' } } }),
      /pool not found/,
    ],
    ['without a root disk', newVm({ name: 'db', devices: {} }), /No root disk/],
    ['with an unknown profile', newVm({ name: 'db', profiles: ['x'] }), /profile "x"/],
    [
      'with network and parent',
      newVm({ name: 'db', devices: { e: { type: 'nic', network: 'incusbr0', parent: 'x' } } }),
      /in conjunction/,
    ],
  ] as const)
    test(`${what} is accepted and fails as an operation`, async () => {
      assert.equal((await ended(call('POST', '/1.0/instances', newVm()))).status_code, 200);
      const { status_code, err: found } = await ended(call('POST', '/1.0/instances', body));
      assert.equal(status_code, 400);
      assert.match(found, err);
      assert.deepEqual(
        rig.sim.instances().map(({ name }) => name),
        ['web'],
      );
    });

  test('with fields of a wrong type, a bad name or in no project is refused at once', async () => {
    assert.equal((await call('POST', '/1.0/instances', newVm({ config: { a: 1 } }))).status, 400);
    assert.equal((await call('POST', '/1.0/instances', newVm({ name: 'a_b' }))).status, 400);
    assert.equal((await call('POST', '/1.0/instances?project=nope', newVm())).status, 404);
  });

  test('ignores fields that it does not know', async () => {
    assert.equal((await ended(call('POST', '/1.0/instances', newVm({ whatever: 1 })))).status_code, 200);
  });

  test('goes on when the client hangs up', async () => {
    const { passed, open } = gate();
    rig.sim.faults.add({ method: 'POST', path: /instances$/, effect: { kind: 'hold-operation', until: passed } });
    const begun = await call('POST', '/1.0/instances', newVm());
    assert.equal((await call('GET', '/1.0/instances/web')).status, 200, 'it can be seen while it is being made');
    const path = `/1.0/operations/${begun.body.metadata.id}`;
    assert.equal((await call('GET', `${path}/wait?timeout=0`)).body.metadata.status_code, 103);
    open();
    await waitFor('the end', async () => (await call('GET', path)).body.metadata.status_code === 200);
  });
});

test('an operation is forgotten some time after its end, or when the server is restarted', async () => {
  rig.sim.settings.operationKeptMs = 20;
  const { body } = await call('POST', '/1.0/instances', newVm());
  const path = `/1.0/operations/${body.metadata.id}`;
  await waitFor('it to be forgotten', async () => (await call('GET', path)).status === 404);
  rig.sim.settings.operationKeptMs = 60_000;
  const { body: second } = await call('PUT', '/1.0/instances/web/state', { action: 'start' });
  await rig.sim.restart();
  assert.equal((await call('GET', `/1.0/operations/${second.metadata.id}/wait`)).status, 404);
});

describe('changing an instance', () => {
  test('with an old ETag is 412; what is left out is emptied', async () => {
    await ended(call('POST', '/1.0/instances', newVm({ profiles: ['default'], description: 'x' })));
    const { headers, body } = await call('GET', '/1.0/instances/web');
    const match = { headers: { 'if-match': String(headers['etag']) } };
    const { devices } = body.metadata;
    assert.equal((await ended(call('PUT', '/1.0/instances/web', { devices }, match))).status_code, 200);
    assert.equal((await call('PUT', '/1.0/instances/web', { devices }, match)).status, 412);
    assert.deepEqual(rig.sim.instance('default', 'web')!.profiles, []);
    assert.equal(rig.sim.instance('default', 'web')!.description, '');
    assert.deepEqual(rig.sim.instance('default', 'web')!.config, {});
  });

  test('accepts everything that was read', async () => {
    await ended(call('POST', '/1.0/instances', newVm()));
    const before = structuredClone(rig.sim.instance('default', 'web'));
    const { metadata } = (await call('GET', '/1.0/instances/web')).body;
    assert.equal((await ended(call('PUT', '/1.0/instances/web', metadata))).status_code, 200);
    assert.deepEqual(rig.sim.instance('default', 'web'), before);
  });

  test('that runs is refused for what a running machine can not change', async () => {
    await rig.sim.addInstance({ name: 'web', running: true });
    const { metadata } = (await call('GET', '/1.0/instances/web')).body;
    const changed = { ...metadata, config: { 'limits.cpu': '3' } };
    assert.match((await ended(call('PUT', '/1.0/instances/web', changed))).err, /cannot be updated when VM is running/);
  });

  test('that is busy fails', async () => {
    await rig.sim.addInstance({ name: 'web' });
    const { passed, open } = gate();
    rig.sim.faults.add({ method: 'PUT', path: /state$/, effect: { kind: 'hold-operation', until: passed } });
    await call('PUT', '/1.0/instances/web/state', { action: 'start' });
    assert.match((await ended(call('DELETE', '/1.0/instances/web'))).err, /busy running a "start"/);
    open();
  });
});

test('start and stop of what is so already are accepted and fail; a running instance is not deleted', async () => {
  await rig.sim.addInstance({ name: 'web' });
  const state = (action: string) =>
    ended(call('PUT', '/1.0/instances/web/state', { action, timeout: -1, force: true }));
  assert.match((await state('stop')).err, /already stopped/);
  assert.equal((await state('start')).status_code, 200);
  assert.match((await state('start')).err, /already running/);
  assert.equal((await call('DELETE', '/1.0/instances/web')).status, 400);
  assert.equal((await call('PUT', '/1.0/instances/web/state', { action: 'jump' })).status, 400);
});

describe('volumes', () => {
  const volumes = '/1.0/storage-pools/default/volumes/custom';
  const block = { name: 'v', content_type: 'block', config: { size: '1000000B' } };

  test('have whole blocks while the configuration keeps the number; taken names are 409', async () => {
    assert.equal((await call('POST', volumes, block)).status, 200);
    assert.equal((await call('POST', volumes, block)).status, 409);
    const [volume] = rig.sim.volumes();
    assert.equal(volume!.size, 1_007_616);
    assert.equal(volume!.config['size'], '1000000B');
  });

  test('lose the size that is left out, and do not shrink', async () => {
    await call('POST', volumes, block);
    assert.equal((await call('PUT', `${volumes}/v`, { config: { size: '8KiB' } })).status, 500);
    assert.equal((await call('PUT', `${volumes}/v`, { config: {} })).status, 200);
    assert.deepEqual(rig.sim.volumes()[0]!.config, {});
  });

  test('that are attached are not deleted', async () => {
    await call('POST', volumes, block);
    await rig.sim.addInstance({ name: 'web', devices: { d: { type: 'disk', pool: 'default', source: 'v' } } });
    assert.equal((await call('DELETE', `${volumes}/v`)).status, 400);
    await rig.sim.removeInstance('default', 'web');
    assert.equal((await call('DELETE', `${volumes}/v`)).status, 200);
    assert.equal((await call('DELETE', `${volumes}/v`)).status, 404);
  });
});

test('nobody says of an unknown project that it is unknown, except when it is asked for', async () => {
  const list = await call('GET', '/1.0/instances?project=nope');
  assert.deepEqual([list.status, list.body.metadata], [200, []]);
  assert.equal((await call('GET', '/1.0/projects/nope')).status, 404);
  assert.equal((await call('GET', '/1.0/cluster/members')).status, 500);
});

test('clients that nobody trusts may only ask who they are', async () => {
  const { body, status } = await call('GET', '/1.0', undefined, { cert: '', key: '' });
  assert.deepEqual([status, body.metadata['auth']], [200, 'untrusted']);
  assert.equal((await call('GET', '/1.0/projects', undefined, { cert: '', key: '' })).status, 403);
});

test('requests and changes of state are counted together, in their order', async () => {
  await rig.sim.addInstance({ name: 'web' });
  await ended(call('PUT', '/1.0/instances/web/state', { action: 'start' }));
  const [request] = rig.sim.journal.requests('PUT', /state$/);
  const [started] = rig.sim.journal.events('instance-started', 'web');
  const [wait] = rig.sim.journal.requests('GET', /wait$/);
  assert.ok(request!.seq < started!.seq);
  assert.equal(request!.status, 202);
  assert.ok(wait!.at >= request!.at);
  assert.deepEqual(request!.body, { action: 'start' });
});

describe('a disk over NBD', () => {
  const path = '/1.0/storage-pools/default/volumes/virtual-machine/web/nbd?writable=1';

  function upgrade(): Promise<Duplex | number> {
    return new Promise((resolve, reject) => {
      const headers = { connection: 'Upgrade', upgrade: 'nbd' };
      const options = { rejectUnauthorized: false, agent: false as const, ...client(), headers };
      const request = https.request(rig.sim.url + path, options);
      request.on('upgrade', (_response, socket: Duplex, head: Buffer) => {
        socket.unshift(head);
        resolve(socket);
      });
      request.on('response', (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on('error', reject);
      request.end();
    });
  }

  async function take(socket: Duplex, length: number): Promise<Buffer> {
    let found: Buffer | undefined;
    await waitFor(`${length} bytes`, () => (found = (socket.read(length) as Buffer | null) ?? undefined));
    return found!;
  }

  const request = (type: number, offset: number, length: number): Buffer => {
    const bytes = Buffer.alloc(28);
    bytes.writeUInt32BE(0x25609513);
    bytes.writeUInt16BE(type, 6);
    bytes.writeBigUInt64BE(77n, 8);
    bytes.writeBigUInt64BE(BigInt(offset), 16);
    bytes.writeUInt32BE(length, 24);
    return bytes;
  };

  test('speaks the short form of the handshake too, and trims', async () => {
    await rig.sim.addInstance({ name: 'web', size: '1MiB' });
    await rig.sim.writeDisk('default', 'web', 0, 4_096, Buffer.alloc(8_192, 7));
    const socket = await upgrade();
    assert.ok(typeof socket !== 'number');
    assert.equal((await take(socket, 18)).toString('latin1', 0, 16), 'NBDMAGICIHAVEOPT');
    const option = Buffer.from('0000000149484156454f50540000000100000000', 'hex'); // flags 1, EXPORT_NAME, empty
    socket.write(option);
    const answer = await take(socket, 10 + 124);
    assert.equal(answer.readBigUInt64BE(), BigInt(2 ** 20));
    assert.equal(answer.readUInt16BE(8), 0x65);
    socket.write(request(4, 4_096, 4_096));
    const reply = await take(socket, 16);
    assert.deepEqual([reply.readUInt32BE(), reply.readUInt32BE(4), reply.readBigUInt64BE(8)], [0x67446698, 0, 77n]);
    socket.write(request(0, 2 ** 20 - 1, 2));
    assert.equal((await take(socket, 16)).readUInt32BE(4), 22);
    socket.write(request(2, 0, 0));
    await waitFor('the server to hang up', () => rig.sim.journal.events('nbd-closed').length > 0);
    const expected = Buffer.concat([Buffer.alloc(4_096), Buffer.alloc(4_096, 7)]);
    assert.ok(expected.equals(await rig.sim.readDisk('default', 'web', 0, 4_096, 8_192)));
    socket.destroy();
  });

  test('has one writer at a time, and none while the instance runs', async () => {
    await rig.sim.addInstance({ name: 'web', running: true });
    assert.equal(await upgrade(), 400);
    rig.sim.setPower('default', 'web', false);
    const socket = await upgrade();
    assert.ok(typeof socket !== 'number');
    assert.equal(await upgrade(), 409);
    assert.match((await ended(call('PUT', '/1.0/instances/web/state', { action: 'start' }))).err, /lock/);
    socket.destroy();
    await waitFor('the lock to be free', async () => {
      const next = await upgrade();
      if (typeof next === 'number') return false;
      next.destroy();
      return true;
    });
  });
});
