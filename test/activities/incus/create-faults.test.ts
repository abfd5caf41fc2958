import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { waitFor } from '../../support/wait-for.ts';
import { failure, gate, marks, newInstance, useSim, volumeNames } from './builders.ts';

const rig = useSim();

const created = (): number => rig.sim.journal.events('instance-created', 'web').length;
const onCreate = { method: 'POST', path: /instances$/ } as const;

describe('batch/S52: an answer that is lost after the instance was created', () => {
  for (const existingName of ['operation', 400, 409] as const)
    test(`leaves exactly one instance (a taken name is refused as ${existingName})`, async () => {
      rig.sim.settings.existingName = existingName;
      rig.sim.faults.add({ ...onCreate, effect: { kind: 'drop', when: 'after' } });
      await rig.target.create(newInstance(2));
      assert.equal(created(), 1);
      assert.equal(rig.sim.instances().length, 1);
      assert.deepEqual(volumeNames(rig.sim), ['default/default/web-disk1']);
    });

  test('with a 500 or a page of a proxy instead of the answer leaves exactly one too', async () => {
    for (const [name, effect] of [
      ['web1', { kind: 'status', status: 500, error: 'context canceled', isDone: true }],
      ['web2', { kind: 'page', status: 502, isDone: true }],
      ['web3', { kind: 'page', status: 200, isDone: true }],
    ] as const) {
      rig.sim.faults.add({ ...onCreate, effect });
      await rig.target.create(newInstance(1, { name }));
      assert.equal(rig.sim.journal.events('instance-created', name).length, 1);
    }
  });

  test('and that is not found at first leaves exactly one', async () => {
    rig.sim.faults.add({ ...onCreate, effect: { kind: 'drop', when: 'after' } });
    const effect = { kind: 'status', status: 404, error: 'Instance not found' } as const;
    rig.sim.faults.add({ method: 'GET', path: /instances\/web$/, skip: 1, effect });
    await rig.target.create(newInstance(1));
    assert.equal(created(), 1);
    assert.equal(rig.sim.instances().length, 1);
  });

  test('and a server that forgets its operations leaves exactly one', async () => {
    const { passed, open } = gate();
    rig.sim.faults.add({ ...onCreate, effect: { kind: 'hold-operation', until: passed } });
    const attempt = rig.target.create(newInstance(2));
    await waitFor('the wait for the operation', () => rig.sim.journal.requests('GET', /\/wait$/).length > 0);
    await Promise.all([rig.sim.restart(), attempt.catch(() => undefined)]);
    open();
    await waitFor(
      'the half-made instance to be taken back',
      () => rig.sim.instance('default', 'web')?.busy === undefined,
    );
    await rig.target.create(newInstance(2));
    assert.equal(rig.sim.instances().length, 1);
    assert.deepEqual(volumeNames(rig.sim), ['default/default/web-disk1']);
  });
});

for (const visibleWhileCreating of [true, false])
  describe(`case/87: creating takes longer than the caller waits (visible meanwhile: ${visibleWhileCreating})`, () => {
    beforeEach(() => {
      rig.sim.settings.visibleWhileCreating = visibleWhileCreating;
    });

    test('and succeeds late: the next attempt waits for it and adopts it', async () => {
      const { passed, open } = gate();
      rig.sim.faults.add({ ...onCreate, effect: { kind: 'hold-operation', until: passed } });
      await failure(rig.target.create(newInstance(2), { timeoutMs: 300 }), 'TIMEOUT');
      const next = rig.target.create(newInstance(2));
      await waitFor('the second attempt to look', () => rig.sim.journal.requests('GET', /operations$/).length > 1);
      open();
      await next;
      assert.equal(created(), 1);
      assert.equal(rig.sim.journal.requests('POST', /instances$/).length, 1);
    });

    test('and fails late: the next attempt waits for that and creates it', async () => {
      const { passed, open } = gate();
      const busy = passed.then(() => rig.sim.setCapacity('default', 0));
      rig.sim.faults.add({ ...onCreate, effect: { kind: 'hold-operation', until: busy } });
      await failure(rig.target.create(newInstance(2), { timeoutMs: 300 }), 'TIMEOUT');
      open();
      await waitFor('the first attempt to fail', () => rig.sim.instances().length === 0);
      rig.sim.setCapacity('default', 2 ** 30);
      await rig.target.create(newInstance(2));
      assert.equal(created(), 1);
      assert.deepEqual(volumeNames(rig.sim), ['default/default/web-disk1']);
    });

    test('and is cleaned up meanwhile: the clean-up waits for the late end and leaves nothing', async () => {
      const { passed, open } = gate();
      rig.sim.faults.add({ ...onCreate, effect: { kind: 'hold-operation', until: passed } });
      await failure(rig.target.create(newInstance(2), { timeoutMs: 300 }), 'TIMEOUT');
      const cleanUp = rig.target.deleteOwned('default', 'web', marks());
      await waitFor('the clean-up to look', () => rig.sim.journal.requests('GET', /operations$/).length > 1);
      open();
      assert.equal(await cleanUp, true);
      assert.deepEqual(rig.sim.instances(), []);
      assert.deepEqual(volumeNames(rig.sim), []);
    });
  });

describe('case/87: what came too late', () => {
  test('and is begun late: the one that comes second fails, and there is one', async () => {
    const { passed, open } = gate();
    rig.sim.faults.add({ ...onCreate, effect: { kind: 'hold', until: passed } });
    await failure(rig.target.create(newInstance(2), { timeoutMs: 300 }), 'TIMEOUT');
    await rig.target.create(newInstance(2));
    open();
    await waitFor('the late request', () =>
      rig.sim.journal.requests('POST', /instances$/).every(({ status }) => status),
    );
    await rig.target.create(newInstance(2));
    assert.equal(created(), 1);
    assert.equal(rig.sim.instances().length, 1);
  });

  test('with a volume whose answer was lost: the clean-up finds it without the instance', async () => {
    await rig.target.create(newInstance(1));
    await rig.sim.addVolume('web-disk1', {
      config: { size: '4MiB', 'user.migration.uuid': marks().uuid, 'user.migration.attempt': '1' },
    });
    await rig.sim.removeInstance('default', 'web');
    assert.equal(await rig.target.deleteOwned('default', 'web', marks()), false);
    assert.deepEqual(volumeNames(rig.sim), []);
  });
});

test('an operation that an earlier attempt has begun is awaited, not begun again', async () => {
  const { passed, open } = gate();
  rig.sim.faults.add({ ...onCreate, effect: { kind: 'hold-operation', until: passed } });
  const ids: string[] = [];
  await failure(rig.target.create(newInstance(), { timeoutMs: 300, onOperation: (id) => ids.push(id) }), 'TIMEOUT');
  const next = rig.target.create(newInstance(), { operationId: ids[0]!, onOperation: (id) => ids.push(id) });
  open();
  await next;
  assert.deepEqual(ids, [ids[0], ids[0]]);
  assert.equal(rig.sim.journal.requests('POST', /instances$/).length, 1);
});

test('an operation that nobody knows any more is no failure: the instance is looked at', async () => {
  await rig.target.create(newInstance());
  await rig.target.create(newInstance(), { operationId: '00000000-0000-4000-8000-000000000000' });
  await rig.target.start('default', 'web', { operationId: '00000000-0000-4000-8000-000000000000' });
  assert.equal(rig.sim.instance('default', 'web')!.status, 'Running');
});

test('an operation that fails at its end fails the creation with the words of the server, and leaves nothing', async () => {
  rig.sim.faults.add({ ...onCreate, effect: { kind: 'fail-operation', error: 'qemu is not installed' } });
  const error = await failure(rig.target.create(newInstance(2)), 'OPERATION_FAILED');
  assert.match(error.message, /Target tgt: could not create web in project default: .*qemu is not installed/);
  assert.deepEqual(rig.sim.instances(), []);
  assert.deepEqual(volumeNames(rig.sim), []);
  await rig.target.create(newInstance(2));
});

test('disks that are attached while somebody else changes the instance are attached to what it is then', async () => {
  rig.sim.faults.add({ method: 'PUT', path: /instances\/web$/, times: 2, effect: { kind: 'etag-race' } });
  await rig.target.create(newInstance(3));
  const { devices, config } = rig.sim.instance('default', 'web')!;
  assert.deepEqual(Object.keys(devices), ['root', 'disk1', 'disk2']);
  assert.ok('user.race' in config, 'the change of the other one is kept');
});

test('an instance that somebody else never stops changing is ETAG after some attempts', async () => {
  rig.sim.faults.add({ method: 'PUT', path: /instances\/web$/, times: Infinity, effect: { kind: 'etag-race' } });
  await failure(rig.target.create(newInstance(2)), 'ETAG');
  assert.equal(rig.sim.journal.requests('PUT', /instances\/web$/).length, 3);
});

test('two attempts at the same time make one instance', async () => {
  const [first, second] = [rig.connect(), rig.connect()];
  await Promise.all([first.create(newInstance(3)), second.create(newInstance(3))]);
  assert.equal(created(), 1);
  assert.equal(rig.sim.instances().length, 1);
  assert.equal(rig.sim.volumes().length, 2);
});
