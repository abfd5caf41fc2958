import type { InstanceRecord, NetworkRecord } from '../../workflows/domain/batch/records.ts';
import type { DiskReader } from '../batch/disk-port.ts';

/** What one page of an inventory holds. Warnings are of type and message, for people. */
export interface InventoryPage {
  readonly instances: readonly InstanceRecord[];
  readonly networks: readonly NetworkRecord[];
  readonly warnings: readonly { readonly type: string; readonly message: string }[];
  /** VMs that are there and not among the instances, for whatever reason: never to be treated as missing. By `source_specific_id`. */
  readonly unread: readonly string[];
  /** Those of `unread` that no batch migrates: templates, service VMs of a cluster, the appliance. */
  readonly noVms: readonly string[];
}

export type SourcePower = 'on' | 'off' | 'suspended';

export interface SourceCallOptions {
  readonly signal?: AbortSignal;
  /** Called about every second while something long runs. */
  readonly onProgress?: () => void;
  /** A task that an earlier attempt has begun: look at it before beginning one. */
  readonly taskRef?: string;
  readonly onTask?: (ref: string) => void;
}

/**
 * What the batch activities need of one source. A VM is named by its `source_specific_id` (`VirtualMachine:vm-12`). Every method
 * may run twice: what is so already is done, and a task of an earlier attempt is found again. Failures are those of the vSphere
 * session (`VimFault`, `VSphereError`); a VM that is gone is an answer (`undefined`) where the signature says so.
 */
export interface Source {
  /** The whole inventory, page by page. Templates, vCLS VMs, VMs without configuration and the appliance are left out. */
  inventory(options?: SourceCallOptions & { readonly pageSize?: number }): AsyncIterable<InventoryPage>;
  /** One VM as it is now with the networks it uses; undefined: there is no such VM. */
  fetch(
    vm: string,
    options?: SourceCallOptions,
  ): Promise<{ readonly instance: InstanceRecord; readonly networks: readonly NetworkRecord[] } | undefined>;
  power(vm: string, options?: SourceCallOptions): Promise<SourcePower | undefined>;
  /** Guest shutdown, after `graceMs` (or without tools) hard off. Resolves once it is off. */
  powerOff(vm: string, options: SourceCallOptions & { readonly graceMs: number }): Promise<void>;
  powerOn(vm: string, options?: SourceCallOptions): Promise<void>;
  /** Of no memory, not quiesced. One of that name is adopted. */
  createSnapshot(vm: string, name: string, options?: SourceCallOptions): Promise<{ readonly snapshot: string }>;
  /** Removes the snapshots whose names begin so and waits for their consolidation; none is fine. */
  removeSnapshots(vm: string, prefix: string, options?: SourceCallOptions): Promise<void>;
  /** Names of all its snapshots. */
  snapshots(
    vm: string,
    options?: SourceCallOptions,
  ): Promise<readonly { readonly name: string; readonly ref: string }[]>;
  /** Disks as this snapshot has them (`undefined`: as the VM has them now), by the names of the base disks, with change ids. */
  snapshotDisks(
    vm: string,
    snapshot: string | undefined,
    options?: SourceCallOptions,
  ): Promise<
    readonly { readonly name: string; readonly capacity: number; readonly key: number; readonly changeId: string }[]
  >;
  /** Whole disk as of the snapshot. Needs a snapshot, or a VM that is off. */
  openDisk(
    vm: string,
    snapshot: string,
    disk: { readonly name: string; readonly key: number; readonly capacity: number },
    options?: SourceCallOptions,
  ): Promise<DiskReader>;
  /**
   * Areas of the disk that changed between the change id and the snapshot (`*` = allocated). `undefined`: the id is of no use any
   * more, copy the whole disk. Absent snapshot: up to now, for a VM that is off.
   */
  changedAreas(
    vm: string,
    snapshot: string | undefined,
    disk: { readonly key: number; readonly capacity: number },
    since: string,
    options?: SourceCallOptions,
  ): Promise<readonly { readonly start: number; readonly length: number }[] | undefined>;
  /**
   * Bytes of the disk's flat file; only consistent while the VM is off or they belong to a snapshot. `vm` tells the datacenter,
   * which is needed where several have a disk of that name. `into` is used for the answer where it is large enough.
   */
  readRange(
    disk: { readonly name: string; readonly vm?: string },
    start: number,
    length: number,
    options?: SourceCallOptions & { readonly into?: Uint8Array },
  ): Promise<Uint8Array>;
  /** Whether the change tracking file lies beside each disk; `undefined` = can't be told now. `vm` as in `readRange`. */
  verifyBackgroundImport(
    disks: readonly string[],
    options?: SourceCallOptions & { readonly vm?: string },
  ): Promise<Readonly<Record<string, boolean | undefined>>>;
}
