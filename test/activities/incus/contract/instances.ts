import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FinalNic } from '../../../../activities/incus/port.ts';
import { selfSigned } from '../../../sim/self-signed.ts';
import { disk, failure, finalConfiguration, marks, MiB, newInstance, uuid } from '../builders.ts';
import { firstDoing, losingAnswer, type ContractRig } from './rig.ts';

const nic: FinalNic = {
  hwaddr: '00:16:3e:00:00:01',
  network: 'incusbr0',
  nictype: 'managed',
  vlan_id: '',
  ipv4_address: '10.1.0.77',
};
const managed = { network: 'incusbr0', nictype: 'managed', vlan_id: '' };
const at = '2026-08-01T00:00:00Z';
const path = '/1.0/instances/web';
const allVolumes = (pool: string): string => `/1.0/storage-pools/${pool}/volumes/custom`;

/** The adapter's calls, as a migration makes them. */
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

  describe('the final configuration', () => {
    const final = finalConfiguration({ nics: [nic], config: { 'image.os': 'Debian' } });

    test('takes the place of what was, and doing it again changes nothing', async () => {
      await rig.target.create(newInstance(2, { nic: managed }));
      await rig.target.start('default', 'web');
      await rig.target.configureFinal(final);
      const found = await rig.raw('GET', path);
      const { devices } = found.told as unknown as { devices: Record<string, Record<string, string>> };
      assert.deepEqual(devices['eth0'], {
        type: 'nic',
        name: 'eth0',
        hwaddr: nic.hwaddr,
        network: 'incusbr0',
        'ipv4.address': '10.1.0.77',
      });
      assert.deepEqual(Object.keys(devices).sort(), ['disk1', 'eth0', 'root']);
      assert.deepEqual([found.told.config['limits.cpu'], found.told.config['volatile.uuid']], ['4', uuid]);
      assert.equal(found.told.description, 'as it stays');
      assert.equal((await rig.target.state('default', 'web'))?.status, 'stopped');
      await rig.target.configureFinal(final);
      assert.deepEqual(await rig.raw('GET', path), found);
      await rig.target.start('default', 'web');
    });

    for (const [what, nics] of [
      ['an address that its network does not have', [{ ...nic, ipv4_address: '192.168.7.7' }]],
      ['the address of its network', [{ ...nic, ipv4_address: '10.1.0.1' }]],
      ['a network that is not there', [{ ...nic, network: 'nope', ipv4_address: '' }]],
    ] as const)
      test(`with ${what} fails, and leaves the instance as it was`, async () => {
        await rig.target.create(newInstance());
        const found = await rig.raw('GET', path);
        await failure(rig.target.configureFinal(finalConfiguration({ nics })), 'OPERATION_FAILED');
        assert.deepEqual(await rig.raw('GET', path), found);
      });

    for (const [what, other, otherNic] of [
      ['hardware address', { name: 'db' }, { ...nic, ipv4_address: '' }],
      ['address', { name: 'db' }, { ...nic, hwaddr: '00:16:3e:00:00:02' }],
      ['name', { project: 'p2' }, { ...nic, hwaddr: '00:16:3e:00:00:02', ipv4_address: '' }],
    ] as const)
      test(`with a NIC on a bridge where another instance has the same ${what} fails`, async () => {
        await rig.server.addProject('p2');
        await rig.target.create(newInstance());
        await rig.target.configureFinal(final);
        const owner = marks({ uuid: 'u2' });
        await rig.target.create(newInstance(1, { ...other, marks: owner }));
        const attempt = rig.target.configureFinal(finalConfiguration({ ...other, marks: owner, nics: [otherNic] }));
        await failure(attempt, 'OPERATION_FAILED');
      });

    test('with two NICs on the same bridge is accepted, and can not be started', async () => {
      await rig.target.create(newInstance());
      const second = { ...nic, hwaddr: '00:16:3e:00:00:02', ipv4_address: '' };
      await rig.target.configureFinal(finalConfiguration({ nics: [nic, second] }));
      const error = await failure(rig.target.start('default', 'web'), 'OPERATION_FAILED');
      assert.match(error.message, /DNS name "web" already used on network/);
    });

    test('moves a bridge to another NIC than the one that had it during the migration', async () => {
      await rig.target.create(newInstance(1, { nic: managed }));
      const outside = {
        ...nic,
        hwaddr: '00:16:3e:00:00:02',
        network: 'br-outside',
        nictype: 'bridged',
        ipv4_address: '',
      } as const;
      await rig.target.configureFinal(finalConfiguration({ nics: [outside, nic] }));
      const { devices } = (await told()) as unknown as { devices: Record<string, Record<string, string>> };
      assert.deepEqual([devices['eth0']?.['parent'], devices['eth1']?.['network']], ['br-outside', 'incusbr0']);
    });

    test('of an instance of somebody else is refused', async () => {
      await rig.target.create(newInstance(1, { marks: marks({ attempt: 2 }) }));
      await failure(rig.target.configureFinal(final), 'NOT_OURS');
    });
  });

  describe('the end', () => {
    test('handed over, instance and volumes have other marks, and nothing of ours deletes them', async () => {
      await rig.target.create(newInstance(2));
      await rig.target.setFence('default', 'web', 1);
      await rig.target.release('default', 'web', marks(), at);
      await rig.target.release('default', 'web', marks(), at);
      const volume = (await rig.raw('GET', `${allVolumes('default')}/web-disk1`)).told;
      for (const { config } of [await told(), volume]) {
        assert.deepEqual(
          Object.keys(config).filter((key) => key.startsWith('user.migration.')),
          [],
        );
        assert.deepEqual([config['user.migrated.uuid'], config['user.migrated.at']], [uuid, at]);
      }
      assert.equal(volume.config['size'], `${4 * MiB}B`);
      assert.equal((await rig.target.find('default', 'web'))?.releasedBy, uuid);
      await failure(rig.target.deleteOwned('default', 'web', marks()), 'NOT_OURS');
      assert.ok((await isThere(path)) && (await isThere(`${allVolumes('default')}/web-disk1`)));
    });

    test('deleted, a running instance is gone with its volumes, in every pool', async () => {
      await rig.target.create(newInstance(0, { disks: [disk(0), disk(1), disk(2, { pool: 'fast' })] }));
      await rig.target.start('default', 'web');
      assert.equal(await rig.target.deleteOwned('default', 'web', marks()), true);
      for (const url of [path, `${allVolumes('default')}/web-disk1`, `${allVolumes('fast')}/web-disk2`])
        assert.equal(await isThere(url), false, url);
      assert.equal(await rig.target.deleteOwned('default', 'web', marks()), false);
    });

    test('of another attempt is not ours to delete', async () => {
      await rig.target.create(newInstance(1, { marks: marks({ attempt: 2 }) }));
      await failure(rig.target.deleteOwned('default', 'web', marks()), 'NOT_OURS');
      assert.ok(await isThere(path));
    });
  });

  for (const lost of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    test(`a life in which the answer to change ${lost} is lost ends as any other`, async () => {
      const target = rig.connect({}, losingAnswer(lost));
      await target.create(newInstance(2));
      await target.setFence('default', 'web', 1);
      await target.configureFinal(finalConfiguration({ nics: [nic] }));
      await target.start('default', 'web');
      await target.stop('default', 'web', { force: true });
      await target.release('default', 'web', marks(), at);
      assert.equal((await rig.target.find('default', 'web'))?.releasedBy, uuid);
      assert.equal((await told()).config['limits.cpu'], '4');
      const volume = (await rig.raw('GET', `${allVolumes('default')}/web-disk1`)).told;
      assert.deepEqual([volume.config['user.migrated.uuid'], volume.used_by], [uuid, [path]]);
    });
}
