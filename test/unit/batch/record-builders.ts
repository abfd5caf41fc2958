import type { Entry } from '../../../workflows/domain/batch/entry.ts';
import type {
  BatchSpec,
  DiskRecord,
  InstanceRecord,
  NicRecord,
  Placement,
  RestrictionOverrides,
  TargetFacts,
} from '../../../workflows/domain/batch/records.ts';

export const uuid = '5298cc11-96ea-4f50-b018-6d80bfdaa7d9';
export const gib = 2 ** 30;
export const mac = '00:50:56:00:00:01';
export const rootDisk = '[ds1] web-03/web-03.vmdk';
export const dataDisk = '[ds1] web-03/web-03_1.vmdk';

export function aDisk(over: Partial<DiskRecord> = {}): DiskRecord {
  return { name: rootDisk, capacity: gib, shared: false, supported: true, background_import_verified: true, ...over };
}

export function aNic(over: Partial<NicRecord> = {}): NicRecord {
  return {
    uuid: 'net-1',
    source_specific_id: '4000',
    hardware_address: mac,
    location: '/dc1/network/lan',
    ipv4_address: '10.1.0.10',
    ipv6_address: '',
    ...over,
  };
}

/** An Ubuntu VM that may migrate. */
export function aVm(over: Partial<InstanceRecord> = {}): InstanceRecord {
  return {
    uuid,
    source: 'vc1',
    source_type: 'vmware',
    source_specific_id: 'VirtualMachine:vm-3',
    location: '/dc1/vm/web-03',
    name: 'web-03',
    description: '',
    os_template: 'Ubuntu Linux (64-bit)',
    os: 'Ubuntu 22.04.4 LTS',
    os_description: 'Ubuntu 22.04.4 LTS (Jammy Jellyfish)',
    os_type: 'linux',
    distribution: 'ubuntu',
    distribution_version: '22.04',
    cpus: 2,
    memory: 4 * gib,
    architecture: 'x86_64',
    config: { 'tag.env': 'prod' },
    secure_boot: false,
    legacy_boot: true,
    tpm: false,
    running: true,
    background_import: true,
    nics: [aNic()],
    disks: [aDisk(), aDisk({ name: dataDisk, capacity: 2 * gib })],
    snapshots: [],
    host: 'HostSystem:host-12',
    last_update_from_source: '2026-03-01T12:00:00.000Z',
    ...over,
  };
}

export const nothingAllowed: RestrictionOverrides = {
  allow_unknown_os: false,
  allow_no_ipv4: false,
  allow_no_background_import: false,
};

export function aPlacement(over: Partial<Placement> = {}): Placement {
  return {
    target_name: 'tgt',
    target_project: 'p1',
    storage_pools: { [rootDisk]: 'fast', [dataDisk]: 'fast' },
    networks: { [mac]: { network: 'lan', nictype: 'managed', vlan_id: '' } },
    running: true,
    ...over,
  };
}

export function someFacts(over: Partial<TargetFacts> = {}): TargetFacts {
  return {
    target: 'tgt',
    project: 'p1',
    project_exists: true,
    pools: [
      { name: 'default', driver: 'dir' },
      { name: 'fast', driver: 'zfs' },
    ],
    networks: [
      { name: 'lan', managed: true, type: 'bridge', ipv4: '10.1.0.1/24' },
      { name: 'uplink', managed: true, type: 'physical', ipv4: '' },
      { name: 'overlay', managed: true, type: 'ovn', ipv4: '10.2.0.1/16' },
      { name: 'mac0', managed: true, type: 'macvlan', ipv4: '' },
      { name: 'br0', managed: false, type: 'bridge', ipv4: '' },
      { name: 'eth1', managed: false, type: 'physical', ipv4: '' },
    ],
    instances: [],
    ...over,
  };
}

export function aBatch(over: Partial<BatchSpec> = {}): BatchSpec {
  return {
    name: 'night-1',
    include_expression: "source == 'vc1'",
    migration_windows: [],
    constraints: [],
    defaults: {
      placement: { target: 'tgt', target_project: 'p1', storage_pool: 'fast' },
      migration_network: [],
      force_conflict_resolution: false,
    },
    placement_rules: [],
    config: {
      rerun_scriptlets: false,
      placement_scriptlet: '',
      post_migration_retries: 5,
      instance_restriction_overrides: nothingAllowed,
      background_sync_interval: 600_000,
      final_background_sync_limit: 600_000,
      sync_limit: 0,
      window_end_in_conflict: 'rollback',
      create_retries: 10,
      stale_source: 'recopy',
      without_change_tracking: 'once',
      no_guest_tools: 'ask',
    },
    overrides: {},
    network_overrides: {},
    ...over,
  };
}

/** Ran at first, and we have switched it off. */
export const switchedOff: Entry['source_power'] = {
  initial_running: true,
  powered_off_by_us_at: '2026-03-01T22:00:00.000Z',
};
