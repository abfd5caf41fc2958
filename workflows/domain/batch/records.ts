/**
 * The records of a batch migration as they are on the wire: in batch files, in expressions, in workflow state and in answers.
 * Names are those of the batch specification (snake_case). Times are ISO 8601 in UTC, sizes are bytes.
 */

/** How a NIC is connected at the target. `vlan_id` is a comma list and only for `bridged` and `physical`. */
export interface NetworkPlacement {
  readonly network: string;
  readonly nictype: 'bridged' | 'physical' | 'managed';
  readonly vlan_id: string;
}

export interface NetworkRecord {
  readonly uuid: string;
  readonly source: string;
  /** Such as `Network:network-7` or `DistributedVirtualPortgroup:dvportgroup-9`. */
  readonly source_specific_id: string;
  readonly type: 'standard' | 'distributed' | 'nsx-distributed' | 'nsx';
  /** Inventory path. */
  readonly location: string;
  readonly properties: Readonly<Record<string, string>>;
  /** Where its NICs go unless somebody says otherwise. */
  readonly placement: NetworkPlacement;
}

export interface NicRecord {
  /** The record of its network. */
  readonly uuid: string;
  /** Device key at the source. */
  readonly source_specific_id: string;
  /** MAC in lower case with colons. */
  readonly hardware_address: string;
  /** Inventory path of its network. */
  readonly location: string;
  /** Empty where not known. */
  readonly ipv4_address: string;
  readonly ipv6_address: string;
}

export interface DiskRecord {
  /** `[datastore] dir/file.vmdk` of the base disk, also while there are snapshots. */
  readonly name: string;
  readonly capacity: number;
  readonly shared: boolean;
  readonly supported: boolean;
  readonly background_import_verified: boolean;
}

/** One source VM. Absent strings are empty, absent flags false. */
export interface InstanceRecord {
  /** Instance UUID at the source, lower case. */
  readonly uuid: string;
  readonly source: string;
  readonly source_type: 'vmware';
  /** `VirtualMachine:vm-123`: how it is found again after renames and moves. */
  readonly source_specific_id: string;
  /** Inventory path. */
  readonly location: string;
  /** Derived host name: the source's name without the characters that host names don't have. */
  readonly name: string;
  readonly description: string;
  readonly os_template: string;
  readonly os: string;
  readonly os_description: string;
  readonly os_type: OsType;
  readonly distribution: string;
  readonly distribution_version: string;
  readonly cpus: number;
  readonly memory: number;
  readonly architecture: string;
  readonly config: Readonly<Record<string, string>>;
  readonly secure_boot: boolean;
  readonly legacy_boot: boolean;
  readonly tpm: boolean;
  readonly running: boolean;
  readonly background_import: boolean;
  readonly nics: readonly NicRecord[];
  readonly disks: readonly DiskRecord[];
  readonly snapshots: readonly { readonly name: string }[];
  /** Reference of the host it runs on, such as `HostSystem:host-12`: imports per host are limited. */
  readonly host: string;
  /** Whether they ran when this was read; absent: not known. */
  readonly guest_tools?: boolean;
  readonly last_update_from_source: string;
}

export type OsType = 'linux' | 'windows' | 'bsd' | 'fortigate';

/** What a batch says about one instance. Absent = not overridden; `config` merges key by key. */
export interface InstanceOverrides {
  readonly name?: string;
  readonly cpus?: number;
  readonly memory?: number;
  readonly config?: Readonly<Record<string, string>>;
  readonly architecture?: string;
  readonly os_type?: OsType;
  readonly distribution?: string;
  readonly distribution_version?: string;
  readonly comment?: string;
  readonly disable_migration?: boolean;
  readonly ignore_restrictions?: boolean;
  readonly started_after_migration?: boolean;
  readonly stopped_after_migration?: boolean;
  /** From 1: its downtime begins when all VMs of lower groups are finished. */
  readonly group?: number;
  /** UUIDs of VMs of the batch that are finished before its downtime begins. */
  readonly depends_on?: readonly string[];
}

/** Where an entry goes. Valid with a target, a project, at least one pool and a network per NIC. */
export interface Placement {
  readonly target_name: string;
  readonly target_project: string;
  /** Disk name → pool. */
  readonly storage_pools: Readonly<Record<string, string>>;
  /** MAC → network. */
  readonly networks: Readonly<Record<string, NetworkPlacement>>;
  /** Whether the target runs at the end. */
  readonly running: boolean;
}

/** A period in which entries may be committed and must finish. */
export interface MigrationWindow {
  readonly name: string;
  readonly start?: string;
  readonly end?: string;
  /** From then on nobody may begin in it. */
  readonly lockout?: string;
  /** 0 = unlimited. */
  readonly capacity: number;
}

export interface Constraint {
  readonly name: string;
  readonly description: string;
  readonly include_expression: string;
  /** 0 = unlimited. */
  readonly max_concurrent_instances: number;
  /** Milliseconds. */
  readonly min_instance_boot_time: number;
}

/** The NIC that targets of one project use during the migration. */
export interface MigrationNetwork extends NetworkPlacement {
  readonly target: string;
  readonly target_project: string;
}

/** One placement rule: what it sets where its expression holds. Later rules overwrite earlier ones. */
export interface PlacementRule {
  readonly when: string;
  readonly set: {
    readonly target?: string;
    readonly project?: string;
    readonly pool?: {
      readonly default?: string;
      readonly by_disk?: readonly { readonly when_disk: string; readonly pool: string }[];
    };
    readonly network?: readonly (Partial<NetworkPlacement> & { readonly when_nic: string; readonly network: string })[];
  };
}

export interface RestrictionOverrides {
  readonly allow_unknown_os: boolean;
  readonly allow_no_ipv4: boolean;
  readonly allow_no_background_import: boolean;
}

/** What a person asks for: the content of a batch file with its defaults filled in. Durations are milliseconds. */
export interface BatchSpec {
  readonly name: string;
  readonly include_expression: string;
  readonly migration_windows: readonly MigrationWindow[];
  /** The last one whose expression matches applies. */
  readonly constraints: readonly Constraint[];
  readonly defaults: {
    readonly placement: {
      readonly target: string;
      readonly target_project: string;
      readonly storage_pool: string;
    };
    readonly migration_network: readonly MigrationNetwork[];
    readonly force_conflict_resolution: boolean;
  };
  readonly placement_rules: readonly PlacementRule[];
  readonly config: {
    readonly rerun_scriptlets: boolean;
    /** JavaScript with a function `placement(instance, batch, networks)`; empty = none. */
    readonly placement_scriptlet: string;
    readonly post_migration_retries: number;
    readonly instance_restriction_overrides: RestrictionOverrides;
    readonly background_sync_interval: number;
    readonly final_background_sync_limit: number;
    /** Concurrent background copies of this batch; 0 = unlimited. */
    readonly sync_limit: number;
    readonly window_end_in_conflict: 'rollback' | 'hold';
    readonly create_retries: number;
    readonly stale_source: 'recopy' | 'accept';
    /**
     * How a VM is copied whose source can't tell what has changed: once, in its downtime, where that is allowed at all; or while it
     * runs too, each later copy reading all and sending what differs.
     */
    readonly without_change_tracking: 'once' | 'compare';
    /** What becomes of a running VM that can't be asked to shut down: a person decides, it is switched off hard, it is left out. */
    readonly no_guest_tools: 'ask' | 'power-off' | 'skip';
  };
  /** By instance uuid. */
  readonly overrides: Readonly<Record<string, InstanceOverrides>>;
  /** By network uuid, or `<source>/<source_specific_id>`, or inventory path; set fields win over the computed ones. */
  readonly network_overrides: Readonly<Record<string, Partial<NetworkPlacement>>>;
}

/** What is known about a target's project when a placement is checked. */
export interface TargetFacts {
  readonly target: string;
  readonly project: string;
  readonly project_exists: boolean;
  readonly pools: readonly { readonly name: string; readonly driver: string }[];
  readonly networks: readonly TargetNetwork[];
  /** Names of the instances of the project. */
  readonly instances: readonly string[];
}

export interface TargetNetwork {
  readonly name: string;
  readonly managed: boolean;
  /** bridge, physical, ovn, macvlan, … */
  readonly type: string;
  /** Address and prefix of the subnet, such as `10.1.0.1/24`; empty or `none` = no subnet. */
  readonly ipv4: string;
}

/** What M4 compares with: the VM as it was when it was placed. Never overwritten by syncs or checks. */
export interface Baseline {
  readonly uuid: string;
  /** Effective name. */
  readonly name: string;
  readonly disks: readonly Omit<DiskRecord, 'background_import_verified'>[];
  /** Hash of all other properties that a placement may depend on. */
  readonly properties: string;
}

/** Statuses of an entry, values as in the specification §6.1. */
export type EntryStatus =
  | 'Blocked'
  | 'Waiting'
  | 'Creating new VM'
  | 'Performing background import tasks'
  | 'Idle'
  | 'Performing final import tasks'
  | 'Performing post-import tasks'
  | 'Worker tasks complete'
  | 'Finished'
  | 'Error'
  | 'Canceled'
  | 'Conflict';

export type ImportStage = 'background' | 'final' | 'complete';

export type BatchStatus = 'Defined' | 'Running' | 'Stopped' | 'Error' | 'Finished';

export type ConflictCode =
  | 'EXPRESSION_MISMATCH'
  | 'NO_GUEST_TOOLS'
  | 'PLACEMENT_CHANGED'
  | 'PLACEMENT_FAILED'
  | 'TARGET_GONE'
  | 'PROJECT_GONE'
  | 'TARGET_INSTANCE_GONE'
  | 'POOL_GONE'
  | 'MIGRATION_NETWORK_INVALID'
  | 'NETWORK_GONE'
  | 'NETWORK_TYPE'
  | 'NETWORK_SUBNET'
  | 'SOURCE_VM_GONE'
  | 'FINALIZE_FAILED';

export type ErrorCode =
  'IDENTITY_UUID' | 'IDENTITY_NAME' | 'IDENTITY_DISKS' | 'DISKS_CHANGED' | 'WORKER_FAILED' | 'CREATE_FAILED';

/** Something that doesn't fit, in the words of the specification §7.2. */
export interface Finding<Code extends string = ConflictCode | ErrorCode> {
  readonly code: Code;
  /** One sentence: what, on what, why. */
  readonly message: string;
  readonly expected: string;
  readonly found: string;
}
