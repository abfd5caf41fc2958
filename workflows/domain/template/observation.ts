/** A managed object reference: type and value, `VirtualMachine` and `vm-42`. */
export interface MoRef {
  readonly type: string;
  readonly value: string;
}

/** Our own keys in a VM's `extraConfig`. A clone carries a copy of them: one that names another VM is as good as none. */
export interface Marker {
  /** Logical production name. */
  readonly prod: string;
  readonly opId: string;
  readonly version: string;
  /** Digest of the whole OVA, or empty while not yet known. */
  readonly sha256: string;
  readonly state: 'importing' | 'ready';
  /** Reference value of the template that this one takes the place of: proves, once swapped in, whose the previous one is. */
  readonly replaces?: string;
}

/** One of the three VMs as it was seen. */
export interface ObservedVm {
  readonly ref: MoRef;
  readonly name: string;
  readonly isTemplate: boolean;
  readonly poweredOff: boolean;
  readonly marker?: Marker;
  /** Absent: unknown (nothing says it, or two sources disagree). */
  readonly version?: string;
  /** Seconds since the VM was created, where the server tells. */
  readonly ageS?: number;
  readonly hasSnapshot: boolean;
}

/** What stood under the three names at one moment. An absent key means: the lookup answered "not there". */
export interface Observation {
  readonly prod?: ObservedVm;
  readonly temp?: ObservedVm;
  readonly rollback?: ObservedVm;
  /** For example `VERSION_AMBIGUOUS: …`. */
  readonly warnings: readonly string[];
}
