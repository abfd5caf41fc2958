import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toNetworkRecord } from '../../../../activities/vsphere/source/network-records.ts';
import { uuidV5 } from '../../../../activities/vsphere/source/uuid-v5.ts';
import { portGroup, standardNetwork } from './builders.ts';

test('a standard network goes to the managed one of its name, spaces as dashes', () => {
  const { uuid, ...record } = toNetworkRecord(standardNetwork(), 'vc1');
  assert.deepEqual(record, {
    source: 'vc1',
    source_specific_id: 'Network:network-7',
    type: 'standard',
    location: '/DC0/network/VM Network',
    properties: {},
    placement: { network: 'VM-Network', nictype: 'managed', vlan_id: '' },
  });
  assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

const vlan = (spec: Record<string, unknown>): ReturnType<typeof toNetworkRecord> =>
  toNetworkRecord(portGroup({ defaultPortConfig: { _type: 'VMwareDVSPortSetting', vlan: spec } }), 'vc1');

test('a port group goes to the physical network of its name and VLAN', () => {
  const record = vlan({ _type: 'VmwareDistributedVirtualSwitchVlanIdSpec', vlanId: 42 });
  assert.equal(record.type, 'distributed');
  assert.deepEqual(record.properties, { vlan_id: '42' });
  assert.deepEqual(record.placement, { network: 'pg-9', nictype: 'physical', vlan_id: '42' });
});

test('VLAN 0 is none', () => {
  const record = vlan({ _type: 'VmwareDistributedVirtualSwitchVlanIdSpec', vlanId: 0 });
  assert.deepEqual([record.properties, record.placement.vlan_id], [{}, '']);
});

test('a trunk keeps its ranges', () => {
  const vlanId = [
    { start: 10, end: 10 },
    { start: 100, end: 200 },
  ];
  const record = vlan({ _type: 'VmwareDistributedVirtualSwitchTrunkVlanSpec', vlanId });
  assert.deepEqual(record.properties, { vlan_ranges: '10,100-200' });
  assert.equal(record.placement.vlan_id, '10,100-200');
});

test('a private VLAN counts by its secondary id', () => {
  assert.equal(vlan({ _type: 'VmwareDistributedVirtualSwitchPvlanSpec', pvlanId: 7 }).placement.vlan_id, '7');
});

test('a port group without settings is on no VLAN', () => {
  assert.equal(toNetworkRecord(portGroup(), 'vc1').placement.vlan_id, '');
});

test('a port group of NSX is managed and knows its segment', () => {
  const config = { backingType: 'nsx', segmentId: '/infra/segments/a', transportZoneUuid: 'b1' };
  const record = toNetworkRecord(portGroup(config), 'vc1');
  assert.equal(record.type, 'nsx-distributed');
  assert.deepEqual(record.properties, { segment_id: '/infra/segments/a', transport_zone_uuid: 'b1' });
  assert.deepEqual(record.placement, { network: 'pg-9', nictype: 'managed', vlan_id: '' });
});

test('an opaque network is one of NSX; white space in its id is replaced', () => {
  const record = toNetworkRecord(
    {
      ref: { type: 'OpaqueNetwork', value: 'network o 3' },
      props: new Map<string, unknown>([['summary', { opaqueNetworkId: 'seg-1' }]]),
      location: '/DC0/network/opaque',
    },
    'vc1',
  );
  assert.equal(record.type, 'nsx');
  assert.equal(record.source_specific_id, 'OpaqueNetwork:network_o_3');
  assert.deepEqual(record.properties, { segment_id: 'seg-1' });
});

test('the uuid follows from source and id alone: a rename keeps it, another source or id does not', () => {
  const { uuid } = toNetworkRecord(standardNetwork(), 'vc1');
  assert.equal(toNetworkRecord(standardNetwork({ location: '/DC0/network/renamed' }), 'vc1').uuid, uuid);
  assert.notEqual(toNetworkRecord(standardNetwork(), 'vc2').uuid, uuid);
  assert.notEqual(toNetworkRecord(standardNetwork({ ref: { type: 'Network', value: 'network-8' } }), 'vc1').uuid, uuid);
});

test('UUIDs are those of the standard', () => {
  assert.equal(
    uuidV5('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'www.example.com'),
    '2ed6657d-e927-568b-95e1-2665a8aea6a2',
  );
});
