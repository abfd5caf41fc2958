import type { BatchSpec, InstanceRecord, NetworkRecord } from '../../../../workflows/domain/batch/records.ts';

export function instance(changes: Partial<InstanceRecord> = {}): InstanceRecord {
  return {
    uuid: '5298cc11-96ea-4f50-b018-6d80bfdaa7d9',
    source: 'vcenter01',
    source_type: 'vmware',
    source_specific_id: 'VirtualMachine:vm-123',
    location: '/DC0/vm/Incus migrations/ubuntu2404',
    name: 'ubuntu2404',
    description: 'web front end',
    os_template: 'ubuntu64Guest',
    os: 'Ubuntu 24.04',
    os_description: 'Ubuntu 24.04.1 LTS',
    os_type: 'linux',
    distribution: 'ubuntu',
    distribution_version: '24.04',
    cpus: 2,
    memory: 4 * 2 ** 30,
    architecture: 'x86_64',
    config: { 'tag.mycategory': 'tag1,tag2', 'tag.tier': 'production', 'vmware.resource_pool': 'pool' },
    secure_boot: false,
    legacy_boot: true,
    tpm: false,
    running: true,
    background_import: true,
    nics: [
      {
        uuid: '0b7e7a5c-0000-5000-8000-000000000001',
        source_specific_id: '4000',
        hardware_address: '00:50:56:00:00:01',
        location: '/DC0/network/VM Network',
        ipv4_address: '10.0.0.5',
        ipv6_address: '',
      },
      {
        uuid: '0b7e7a5c-0000-5000-8000-000000000002',
        source_specific_id: '4001',
        hardware_address: '00:50:56:00:00:02',
        location: '/DC0/network/DMZ',
        ipv4_address: '',
        ipv6_address: '',
      },
    ],
    disks: [
      {
        name: '[ds1] web/web.vmdk',
        capacity: 10 * 2 ** 30,
        shared: false,
        supported: true,
        background_import_verified: true,
      },
      {
        name: '[ds2] web/mydisk.vmdk',
        capacity: 200 * 2 ** 30,
        shared: false,
        supported: true,
        background_import_verified: false,
      },
    ],
    snapshots: [{ name: 'before update' }],
    host: 'HostSystem:host-12',
    last_update_from_source: '2026-06-01T10:00:00Z',
    ...changes,
  };
}

export function network(changes: Partial<NetworkRecord> = {}): NetworkRecord {
  return {
    uuid: '0b7e7a5c-0000-5000-8000-000000000001',
    source: 'vcenter01',
    source_specific_id: 'Network:network-7',
    type: 'standard',
    location: '/DC0/network/VM Network',
    properties: {},
    placement: { network: 'VM-Network', nictype: 'managed', vlan_id: '' },
    ...changes,
  };
}

export const now = new Date('2026-06-02T10:00:00Z');

export function batch(changes: Partial<BatchSpec> = {}, config: Partial<BatchSpec['config']> = {}): BatchSpec {
  return {
    name: 'b1',
    include_expression: 'true',
    migration_windows: [],
    constraints: [],
    defaults: {
      placement: { target: 'tgt', target_project: 'default', storage_pool: 'default' },
      migration_network: [],
      force_conflict_resolution: false,
    },
    placement_rules: [],
    config: {
      rerun_scriptlets: false,
      placement_scriptlet: '',
      post_migration_retries: 0,
      instance_restriction_overrides: {
        allow_unknown_os: false,
        allow_no_ipv4: false,
        allow_no_background_import: false,
      },
      background_sync_interval: 600_000,
      final_background_sync_limit: 600_000,
      sync_limit: 0,
      window_end_in_conflict: 'rollback',
      create_retries: 10,
      stale_source: 'recopy',
      without_change_tracking: 'once',
      no_guest_tools: 'ask',
      ...config,
    },
    overrides: {},
    network_overrides: {},
    ...changes,
  };
}

/** The networks that the NICs of the VM are on. */
export const networks: readonly NetworkRecord[] = [
  network(),
  network({
    uuid: '0b7e7a5c-0000-5000-8000-000000000002',
    source_specific_id: 'DistributedVirtualPortgroup:dvportgroup-9',
    type: 'distributed',
    location: '/DC0/network/DMZ',
    placement: { network: 'DMZ', nictype: 'physical', vlan_id: '0-4094' },
  }),
];
