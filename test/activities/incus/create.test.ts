import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { disk, failure, marks, MiB, newInstance, useSim, uuid, volumeNames } from './builders.ts';

const rig = useSim();

const posts = (path: RegExp): number => rig.sim.journal.requests('POST', path).length;

describe('a new instance', () => {
  test('is stopped, has the marks, and one empty disk per source disk in its pool', async () => {
    await rig.target.create(newInstance(0, { disks: [disk(0), disk(1, { pool: 'fast' }), disk(2)] }));
    const instance = rig.sim.instance('default', 'web')!;
    assert.equal(instance.status, 'Stopped');
    assert.equal(instance.description, 'a web server');
    assert.deepEqual(instance.profiles, ['default']);
    assert.deepEqual(instance.devices, {
      root: {
        type: 'disk',
        path: '/',
        pool: 'default',
        size: '4194304B',
        'user.migration_source': '[ds] web/web_0.vmdk',
      },
      disk1: {
        type: 'disk',
        pool: 'fast',
        source: 'web-disk1',
        dependent: 'true',
        'user.migration_source': '[ds] web/web_1.vmdk',
      },
      disk2: {
        type: 'disk',
        pool: 'default',
        source: 'web-disk2',
        dependent: 'true',
        'user.migration_source': '[ds] web/web_2.vmdk',
      },
    });
    const config = Object.entries(instance.config).filter(([key]) => !key.startsWith('volatile.'));
    assert.deepEqual(Object.fromEntries(config), {
      'image.os': 'Debian',
      'image.release': '13',
      'limits.cpu': '2',
      'limits.memory': '4294967296B',
      'security.csm': 'false',
      'security.secureboot': 'false',
      'migration.stateful': 'false',
      'user.migration.uuid': uuid,
      'user.migration.batch': 'b1',
      'user.migration.attempt': '1',
      'user.migration.running': 'true',
      'user.migration.source': 'vc1',
      'user.migration_source': 'vc1',
    });
    assert.deepEqual(volumeNames(rig.sim), ['fast/default/web-disk1', 'default/default/web-disk2']);
    for (const { config, contentType } of rig.sim.volumes()) {
      assert.equal(contentType, 'block');
      assert.equal(config['user.migration.uuid'], uuid);
    }
  });

  for (const [what, nic, expected] of [
    ['a managed network', { network: 'incusbr0', nictype: 'managed', vlan_id: '' }, { network: 'incusbr0' }],
    [
      'a bridge with a VLAN',
      { network: 'br1', nictype: 'bridged', vlan_id: '12' },
      { nictype: 'bridged', parent: 'br1', vlan: '12' },
    ],
    [
      'a bridge with a trunk',
      { network: 'br1', nictype: 'bridged', vlan_id: '12,13' },
      { nictype: 'bridged', parent: 'br1', 'vlan.tagged': '12,13' },
    ],
  ] as const)
    test(`has a NIC on ${what} during the migration`, async () => {
      await rig.target.create(newInstance(1, { nic }));
      assert.deepEqual(rig.sim.instance('default', 'web')!.devices['eth0'], { type: 'nic', ...expected });
    });

  test('has disks of whole blocks, and the server keeps them', async () => {
    await rig.target.create(newInstance(0, { disks: [disk(0, { size: 5 * MiB + 512 }), disk(1, { size: 513 })] }));
    assert.equal(rig.sim.diskSize('default', 'web', 0), 5 * MiB + 8_192);
    assert.equal(rig.sim.diskSize('default', 'web', 1), 8_192);
    await rig.target.create(newInstance(0, { disks: [disk(0, { size: 5 * MiB + 512 }), disk(1, { size: 513 })] }));
  });

  test('in a project without volumes of its own has them in the default project', async () => {
    rig.sim.addProject('p2', {});
    await rig.target.create(newInstance(2, { project: 'p2' }));
    assert.deepEqual(volumeNames(rig.sim), ['default/default/web-disk1']);
    assert.equal(await rig.target.deleteOwned('p2', 'web', marks()), true);
    assert.deepEqual(volumeNames(rig.sim), []);
  });

  test('gets its volumes also from a server that makes them in the background', async () => {
    rig.sim.settings.asyncVolumes = true;
    await rig.target.create(newInstance(3));
    assert.equal(rig.sim.volumes().length, 2);
  });

  test('on a server without the extension has no dependent devices', async () => {
    rig.sim.settings.extensions = ['storage_volume_nbd'];
    await rig.target.create(newInstance(2));
    assert.equal('dependent' in rig.sim.instance('default', 'web')!.devices['disk1']!, false);
  });

  test('names its operation as soon as there is one', async () => {
    const named: string[] = [];
    await rig.target.create(newInstance(2), { onOperation: (id) => named.push(id) });
    assert.equal(named.length, 2);
    assert.match(named[0]!, /^[0-9a-f-]{36}$/);
  });
});

describe('creating what is there', () => {
  test('a second time changes nothing', async () => {
    await rig.target.create(newInstance(3));
    const before = structuredClone(rig.sim.instance('default', 'web'));
    rig.sim.journal.clear();
    await rig.target.create(newInstance(3));
    assert.deepEqual(rig.sim.instance('default', 'web'), before);
    assert.deepEqual(rig.sim.journal.changes(), []);
  });

  test('adopts a volume that was never attached and attaches it (C3)', async () => {
    await rig.target.create(newInstance(1));
    await rig.sim.addVolume('web-disk1', {
      config: { size: '4MiB', 'user.migration.uuid': uuid, 'user.migration.attempt': '1' },
    });
    await rig.target.create(newInstance(2));
    assert.equal(posts(/volumes/), 0);
    assert.equal(rig.sim.instance('default', 'web')!.devices['disk1']!['source'], 'web-disk1');
  });

  test('completes missing disks', async () => {
    await rig.target.create(newInstance(1));
    await rig.target.create(newInstance(3));
    assert.deepEqual(Object.keys(rig.sim.instance('default', 'web')!.devices), ['root', 'disk1', 'disk2']);
  });

  for (const existingName of ['operation', 400, 409] as const)
    test(`leaves a foreign instance untouched (its name is refused as ${existingName})`, async () => {
      rig.sim.settings.existingName = existingName;
      await rig.sim.addInstance({ name: 'web', running: true });
      const before = structuredClone(rig.sim.instance('default', 'web'));
      const error = await failure(rig.target.create(newInstance(2)), 'FOREIGN_INSTANCE');
      assert.match(error.message, /Target tgt: could not create web in project default: .*no marks.*left alone/);
      assert.match(error.next, /another name/);
      assert.deepEqual(rig.sim.instance('default', 'web'), before);
      assert.deepEqual(rig.sim.journal.changes(), []);
    });

  test('leaves a foreign instance untouched that appears between look and create', async () => {
    rig.sim.faults.add({
      method: 'GET',
      path: /instances\/web$/,
      effect: { kind: 'status', status: 404, error: 'Instance not found' },
    });
    await rig.sim.addInstance({ name: 'web' });
    await failure(rig.target.create(newInstance(2)), 'FOREIGN_INSTANCE');
    assert.deepEqual(rig.sim.journal.events('instance-created'), []);
    assert.deepEqual(volumeNames(rig.sim), []);
  });

  test('of another entry is FOREIGN_INSTANCE', async () => {
    await rig.target.create(newInstance(1, { marks: marks({ uuid: 'other' }) }));
    assert.match((await failure(rig.target.create(newInstance()), 'FOREIGN_INSTANCE')).message, /entry other/);
  });

  test('of a finished migration is FOREIGN_INSTANCE, also of the same source VM', async () => {
    await rig.target.create(newInstance());
    await rig.target.release('default', 'web', marks(), '2026-08-01T00:00:00Z');
    await failure(rig.target.create(newInstance()), 'FOREIGN_INSTANCE');
  });

  for (const attempt of [1, 3])
    test(`of attempt ${attempt} of the same entry is NOT_OURS for attempt 2, and is left alone`, async () => {
      await rig.target.create(newInstance(1, { marks: marks({ attempt }) }));
      rig.sim.journal.clear();
      const error = await failure(rig.target.create(newInstance(1, { marks: marks({ attempt: 2 }) })), 'NOT_OURS');
      assert.match(error.message, new RegExp(`attempt ${attempt} of the entry`));
      assert.match(error.next, /delete/);
      assert.deepEqual(rig.sim.journal.changes(), []);
    });

  test('in another pool or too small is INVALID', async () => {
    await rig.target.create(newInstance());
    await failure(rig.target.create(newInstance(0, { disks: [disk(0, { pool: 'fast' })] })), 'INVALID');
    await failure(rig.target.create(newInstance(0, { disks: [disk(0, { size: 64 * MiB })] })), 'INVALID');
  });
});

describe('a volume that is in the way', () => {
  test('of somebody else is left alone', async () => {
    await rig.sim.addVolume('web-disk1', { config: { size: '4MiB' } });
    const error = await failure(rig.target.create(newInstance(2)), 'FOREIGN_INSTANCE');
    assert.match(error.message, /volume web-disk1 in the pool default/);
    assert.deepEqual(volumeNames(rig.sim), ['default/default/web-disk1']);
  });

  test('of an earlier attempt that nobody uses is made anew, empty', async () => {
    await rig.sim.addVolume('web-disk1', {
      config: { size: '64MiB', 'user.migration.uuid': uuid, 'user.migration.attempt': '1' },
    });
    await rig.target.create(newInstance(2, { marks: marks({ attempt: 2 }) }));
    assert.equal(rig.sim.volumes()[0]!.config['user.migration.attempt'], '2');
    assert.equal(rig.sim.diskSize('default', 'web', 1), 4 * MiB);
  });

  test('of an earlier attempt that somebody uses is left alone', async () => {
    await rig.sim.addVolume('web-disk1', {
      config: { size: '4MiB', 'user.migration.uuid': uuid, 'user.migration.attempt': '1' },
    });
    await rig.sim.addInstance({
      name: 'rescue',
      devices: { d: { type: 'disk', pool: 'default', source: 'web-disk1' } },
    });
    await failure(rig.target.create(newInstance(2, { marks: marks({ attempt: 2 }) })), 'FOREIGN_INSTANCE');
    assert.equal(rig.sim.journal.requests('DELETE').length, 0);
  });

  test('and appears between look and create is left alone', async () => {
    await rig.sim.addVolume('web-disk1', { config: { size: '4MiB' } });
    const effect = { kind: 'status', status: 404, error: 'Storage volume not found' } as const;
    rig.sim.faults.add({ method: 'GET', path: /custom\/web-disk1$/, effect });
    await failure(rig.target.create(newInstance(2)), 'FOREIGN_INSTANCE');
    assert.deepEqual(rig.sim.faults.unused(), []);
    assert.deepEqual(volumeNames(rig.sim), ['default/default/web-disk1']);
  });

  test('of a later attempt is left alone', async () => {
    await rig.sim.addVolume('web-disk1', {
      config: { size: '4MiB', 'user.migration.uuid': uuid, 'user.migration.attempt': '9' },
    });
    await failure(rig.target.create(newInstance(2)), 'FOREIGN_INSTANCE');
  });

  test('of this attempt but too small is INVALID', async () => {
    await rig.sim.addVolume('web-disk1', {
      config: { size: '1MiB', 'user.migration.uuid': uuid, 'user.migration.attempt': '1' },
    });
    await failure(rig.target.create(newInstance(2)), 'INVALID');
  });
});

describe('what can not be created', () => {
  test('in a project that does not exist is PROJECT_GONE', async () => {
    assert.match(
      (await failure(rig.target.create(newInstance(1, { project: 'nope' })), 'PROJECT_GONE')).message,
      /nope/,
    );
  });

  test('in a full pool is NO_SPACE, for the root disk and for others', async () => {
    rig.sim.addPool('full', { capacity: 1 * MiB });
    await failure(rig.target.create(newInstance(0, { disks: [disk(0, { pool: 'full' })] })), 'NO_SPACE');
    assert.deepEqual(rig.sim.instances(), []);
    for (const asyncVolumes of [false, true]) {
      rig.sim.settings.asyncVolumes = asyncVolumes;
      await failure(rig.target.create(newInstance(0, { disks: [disk(0), disk(1, { pool: 'full' })] })), 'NO_SPACE');
    }
    rig.sim.setCapacity('full', 64 * MiB);
    await rig.target.create(newInstance(0, { disks: [disk(0), disk(1, { pool: 'full' })] }));
  });

  test('in a pool that does not exist fails with the words of the server', async () => {
    const error = await failure(
      rig.target.create(newInstance(0, { disks: [disk(0, { pool: 'gone' })] })),
      'OPERATION_FAILED',
    );
    assert.match(error.message, /Storage pool not found/);
    await failure(rig.target.create(newInstance(0, { disks: [disk(0), disk(1, { pool: 'gone' })] })), 'NOT_FOUND');
  });

  test('with a name that no host may have is INVALID', async () => {
    assert.match((await failure(rig.target.create(newInstance(1, { name: '-web' })), 'INVALID')).message, /HTTP 400/);
  });

  test('with a configuration that the server does not know fails, once', async () => {
    await failure(rig.target.create(newInstance(1, { config: { 'no.such.key': '1' } })), 'OPERATION_FAILED');
    assert.equal(posts(/instances$/), 1);
  });

  test('without a disk is refused before anything is sent', async () => {
    await failure(rig.target.create(newInstance(0)), 'INVALID');
    assert.deepEqual(rig.sim.journal.requests(), []);
  });
});

describe('a cluster', () => {
  test('has the volumes on the member of the instance', async () => {
    rig.sim.setMember('m1', false);
    rig.sim.setMember('m2', true);
    await rig.target.create(newInstance(2));
    assert.equal(rig.sim.instance('default', 'web')!.location, 'm2');
    assert.equal(rig.sim.volumes()[0]!.location, 'm2');
    assert.equal(await rig.target.deleteOwned('default', 'web', marks()), true);
    assert.deepEqual(volumeNames(rig.sim), []);
  });

  test('whose member is down fails with SERVER and not as if the instance were gone', async () => {
    rig.sim.setMember('m1', true);
    await rig.target.create(newInstance());
    rig.sim.setMember('m1', false);
    await failure(rig.target.start('default', 'web'), 'SERVER');
    await failure(rig.target.find('default', 'web'), 'SERVER');
    await failure(rig.target.deleteOwned('default', 'web', marks()), 'SERVER');
    assert.equal((await rig.target.listOwned())[0]!.status, 'error');
    rig.sim.setMember('m1', true);
    await rig.target.start('default', 'web');
  });
});
