/** A disk that a test wants. */
export interface VcsimDiskSpec {
  /** Bytes, whole KiB. */
  readonly size: number;
  /** Filled with random bytes that follow from it; left out or 0: zeros. */
  readonly seed?: number;
  /** For example `independent_persistent`. */
  readonly mode?: string;
  /** For example `sharingMultiWriter`. */
  readonly sharing?: string;
}

export interface VcsimNicSpec {
  /** Inventory path. */
  readonly network: string;
  /** Left out: the simulator's choice, which is not unique. */
  readonly mac?: string;
  /** What the guest says of it; needs a `mac`. */
  readonly ips?: readonly string[];
}

/** Changed where given. */
export interface VcsimSettings {
  readonly name?: string;
  readonly instanceUuid?: string;
  readonly cpus?: number;
  readonly memoryMiB?: number;
  readonly annotation?: string;
  readonly guestId?: string;
  readonly firmware?: 'bios' | 'efi';
  readonly secureBoot?: boolean;
  /** Change tracking of all its disks. */
  readonly tracking?: boolean;
  /** An empty value removes the key. */
  readonly extraConfig?: Readonly<Record<string, string>>;
}

export interface VcsimPowerEvent {
  /** Grows with everything that happens in the simulator. */
  readonly sequence: number;
  readonly at: string;
  readonly vm: string;
  readonly name: string;
  readonly state: 'poweredOn' | 'poweredOff' | 'suspended';
}

/** A task that is over. */
export interface VcsimTaskEvent {
  readonly sequence: number;
  readonly at: string;
  readonly task: string;
  /** As the simulator calls it: `PowerOff`, `CreateSnapshotEx`, … */
  readonly method: string;
  readonly object: string;
  readonly name?: string;
  readonly state: 'success' | 'error';
  readonly fault?: string;
}

/** What tests do to hardware, disks and guests of single VMs. Disks are counted from 0 in the order of their keys. */
export interface VcsimHardware {
  changeVm(ref: string, settings: VcsimSettings): Promise<void>;
  moveVm(ref: string, folder: string): Promise<void>;
  /** `host` is an inventory path. */
  relocateVm(ref: string, host: string): Promise<void>;
  suspendVm(ref: string): Promise<void>;
  snapshotVm(ref: string, name: string): Promise<void>;
  removeSnapshot(ref: string, name: string): Promise<void>;
  addNic(ref: string, nic: VcsimNicSpec): Promise<void>;
  removeNic(ref: string, mac: string): Promise<void>;
  /** Addresses by MAC, and the text under `guestInfo.detailed.data`, where given. */
  setGuest(
    ref: string,
    guest: { readonly ips?: Readonly<Record<string, readonly string[]>>; readonly detailed?: string },
  ): Promise<void>;
  /** Answers the index of the new disk. */
  addDisk(ref: string, disk: VcsimDiskSpec): Promise<number>;
  removeDisk(ref: string, disk: number): Promise<void>;
  growDisk(ref: string, disk: number, size: number): Promise<void>;
  /** Writes bytes onto a disk as its guest would; the area counts as changed. */
  writeDisk(ref: string, disk: number, start: number, bytes: Uint8Array): Promise<void>;
  /** The same, but the area doesn't count as changed: change tracking lies. */
  writeDiskInSecret(ref: string, disk: number, start: number, bytes: Uint8Array): Promise<void>;
  /** As `writeDisk`, with random bytes that follow from the seed. */
  fillDisk(ref: string, disk: number, start: number, length: number, seed: number): Promise<void>;
  /** SHA-256 of the whole disk as it is now. */
  diskDigest(ref: string, disk: number): Promise<string>;
  /** Export leases serve these bytes as this disk from now on. */
  replaceDescriptor(ref: string, disk: number, bytes: Uint8Array): Promise<void>;
  /** Whether a change tracking file lies beside each disk. */
  setTrackingFiles(ref: string, there: boolean): Promise<void>;
  /** Earlier change ids are of no use any more. */
  resetTracking(ref: string): Promise<void>;
  /** One answer about changed areas covers at most so many bytes; 0: no limit. */
  limitAreaAnswers(bytes: number): Promise<void>;
  powerEvents(): Promise<readonly VcsimPowerEvent[]>;
  finishedTasks(): Promise<readonly VcsimTaskEvent[]>;
  clearPast(): Promise<void>;
}

/** One request to the control API; a body of bytes is sent as it is, everything else as JSON. */
export type ControlCall = <T>(method: string, path: string, body?: unknown) => Promise<T>;

export function createVcsimHardware(call: ControlCall): VcsimHardware {
  const post = (path: string, body: unknown): Promise<void> => call('POST', path, body);
  const change = (operation: string, ref: string, more: object = {}): Promise<void> =>
    post('/vms/change', { operation, ref, ...more });

  return {
    changeVm: (ref, settings) => post('/vms/settings', { ref, ...settings }),
    moveVm: (ref, folder) => change('move', ref, { folder }),
    relocateVm: (ref, host) => change('relocate', ref, { host }),
    suspendVm: (ref) => change('suspend', ref),
    snapshotVm: (ref, name) => change('snapshot', ref, { name }),
    removeSnapshot: (ref, name) => change('removeSnapshot', ref, { name }),
    addNic: (ref, nic) => post('/vms/nics', { ref, ...nic }),
    removeNic: (ref, mac) => call('DELETE', '/vms/nics', { ref, mac }),
    setGuest: (ref, guest) => post('/vms/guest', { ref, ...guest }),
    addDisk: async (vm, disk) => (await call<{ index: number }>('POST', '/disks', { vm, ...disk })).index,
    removeDisk: (vm, disk) => call('DELETE', '/disks', { vm, disk }),
    growDisk: (vm, disk, size) => post('/disks/grow', { vm, disk, size }),
    writeDisk: (vm, disk, start, bytes) => call('PUT', `/disks/${vm}/${disk}?start=${start}`, bytes),
    writeDiskInSecret: (vm, disk, start, bytes) => call('PUT', `/disks/${vm}/${disk}?as=secret&start=${start}`, bytes),
    fillDisk: (vm, disk, start, length, seed) => post('/disks/fill', { vm, disk, start, length, seed }),
    diskDigest: async (vm, disk) => (await call<{ sha256: string }>('POST', '/disks/digest', { vm, disk })).sha256,
    replaceDescriptor: (vm, disk, bytes) => call('PUT', `/disks/${vm}/${disk}?as=descriptor`, bytes),
    setTrackingFiles: (vm, there) => post('/tracking/files', { vm, there }),
    resetTracking: (vm) => post('/tracking/reset', { vm }),
    limitAreaAnswers: (bytes) => post('/tracking/answers', { bytes }),
    powerEvents: () => call('GET', '/power'),
    finishedTasks: () => call('GET', '/tasks'),
    clearPast: () => call('DELETE', '/past'),
  };
}
