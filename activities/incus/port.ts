import type { TargetFacts } from '../../workflows/domain/batch/records.ts';
import type { DiskWriter } from '../batch/disk-port.ts';
import type { TlsPolicy } from '../vsphere/port.ts';

/** One target of `vmflow.yaml` with its secrets resolved. Never logged, never put into a workflow. */
export interface TargetEndpoint {
  readonly name: string;
  /** `https://host:port`. */
  readonly url: string;
  readonly tls: TlsPolicy;
  /** PEM; client authentication. */
  readonly clientCert: string;
  readonly clientKey: string;
  /** Budget of one call or operation that the caller gives no time for, milliseconds. */
  readonly connectionTimeoutMs: number;
  /** Tests only. */
  readonly allowPlainHttp?: boolean;
}

/** What our instances and volumes carry while they belong to an entry (`user.migration.*`). */
export interface OwnershipMarks {
  /** The entry: the instance uuid of the source VM. */
  readonly uuid: string;
  readonly batch: string;
  readonly attempt: number;
  /** Whether the source VM ran when the entry began: what a lost entry needs to be taken up again. */
  readonly running: boolean;
  readonly source: string;
}

/** An instance that carries the marks of an entry. */
export interface OwnedInstance {
  readonly project: string;
  readonly name: string;
  readonly marks: OwnershipMarks;
  /** Number of the copy pass that may write; 0 where none was set. */
  readonly fence: number;
  readonly status: InstanceStatus;
}

export interface FoundInstance extends Omit<OwnedInstance, 'marks'> {
  /** Absent: it belongs to no entry. */
  readonly marks?: OwnershipMarks;
  /** The entry that it was handed over by, where it was. */
  readonly releasedBy?: string;
}

export type InstanceStatus = 'running' | 'stopped' | 'frozen' | 'error' | 'unknown';

export interface InstanceState {
  readonly status: InstanceStatus;
  /** More than 0: the agent in the guest answers. */
  readonly processes: number;
}

export interface NewDisk {
  /** Name of the disk at the source. */
  readonly disk: string;
  readonly pool: string;
  readonly size: number;
}

export interface NewInstance {
  readonly project: string;
  readonly name: string;
  readonly description: string;
  readonly architecture: string;
  readonly marks: OwnershipMarks;
  /** `image.os`, `image.release` and such. */
  readonly config: Readonly<Record<string, string>>;
  readonly cpus: number;
  readonly memory: number;
  /** The first is the root disk. */
  readonly disks: readonly NewDisk[];
  /** The NIC during the migration; absent: the default profile's. */
  readonly nic?: { readonly network: string; readonly nictype: string; readonly vlan_id: string };
}

export interface FinalNic {
  readonly hwaddr: string;
  readonly network: string;
  readonly nictype: 'bridged' | 'physical' | 'managed';
  readonly vlan_id: string;
  /** Fixed address where the network has a subnet; empty = none. */
  readonly ipv4_address: string;
}

/** What the instance is to be at the end. Recomputed from the entry each time, so that repeating it changes nothing. */
export interface FinalConfiguration {
  readonly project: string;
  readonly name: string;
  readonly marks: OwnershipMarks;
  readonly cpus: number;
  readonly memory: number;
  readonly legacyBoot: boolean;
  readonly secureBoot: boolean;
  readonly tpm: boolean;
  readonly nics: readonly FinalNic[];
  readonly description: string;
  readonly config: Readonly<Record<string, string>>;
}

export interface TargetCallOptions {
  readonly signal?: AbortSignal;
  /** Whole budget, the wait for the operation included. */
  readonly timeoutMs?: number;
  /** An operation that an earlier attempt has begun: look at it before beginning one. */
  readonly operationId?: string;
  /** Called as soon as the server has named the operation. */
  readonly onOperation?: (id: string) => void;
}

/**
 * What the batch activities need of one target (Incus). Every method may run twice: what is so already is done. Failures are
 * `TargetError` (see `target-error.ts`); an answer that was lost is looked up, never guessed.
 */
export interface Target {
  /** Proves that it is reachable and that we are trusted. */
  check(options?: TargetCallOptions): Promise<{ readonly version: string; readonly extensions: readonly string[] }>;
  /** Facts for placements. A project that doesn't exist is a fact too. */
  facts(project: string, options?: TargetCallOptions): Promise<TargetFacts>;
  /** Instance of that name with its marks; undefined: there is none. `marks` undefined: it isn't ours. */
  find(project: string, name: string, options?: TargetCallOptions): Promise<FoundInstance | undefined>;
  /** Every instance of every project that carries marks of an entry. */
  listOwned(options?: TargetCallOptions): Promise<readonly OwnedInstance[]>;
  /**
   * Creates it, stopped, with empty disks of these sizes. One that exists with the same marks is adopted (and completed); one
   * that isn't ours is `FOREIGN_INSTANCE` and nothing is touched.
   */
  create(instance: NewInstance, options?: TargetCallOptions): Promise<void>;
  /** Number of the pass that may write from now on; refused when a higher one is there. */
  setFence(project: string, name: string, fence: number, options?: TargetCallOptions): Promise<void>;
  readFence(project: string, name: string, options?: TargetCallOptions): Promise<number>;
  /** The disk with this place in `NewInstance.disks`. Writable only while the instance is stopped. */
  openDisk(
    project: string,
    name: string,
    index: number,
    options: TargetCallOptions & { readonly writable: boolean },
  ): Promise<DiskWriter>;
  state(project: string, name: string, options?: TargetCallOptions): Promise<InstanceState | undefined>;
  start(project: string, name: string, options?: TargetCallOptions): Promise<void>;
  /** Resolves once it is stopped, also when it was or doesn't exist. `force`: no guest shutdown. */
  stop(project: string, name: string, options: TargetCallOptions & { readonly force: boolean }): Promise<void>;
  /** Read, change, write with ETag, read back. Fails with `NOT_OURS` when the marks differ. */
  configureFinal(final: FinalConfiguration, options?: TargetCallOptions): Promise<void>;
  /** Replaces the marks by `user.migrated.{uuid,at}`: from then on nothing of ours deletes it. */
  release(project: string, name: string, marks: OwnershipMarks, at: string, options?: TargetCallOptions): Promise<void>;
  /** Deletes the instance and its volumes if uuid and attempt of its marks are these; answers whether it was there. */
  deleteOwned(
    project: string,
    name: string,
    marks: Pick<OwnershipMarks, 'uuid' | 'attempt'>,
    options?: TargetCallOptions,
  ): Promise<boolean>;
  close(): Promise<void>;
}

/** Codes of `TargetError`. */
export type TargetErrorCode =
  | 'UNREACHABLE'
  | 'TIMEOUT'
  | 'UNTRUSTED'
  | 'CERTIFICATE'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'PROJECT_GONE'
  | 'FOREIGN_INSTANCE'
  | 'NOT_OURS'
  | 'NO_SPACE'
  | 'BUSY'
  | 'ETAG'
  | 'FENCED'
  | 'OPERATION_FAILED'
  | 'INVALID'
  | 'SERVER'
  | 'PROTOCOL'
  | 'DISK_CONNECTION';
