import assert from 'node:assert/strict';
import { test } from 'node:test';

import { NetworkIndex } from '../../../../activities/vsphere/source/network-records.ts';
import { nicRecords } from '../../../../activities/vsphere/source/nic-records.ts';
import { nic, portGroup, standardNetwork } from './builders.ts';

const networks = new NetworkIndex([standardNetwork(), portGroup()], 'vc1');
const addresses = (net: unknown, device = nic()): readonly [string, string] => {
  const [record] = nicRecords([device], net, networks);
  return [record!.ipv4_address, record!.ipv6_address];
};

test('the first address of each family counts, link-local ones never', () => {
  const ipAddress = ['169.254.3.4', 'fe80::1', '10.0.0.5', '10.0.0.6', '2001:db8::5', '2001:db8::6', 'FEBF::1'];
  assert.deepEqual(addresses([{ deviceConfigId: 4000, ipAddress }]), ['10.0.0.5', '2001:db8::5']);
});

test('configured addresses go before the plain list', () => {
  const net = {
    deviceConfigId: 4000,
    ipAddress: ['10.9.9.9', '2001:db8::9'],
    ipConfig: { ipAddress: [{ ipAddress: '10.0.0.5', prefixLength: 24 }] },
  };
  assert.deepEqual(addresses([net]), ['10.0.0.5', '2001:db8::9']);
});

test('a single address that came without a list counts', () => {
  assert.deepEqual(addresses([{ deviceConfigId: 4000, ipAddress: '10.0.0.5' }]), ['10.0.0.5', '']);
});

test('no guest data, or no address: empty', () => {
  assert.deepEqual(addresses(undefined), ['', '']);
  assert.deepEqual(addresses([{ deviceConfigId: 4000 }]), ['', '']);
  assert.deepEqual(addresses([{ deviceConfigId: 4000, ipAddress: ['not an address'] }]), ['', '']);
});

test('cards and guest data are joined by device key, then by MAC in whatever case, then by network', () => {
  const byKey = { deviceConfigId: 4000, macAddress: '00:50:56:00:00:99', ipAddress: ['10.0.0.1'] };
  const byMac = { deviceConfigId: -1, macAddress: '00:50:56:aa:BB:01', ipAddress: ['10.0.0.2'] };
  const byName = { deviceConfigId: -1, network: 'VM Network', ipAddress: ['10.0.0.3'] };
  assert.deepEqual(addresses([byName, byMac, byKey]), ['10.0.0.1', '']);
  assert.deepEqual(addresses([byName, byMac]), ['10.0.0.2', '']);
  assert.deepEqual(addresses([byName]), ['10.0.0.3', '']);
});

test('what the guest says of another card on the same network is not taken', () => {
  const net = { deviceConfigId: 4001, macAddress: '00:50:56:aa:bb:02', network: 'VM Network', ipAddress: ['10.0.0.9'] };
  assert.deepEqual(addresses([net]), ['', '']);
});

test('a card without a MAC is not joined to guest data without one', () => {
  assert.deepEqual(addresses([{ deviceConfigId: -1, ipAddress: ['10.0.0.9'] }], nic({ macAddress: '' })), ['', '']);
});

test('a card knows its network by reference, by port group and by name', () => {
  const location = (backing: Record<string, unknown>): string =>
    nicRecords([nic({}, { network: undefined, deviceName: undefined, ...backing })], [], networks)[0]!.location;
  assert.equal(location({ network: { type: 'Network', value: 'network-7' } }), '/DC0/network/VM Network');
  assert.equal(location({ port: { portgroupKey: 'dvportgroup-9', switchUuid: '50 2f' } }), '/DC0/network/pg-9');
  assert.equal(location({ deviceName: 'VM Network' }), '/DC0/network/VM Network');
  assert.equal(location({ deviceName: 'pg-9' }), '', 'a port group is never meant by its name');
  assert.equal(location({}), '');
});

test('a name that several networks have tells nothing', () => {
  const other = standardNetwork({ ref: { type: 'Network', value: 'network-8' }, location: '/DC1/network/VM Network' });
  const both = new NetworkIndex([standardNetwork(), other], 'vc1');
  const [record] = nicRecords([nic({}, { network: undefined })], [], both);
  assert.equal(record?.uuid, '');
  const [byReference] = nicRecords([nic({}, { network: { type: 'Network', value: 'network-8' } })], [], both);
  assert.equal(byReference?.location, '/DC1/network/VM Network');
});

test('other devices are no cards', () => {
  assert.deepEqual(nicRecords([{ _type: 'VirtualCdrom', key: 3000 }], [], networks), []);
});
