import type { CallOptions, LeaseDeviceUrl, MoRef } from './port.ts';

/** A file of a datastore: `[datastore] path`, in the datacenter of this inventory path. */
export interface DatastoreFile {
  readonly datacenter: string;
  readonly datastore: string;
  readonly path: string;
}

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined;
  /** Nothing heard from the server for this long: `TIMEOUT`. */
  readonly stallMs: number;
}

/** Areas of a disk that changed, within the part that the answer covers. Bytes. */
export interface DiskAreas {
  readonly startOffset: number;
  readonly length: number;
  readonly areas: readonly { readonly start: number; readonly length: number }[];
}

export interface DiskAreasQuery {
  /** Absent: up to now. */
  readonly snapshot?: MoRef;
  readonly deviceKey: number;
  readonly startOffset: number;
  /** `*` = what is allocated. */
  readonly changeId: string;
}

export type PowerState = 'poweredOn' | 'poweredOff' | 'suspended';

/** What one session offers for VMs that are migrated away. Failures: `VimFault`, `VSphereError`. */
export interface VmCalls {
  /** All objects of these types, and their subtypes, below a folder or datacenter. */
  list(container: MoRef, types: readonly string[], options?: CallOptions): Promise<readonly MoRef[]>;
  findByInstanceUuid(uuid: string, options?: CallOptions): Promise<MoRef | undefined>;
  /** Ids of the tags of each object, by the value of its reference; none may be absent. */
  tagIds(refs: readonly MoRef[], options?: CallOptions): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Each `start…` answers the task; `waitForTask` of the session waits for its end. */
  startPowerOn(vm: MoRef, options?: CallOptions): Promise<MoRef>;
  startPowerOff(vm: MoRef, options?: CallOptions): Promise<MoRef>;
  /** Asks the guest; `ToolsUnavailable` where nobody listens. It takes its time, see `waitForPower`. */
  shutdownGuest(vm: MoRef, options?: CallOptions): Promise<void>;
  /** False: not within this time. */
  waitForPower(vm: MoRef, state: PowerState, timeoutMs: number, options?: CallOptions): Promise<boolean>;
  /** Without memory, not quiesced. */
  startCreateSnapshot(vm: MoRef, name: string, options?: CallOptions): Promise<MoRef>;
  /** Without its children; the task ends when the disks are consolidated. */
  startRemoveSnapshot(snapshot: MoRef, options?: CallOptions): Promise<MoRef>;
  startConsolidate(vm: MoRef, options?: CallOptions): Promise<MoRef>;
  /** The lease, see `waitForLease`. */
  exportSnapshot(snapshot: MoRef, options?: CallOptions): Promise<MoRef>;
  /** The file behind a device URL of an export lease, asked for when the first byte is read. */
  downloadExport(device: LeaseDeviceUrl, options: StreamOptions): AsyncIterable<Uint8Array>;
  changedDiskAreas(vm: MoRef, query: DiskAreasQuery, options?: CallOptions): Promise<DiskAreas>;
  /** Bytes; undefined: there is no such file. */
  fileSize(file: DatastoreFile, options: StreamOptions): Promise<number | undefined>;
  /** Exactly these bytes; `PROTOCOL` where the file ends before. `into` is used where it is large enough. */
  readFile(
    file: DatastoreFile,
    start: number,
    length: number,
    options: StreamOptions & { readonly into?: Uint8Array | undefined },
  ): Promise<Uint8Array>;
}
