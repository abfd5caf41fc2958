import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { selfSigned } from '../../../sim/self-signed.ts';
import { disk, failure, marks, MiB, newInstance, uuid } from '../builders.ts';
import { firstDoing, type ContractRig } from './rig.ts';

export const managed = { network: 'incusbr0', nictype: 'managed', vlan_id: '' };
export const instancePath = '/1.0/instances/web';
const path = instancePath;
export const allVolumes = (pool: string): string => `/1.0/storage-pools/${pool}/volumes/custom`;

/** The adapter's calls, as a migration makes them until the data is copied. */
export function instanceContract(rig: ContractRig): void {
  const told = async () => (await rig.raw('GET', path)).told;
  const isThere = async (url: string): Promise<boolean> => (await rig.raw('GET', url)).status === 200;
  /** Somebody else changes what a user may. */
  const somebodyChanges = async (key: string, value: string): Promise<void> => {
    const found = await told();
    const { code, err } = await rig.operation('PUT', path, {
      body: { ...found, config: { ...found.config, [key]: value } },
    });
    assert.equal(code, 200, err);
  };

  describe('a client', () => {
    test('that is trusted learns version and extensions', async () => {
      const { version, extensions } = await rig.target.check();
      assert.match(version, /^\d+\.\d+/);
      assert.ok(extensions.includes('etag'));
    });

    test('that is not trusted is UNTRUSTED, and changes nothing', async () => {
      const { certPem, keyPem } = selfSigned();
      for (const client of [
        { clientCert: certPem, clientKey: keyPem },
        { clientCert: '', clientKey: '' },
      ]) {
        const target = rig.connect(client);
        await failure(target.check(), 'UNTRUSTED');
        await failure(target.create(newInstance()), 'UNTRUSTED');
        await failure(target.facts('default'), 'UNTRUSTED');
      }
      assert.equal(await isThere(path), false);
    });
  });

  test('facts of a project are its instances, the networks and the pools', async () => {
    await rig.server.addProject('p2');
    await rig.target.create(newInstance(1, { project: 'p2' }));
    const facts = await rig.target.facts('p2');
    assert.deepEqual([facts.project_exists, facts.instances], [true, ['web']]);
    assert.deepEqual(
      facts.pools.map(({ name }) => name),
      ['default', 'fast'],
    );
    const bridge = facts.networks.find(({ name }) => name === 'incusbr0');
    assert.deepEqual(bridge, { name: 'incusbr0', managed: true, type: 'bridge', ipv4: '10.1.0.1/24' });
    assert.deepEqual((await rig.target.facts('default')).instances, []);
    const nowhere = await rig.target.facts('nope');
    assert.deepEqual([nowhere.project_exists, nowhere.instances, nowhere.networks], [false, [], []]);
  });

  describe('creating', () => {
    test('makes the instance, its volumes and its devices, all with marks, and doing it again changes nothing', async () => {
      const wanted = newInstance(3, { nic: managed });
      await rig.target.create(wanted);
      const found = await rig.raw('GET', path);
      assert.equal(found.told.description, 'a web server');
      assert.equal(found.told.config['user.migration.uuid'], uuid);
      assert.equal(found.told.config['limits.memory'], '4294967296B');
      assert.equal((await rig.target.find('default', 'web'))?.status, 'stopped');
      for (const index of [1, 2]) {
        const { told: volume } = await rig.raw('GET', `${allVolumes('default')}/web-disk${index}`);
        assert.deepEqual(volume.used_by, [path]);
        assert.equal(volume.config['size'], `${4 * MiB}B`);
        assert.equal(volume.config['user.migration.uuid'], uuid);
      }
      await rig.target.create(wanted);
      assert.deepEqual(await rig.raw('GET', path), found);
    });

    test('where somebody has an instance of that name is refused, and leaves it alone', async () => {
      await rig.target.create(newInstance(1, { marks: marks({ uuid: 'of-another-entry' }) }));
      const found = await rig.raw('GET', path);
      await failure(rig.target.create(newInstance()), 'FOREIGN_INSTANCE');
      await failure(
        rig.target.create(newInstance(1, { marks: marks({ uuid: 'of-another-entry', attempt: 2 }) })),
        'NOT_OURS',
      );
      assert.deepEqual(await rig.raw('GET', path), found);
    });

    test('goes on with a volume that an earlier try has made, and takes that of an earlier attempt away', async () => {
      await rig.target.create(newInstance(2));
      const { told: instance } = await rig.raw('GET', path);
      const devices = Object.fromEntries(
        Object.entries((instance as { devices?: object }).devices ?? {}).filter(([name]) => name !== 'disk1'),
      );
      assert.equal((await rig.operation('PUT', path, { body: { ...instance, devices } })).code, 200);
      assert.equal((await rig.operation('DELETE', path)).code, 200);
      await rig.target.create(newInstance(2));
      await rig.target.deleteOwned('default', 'web', marks());
      const stale = { name: 'web-disk1', type: 'custom', content_type: 'block' };
      const config = { size: '8MiB', 'user.migration.uuid': uuid, 'user.migration.attempt': '1' };
      await rig.raw('POST', allVolumes('default'), { body: { ...stale, config } });
      await rig.target.create(newInstance(2, { marks: marks({ attempt: 2 }) }));
      const { told: volume } = await rig.raw('GET', `${allVolumes('default')}/web-disk1`);
      assert.equal(volume.config['user.migration.attempt'], '2');
    });

    test('where a volume of somebody is in the way is refused, and leaves it alone', async () => {
      await rig.raw('POST', allVolumes('fast'), {
        body: { name: 'web-disk1', type: 'custom', content_type: 'block', config: { size: '8MiB' } },
      });
      await failure(
        rig.target.create(newInstance(0, { disks: [disk(0), disk(1, { pool: 'fast' })] })),
        'FOREIGN_INSTANCE',
      );
      assert.ok(await isThere(`${allVolumes('fast')}/web-disk1`));
    });

    test('in a project that is gone, in a pool that is gone, with a name that none can have', async () => {
      await failure(rig.target.create(newInstance(1, { project: 'nope' })), 'PROJECT_GONE');
      await failure(rig.target.create(newInstance(0, { disks: [disk(0, { pool: 'nope' })] })), 'OPERATION_FAILED');
      await failure(rig.target.create(newInstance(1, { name: 'a_b' })), 'INVALID');
    });
  });

  test('instances are found with their marks, in every project', async () => {
    await rig.server.addProject('p2');
    assert.equal(await rig.target.find('default', 'web'), undefined);
    await rig.target.create(newInstance());
    await rig.target.create(
      newInstance(1, { project: 'p2', name: 'db', marks: marks({ uuid: 'u2', attempt: 3, running: false }) }),
    );
    const owned = [
      { project: 'default', name: 'web', marks: marks(), fence: 0, status: 'stopped' },
      {
        project: 'p2',
        name: 'db',
        marks: marks({ uuid: 'u2', attempt: 3, running: false }),
        fence: 0,
        status: 'stopped',
      },
    ];
    assert.deepEqual(await rig.target.find('p2', 'db'), owned[1]);
    const byName = [...(await rig.target.listOwned())].sort((a, b) => b.name.localeCompare(a.name));
    assert.deepEqual(byName, owned);
  });

  describe('the fence', () => {
    test('goes up and never down', async () => {
      await rig.target.create(newInstance());
      await rig.target.setFence('default', 'web', 3);
      await failure(rig.target.setFence('default', 'web', 2), 'FENCED');
      assert.equal(await rig.target.readFence('default', 'web'), 3);
    });

    test('is written over the change that somebody makes at the same time, and keeps that', async () => {
      await rig.target.create(newInstance());
      const target = rig.connect(
        {},
        firstDoing('PUT', /instances\/web/, () => somebodyChanges('user.other', 'kept')),
      );
      await target.setFence('default', 'web', 1);
      const { config } = await told();
      assert.deepEqual([config['user.migration.fence'], config['user.other']], ['1', 'kept']);
    });
  });

  describe('power', () => {
    test('is switched on and off, and that it is so already is no failure', async () => {
      await rig.target.create(newInstance());
      for (const force of [true, false]) {
        await rig.target.start('default', 'web');
        await rig.target.start('default', 'web');
        assert.equal((await rig.target.state('default', 'web'))?.status, 'running');
        await rig.target.stop('default', 'web', { force });
        await rig.target.stop('default', 'web', { force });
        assert.deepEqual(await rig.target.state('default', 'web'), { status: 'stopped', processes: 0 });
      }
    });

    test('of an instance that is not there', async () => {
      assert.equal(await rig.target.state('default', 'web'), undefined);
      await rig.target.stop('default', 'web', { force: true });
      await failure(rig.target.start('default', 'web'), 'NOT_FOUND');
    });

    test('of a frozen instance is switched on by thawing it and off by force', async () => {
      await rig.target.create(newInstance());
      const freeze = { body: { action: 'freeze', timeout: -1, force: false, stateful: false } };
      await rig.target.start('default', 'web');
      assert.equal((await rig.operation('PUT', `${path}/state`, freeze)).code, 200);
      assert.equal((await rig.target.state('default', 'web'))?.status, 'frozen');
      await rig.target.start('default', 'web');
      assert.equal((await rig.target.state('default', 'web'))?.status, 'running');
      assert.equal((await rig.operation('PUT', `${path}/state`, freeze)).code, 200);
      await rig.target.stop('default', 'web', { force: false });
      assert.equal((await rig.target.state('default', 'web'))?.status, 'stopped');
    });
  });
}
