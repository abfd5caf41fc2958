import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FinalNic } from '../../../activities/incus/port.ts';
import { failure, finalConfiguration, marks, newInstance, useSim, uuid } from './builders.ts';

const rig = useSim();

const instance = () => rig.sim.instance('default', 'web')!;
const puts = () => rig.sim.journal.requests('PUT', /instances\/web$/);
const onPut = { method: 'PUT', path: /instances\/web$/ } as const;

function nic(more: Partial<FinalNic> = {}): FinalNic {
  const network = { network: 'incusbr0', nictype: 'managed', vlan_id: '' } as const;
  return { hwaddr: '00:16:3e:00:00:01', ...network, ipv4_address: '', ...more };
}

describe('the final configuration', () => {
  test('sets limits, firmware and identity, and keeps disks and marks', async () => {
    await rig.target.create(newInstance(2));
    const disks = structuredClone(instance().devices);
    await rig.target.configureFinal(finalConfiguration({ config: { 'image.os': 'Debian 13' } }));
    const { config, devices, profiles, description } = instance();
    assert.deepEqual(profiles, ['default']);
    assert.equal(description, 'as it stays');
    assert.deepEqual(devices, disks);
    assert.deepEqual(config, {
      'image.os': 'Debian 13',
      'image.release': '13',
      'limits.cpu': '4',
      'limits.memory': '8589934592B',
      'security.csm': 'false',
      'security.secureboot': 'true',
      'volatile.uuid': uuid,
      'volatile.uuid.generation': uuid,
      'user.migration.uuid': uuid,
      'user.migration.batch': 'b1',
      'user.migration.attempt': '1',
      'user.migration.running': 'true',
      'user.migration.source': 'vc1',
      'user.migration_source': 'vc1',
    });
  });

  test('with legacy boot has no secure boot', async () => {
    await rig.target.create(newInstance());
    await rig.target.configureFinal(finalConfiguration({ legacyBoot: true, secureBoot: true }));
    assert.equal(instance().config['security.csm'], 'true');
    assert.equal(instance().config['security.secureboot'], 'false');
  });

  test('with a TPM has the device and no live state, without one has neither', async () => {
    await rig.target.create(newInstance());
    await rig.target.configureFinal(finalConfiguration({ tpm: true }));
    assert.deepEqual(instance().devices['vtpm'], { type: 'tpm', path: '/dev/tpm0' });
    assert.equal(instance().config['migration.stateful'], 'false');
    await rig.target.configureFinal(finalConfiguration({ tpm: false }));
    assert.equal('vtpm' in instance().devices, false);
    assert.equal('migration.stateful' in instance().config, false);
  });

  test('replaces every NIC, the one of the migration too', async () => {
    rig.sim.addNetwork('flat', { config: { 'ipv4.address': 'none' } });
    rig.sim.addNetwork('ovn0', { type: 'ovn', config: { 'ipv4.address': '10.2.0.1/24' } });
    rig.sim.addNetwork('uplink', { type: 'physical', config: {} });
    rig.sim.addNetwork('routed', { type: 'physical', config: { 'ipv4.address': '10.5.0.1/24' } });
    rig.sim.addNetwork('br1', { type: 'bridge', managed: false, config: {} });
    await rig.target.create(newInstance(1, { nic: { network: 'incusbr0', nictype: 'managed', vlan_id: '' } }));
    instance().devices['net7'] = { type: 'nic', network: 'incusbr0' };
    await rig.target.configureFinal(
      finalConfiguration({
        nics: [
          nic({ ipv4_address: '10.1.0.7' }),
          nic({ network: 'flat', ipv4_address: '10.9.0.7' }),
          nic({ network: 'ovn0', ipv4_address: '10.2.0.7' }),
          nic({ network: 'uplink', nictype: 'physical', vlan_id: '12', ipv4_address: '10.3.0.7' }),
          nic({ network: 'br1', nictype: 'bridged', vlan_id: '12', ipv4_address: '10.4.0.7' }),
          nic({ network: 'br1', nictype: 'bridged', vlan_id: '12,14' }),
          nic({ network: 'br1', nictype: 'bridged', vlan_id: '100-200' }),
          nic({ network: 'eno1', nictype: 'physical', vlan_id: '5' }),
          nic({ network: 'routed', ipv4_address: '10.5.0.7' }),
        ],
      }),
    );
    const { root, ...nics } = instance().devices;
    const mac = { type: 'nic', hwaddr: '00:16:3e:00:00:01' };
    assert.ok(root);
    assert.deepEqual(nics, {
      eth0: { ...mac, name: 'eth0', network: 'incusbr0', 'ipv4.address': '10.1.0.7' },
      eth1: { ...mac, name: 'eth1', network: 'flat' },
      eth2: { ...mac, name: 'eth2', network: 'ovn0', 'ipv4.address': '10.2.0.7' },
      eth3: { ...mac, name: 'eth3', network: 'uplink' },
      eth4: { ...mac, name: 'eth4', nictype: 'bridged', parent: 'br1', vlan: '12' },
      eth5: { ...mac, name: 'eth5', nictype: 'bridged', parent: 'br1', 'vlan.tagged': '12,14' },
      eth6: { ...mac, name: 'eth6', nictype: 'bridged', parent: 'br1', 'vlan.tagged': '100-200' },
      eth7: { ...mac, name: 'eth7', nictype: 'physical', parent: 'eno1', vlan: '5' },
      eth8: { ...mac, name: 'eth8', network: 'routed' },
    });
  });

  test('of what runs stops it first', async () => {
    await rig.target.create(newInstance());
    await rig.target.start('default', 'web');
    rig.sim.journal.clear();
    await rig.target.configureFinal(finalConfiguration());
    assert.equal(instance().status, 'Stopped');
    const [stopped] = rig.sim.journal.events('instance-stopped');
    assert.ok(stopped!.seq < puts()[0]!.seq);
    assert.equal(puts().length, 1);
  });

  test('a second time changes nothing and does not stop what runs', async () => {
    await rig.target.create(newInstance(2));
    const final = finalConfiguration({ tpm: true, nics: [nic({ ipv4_address: '10.1.0.7' })] });
    await rig.target.configureFinal(final);
    await rig.target.start('default', 'web');
    rig.sim.journal.clear();
    await rig.target.configureFinal(final);
    assert.deepEqual(rig.sim.journal.changes(), []);
    assert.equal(instance().status, 'Running');
  });

  test('whose answer is lost is read back and written once (C15)', async () => {
    await rig.target.create(newInstance());
    rig.sim.journal.clear();
    rig.sim.faults.add({ ...onPut, effect: { kind: 'drop', when: 'after' } });
    await rig.target.configureFinal(finalConfiguration());
    assert.equal(instance().config['limits.cpu'], '4');
    assert.equal(rig.sim.journal.events('instance-updated').length, 1);
  });

  test('in a race with somebody else keeps the change of the other one', async () => {
    await rig.target.create(newInstance());
    rig.sim.faults.add({ ...onPut, effect: { kind: 'etag-race' } });
    await rig.target.configureFinal(finalConfiguration());
    assert.ok('user.race' in instance().config);
    assert.equal(instance().config['limits.cpu'], '4');
  });

  test('that the server takes and does not keep is SERVER', async () => {
    await rig.target.create(newInstance());
    rig.sim.faults.add({ ...onPut, times: Infinity, effect: { kind: 'no-effect' } });
    const error = await failure(rig.target.configureFinal(finalConfiguration()), 'SERVER');
    assert.match(error.message, /the server says that it is done, but it reads back differently/);
  });

  test('on a network that is gone fails with the words of the server, and the instance stays as it was', async () => {
    await rig.target.create(newInstance());
    const before = structuredClone(instance());
    const error = await failure(
      rig.target.configureFinal(finalConfiguration({ nics: [nic({ network: 'gone' })] })),
      'OPERATION_FAILED',
    );
    assert.match(error.message, /could not configure web in project default.*Network not found/);
    assert.deepEqual(instance(), before);
  });

  for (const [what, other] of [
    ['another attempt', marks({ attempt: 2 })],
    ['another entry', marks({ uuid: 'other' })],
  ] as const)
    test(`of ${what} is NOT_OURS and changes nothing`, async () => {
      await rig.target.create(newInstance());
      rig.sim.journal.clear();
      await failure(rig.target.configureFinal(finalConfiguration({ marks: other })), 'NOT_OURS');
      assert.deepEqual(rig.sim.journal.changes(), []);
    });

  test('of what does not exist is NOT_FOUND', async () => {
    await failure(rig.target.configureFinal(finalConfiguration()), 'NOT_FOUND');
  });
});

describe('the fence', () => {
  test('is 0 at first, and what was set last', async () => {
    await rig.target.create(newInstance());
    assert.equal(await rig.target.readFence('default', 'web'), 0);
    await rig.target.setFence('default', 'web', 3);
    assert.equal(await rig.target.readFence('default', 'web'), 3);
    assert.equal((await rig.target.find('default', 'web'))!.fence, 3);
    rig.sim.journal.clear();
    await rig.target.setFence('default', 'web', 3);
    assert.deepEqual(rig.sim.journal.changes(), []);
  });

  test('is refused when a higher one is there', async () => {
    await rig.target.create(newInstance());
    await rig.target.setFence('default', 'web', 4);
    assert.match((await failure(rig.target.setFence('default', 'web', 3), 'FENCED')).message, /pass 4 has taken over/);
    assert.equal(await rig.target.readFence('default', 'web'), 4);
  });

  test('of two that are set at the same time is the higher one', async () => {
    await rig.target.create(newInstance());
    const [low, high] = await Promise.allSettled([
      rig.connect().setFence('default', 'web', 5),
      rig.connect().setFence('default', 'web', 6),
    ]);
    assert.equal(high.status, 'fulfilled');
    assert.ok(low.status === 'fulfilled' || (low.reason as { code: string }).code === 'FENCED');
    assert.equal(await rig.target.readFence('default', 'web'), 6);
  });

  test('is only for instances of entries', async () => {
    await rig.sim.addInstance({ name: 'web' });
    await failure(rig.target.setFence('default', 'web', 1), 'NOT_OURS');
    await failure(rig.target.readFence('default', 'nothing'), 'NOT_FOUND');
  });
});
