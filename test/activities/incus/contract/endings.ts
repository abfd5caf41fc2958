import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FinalNic } from '../../../../activities/incus/port.ts';
import { disk, failure, finalConfiguration, marks, MiB, newInstance, uuid } from '../builders.ts';
import { allVolumes, instancePath as path, managed } from './instances.ts';
import { losingAnswer, type ContractRig } from './rig.ts';

const nic: FinalNic = {
  hwaddr: '00:16:3e:00:00:01',
  network: 'incusbr0',
  nictype: 'managed',
  vlan_id: '',
  ipv4_address: '10.1.0.77',
};
const at = '2026-08-01T00:00:00Z';

/** How instances come to their end: configured as they stay, handed over, or deleted. */
export function endingContract(rig: ContractRig): void {
  const told = async () => (await rig.raw('GET', path)).told;
  const isThere = async (url: string): Promise<boolean> => (await rig.raw('GET', url)).status === 200;

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
