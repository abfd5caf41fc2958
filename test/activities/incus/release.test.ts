import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { waitFor } from '../../support/wait-for.ts';
import { failure, gate, marks, newInstance, useSim, uuid, volumeNames } from './builders.ts';

const rig = useSim();
const at = '2026-08-01T00:00:00Z';

const instance = () => rig.sim.instance('default', 'web')!;
const markKeys = (config: Readonly<Record<string, string>>): string[] =>
  Object.keys(config).filter((key) => key.startsWith('user.migra'));

describe('handing over', () => {
  test('replaces the marks of the instance and of its volumes, also while it runs', async () => {
    await rig.target.create(newInstance(3));
    await rig.target.setFence('default', 'web', 7);
    await rig.target.start('default', 'web');
    await rig.target.release('default', 'web', marks(), at);
    assert.deepEqual(markKeys(instance().config), ['user.migration_source', 'user.migrated.uuid', 'user.migrated.at']);
    for (const { config } of rig.sim.volumes()) {
      assert.deepEqual(markKeys(config), ['user.migrated.uuid', 'user.migrated.at']);
      assert.equal(config['size'], '4194304B');
    }
    assert.equal(instance().config['user.migrated.uuid'], uuid);
    assert.equal(instance().status, 'Running');
    assert.deepEqual(await rig.target.listOwned(), []);
  });

  test('a second time changes nothing, and keeps the first time', async () => {
    await rig.target.create(newInstance(2));
    await rig.target.release('default', 'web', marks(), at);
    rig.sim.journal.clear();
    await rig.target.release('default', 'web', marks(), '2027-01-01T00:00:00Z');
    assert.deepEqual(rig.sim.journal.changes(), []);
    assert.equal(instance().config['user.migrated.at'], at);
  });

  test('that ended between instance and volumes goes on with the volumes', async () => {
    await rig.target.create(newInstance(2));
    rig.sim.faults.add({ method: 'PUT', path: /volumes/, times: 4, effect: { kind: 'drop', when: 'before' } });
    await failure(rig.target.release('default', 'web', marks(), at), 'UNREACHABLE');
    await failure(rig.target.deleteOwned('default', 'web', marks()), 'NOT_OURS');
    assert.deepEqual(volumeNames(rig.sim), ['default/default/web-disk1']);
    await rig.target.release('default', 'web', marks(), at);
    assert.deepEqual(markKeys(rig.sim.volumes()[0]!.config), ['user.migrated.uuid', 'user.migrated.at']);
  });

  test('in a race with somebody else keeps the change of the other one', async () => {
    await rig.target.create(newInstance(2));
    rig.sim.faults.add({ method: 'PUT', path: /volumes/, effect: { kind: 'etag-race' } });
    rig.sim.faults.add({ method: 'PUT', path: /instances/, effect: { kind: 'etag-race' } });
    await rig.target.release('default', 'web', marks(), at);
    assert.ok('user.race' in instance().config);
    assert.ok('user.race' in rig.sim.volumes()[0]!.config);
  });

  test('leaves volumes alone that somebody else has attached', async () => {
    await rig.target.create(newInstance(1));
    await rig.sim.addVolume('data', { config: { size: '4MiB' } });
    instance().devices['data'] = { type: 'disk', pool: 'default', source: 'data' };
    await rig.target.release('default', 'web', marks(), at);
    assert.deepEqual(rig.sim.volumes()[0]!.config, { size: '4MiB' });
  });

  test('of another attempt, another entry or nobody is NOT_OURS', async () => {
    await rig.sim.addInstance({ name: 'foreign' });
    await rig.target.create(newInstance());
    rig.sim.journal.clear();
    await failure(rig.target.release('default', 'web', marks({ attempt: 2 }), at), 'NOT_OURS');
    await failure(rig.target.release('default', 'web', marks({ uuid: 'other' }), at), 'NOT_OURS');
    await failure(rig.target.release('default', 'foreign', marks(), at), 'NOT_OURS');
    assert.deepEqual(rig.sim.journal.changes(), []);
  });
});

describe('deleting', () => {
  for (const [what, extensions] of [
    ['together with the instance', ['storage_volume_nbd', 'dependent']],
    ['after the instance', ['storage_volume_nbd']],
  ] as const)
    test(`takes away a running instance and its volumes (${what})`, async () => {
      rig.sim.settings.extensions = [...extensions];
      await rig.target.create(newInstance(3));
      await rig.target.start('default', 'web');
      assert.equal(await rig.target.deleteOwned('default', 'web', marks()), true);
      assert.deepEqual(rig.sim.instances(), []);
      assert.deepEqual(volumeNames(rig.sim), []);
      const [stopped] = rig.sim.journal.events('instance-stopped');
      const [deleted] = rig.sim.journal.events('instance-deleted');
      assert.ok(stopped!.seq < deleted!.seq);
      assert.equal(await rig.target.deleteOwned('default', 'web', marks()), false);
    });

  test('what does not exist answers false, also in a project that does not', async () => {
    assert.equal(await rig.target.deleteOwned('default', 'web', marks()), false);
    assert.equal(await rig.target.deleteOwned('nope', 'web', marks()), false);
  });

  for (const [what, other] of [
    ['another attempt', { uuid, attempt: 2 }],
    ['another entry', { uuid: 'other', attempt: 1 }],
  ] as const)
    test(`for ${what} is NOT_OURS, and nothing is touched`, async () => {
      await rig.target.create(newInstance(2));
      await rig.target.start('default', 'web');
      rig.sim.journal.clear();
      await failure(rig.target.deleteOwned('default', 'web', other), 'NOT_OURS');
      assert.deepEqual(rig.sim.journal.changes(), []);
    });

  test('a foreign instance of that name is refused, and nothing of it is touched', async () => {
    await rig.sim.addInstance({ name: 'web', running: true });
    const error = await failure(rig.target.deleteOwned('default', 'web', marks()), 'NOT_OURS');
    assert.match(error.message, /Target tgt: could not delete web in project default: .*no marks.*Nothing was changed/);
    assert.deepEqual(rig.sim.journal.changes(), []);
  });

  test('a finished instance is refused, also with the marks it had', async () => {
    await rig.target.create(newInstance(2));
    await rig.target.release('default', 'web', marks(), at);
    await failure(rig.target.deleteOwned('default', 'web', marks()), 'NOT_OURS');
    assert.equal(rig.sim.volumes().length, 1);
    assert.equal(rig.sim.instances().length, 1);
  });

  test('beside a foreign instance takes away our own unused volumes', async () => {
    await rig.sim.addInstance({ name: 'web' });
    await rig.sim.addVolume('web-disk1', {
      config: { size: '4MiB', 'user.migration.uuid': uuid, 'user.migration.attempt': '1' },
    });
    await rig.sim.addVolume('web-disk2', { config: { size: '4MiB' } });
    await failure(rig.target.deleteOwned('default', 'web', marks()), 'NOT_OURS');
    assert.deepEqual(volumeNames(rig.sim), ['default/default/web-disk2']);
  });

  test('leaves volumes of others alone', async () => {
    await rig.target.create(newInstance(1));
    await rig.sim.addVolume('data', { config: { size: '4MiB' } });
    await rig.sim.addVolume('theirs', {
      config: { size: '4MiB', 'user.migration.uuid': 'other', 'user.migration.attempt': '1' },
    });
    instance().devices['data'] = { type: 'disk', pool: 'default', source: 'data' };
    await rig.target.deleteOwned('default', 'web', marks());
    assert.deepEqual(volumeNames(rig.sim), ['default/default/data', 'default/default/theirs']);
  });

  test('a volume of ours that another instance uses is BUSY and stays', async () => {
    rig.sim.settings.extensions = ['storage_volume_nbd'];
    await rig.target.create(newInstance(2));
    await rig.sim.addInstance({
      name: 'rescue',
      devices: { d: { type: 'disk', pool: 'default', source: 'web-disk1' } },
    });
    const error = await failure(rig.target.deleteOwned('default', 'web', marks()), 'BUSY');
    assert.match(error.message, /web-disk1 is attached to .*rescue/);
    assert.equal(rig.sim.instance('default', 'web'), undefined);
    assert.deepEqual(volumeNames(rig.sim), ['default/default/web-disk1']);
  });

  test('whose answer is lost happens once', async () => {
    await rig.target.create(newInstance(2));
    rig.sim.faults.add({ method: 'DELETE', path: /instances\/web$/, effect: { kind: 'drop', when: 'after' } });
    assert.equal(await rig.target.deleteOwned('default', 'web', marks()), true);
    assert.equal(rig.sim.journal.events('instance-deleted').length, 1);
  });

  test('that fails at its end is OPERATION_FAILED, and the volumes stay with the instance', async () => {
    await rig.target.create(newInstance(2));
    rig.sim.faults.add({
      method: 'DELETE',
      path: /instances\/web$/,
      effect: { kind: 'fail-operation', error: 'dataset is odd' },
    });
    await failure(rig.target.deleteOwned('default', 'web', marks()), 'OPERATION_FAILED');
    assert.equal(rig.sim.volumes().length, 1);
    assert.equal(await rig.target.deleteOwned('default', 'web', marks()), true);
  });

  test('what somebody else takes over while it is being stopped is NOT_OURS and stays', async () => {
    await rig.target.create(newInstance(1));
    await rig.target.start('default', 'web');
    rig.sim.journal.clear();
    const { passed, open } = gate();
    rig.sim.faults.add({ method: 'PUT', path: /state$/, effect: { kind: 'hold', until: passed } });
    const deletion = rig.target.deleteOwned('default', 'web', marks());
    await waitFor('the stop', () => rig.sim.journal.requests('PUT', /state$/).length > 0);
    instance().config['user.migration.attempt'] = '2';
    open();
    await failure(deletion, 'NOT_OURS');
    assert.equal(rig.sim.instances().length, 1);
  });
});
