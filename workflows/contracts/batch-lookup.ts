import type { BatchSpec, InstanceRecord, Placement } from '../domain/batch/records.ts';
import type { FieldProblem } from './failures.ts';
import type { Page } from './cluster-lookup.ts';

/** What a batch would do with one VM if it were started now. */
export type PlanState =
  /** It has a window that it fits into, or the batch has none. */
  | 'planned'
  /** It may go, and none of the windows has a place left for it: it gets one only when others are done early. */
  | 'no-place'
  /** It needs longer than any window lasts. */
  | 'does-not-fit'
  /** Something has to be changed first. */
  | 'blocked'
  /** It has an entry already, of this batch or another. */
  | 'taken';

/** One VM of a plan. */
export interface PlannedVm {
  readonly uuid: string;
  /** Effective name: of the target instance. */
  readonly name: string;
  readonly source: string;
  /** Inventory path. */
  readonly location: string;
  readonly state: PlanState;
  /** Absent: it could not be placed. */
  readonly target?: string;
  readonly project?: string;
  readonly constraint?: string;
  /** It needs so much of a window. */
  readonly neededMs: number;
  /** Name of the window. Absent: none. */
  readonly window?: string;
  /** What is in the way and what to do about it. */
  readonly why?: string;
}

/** One window of a plan. */
export interface PlannedWindow {
  readonly name: string;
  readonly start?: string;
  readonly end?: string;
  readonly lockout?: string;
  /** 0 = unlimited. */
  readonly capacity: number;
  readonly vms: number;
  /** The longest time that one of them needs. */
  readonly longestMs: number;
  /** Constraints that hold back some of them, for people. */
  readonly notes: readonly string[];
}

export interface BatchPlan {
  readonly members: number;
  readonly counts: Readonly<Record<PlanState, number>>;
  /** In the order of time; empty: VMs go as soon as they are copied. */
  readonly windows: readonly PlannedWindow[];
  /** Those with trouble first. At most 100 KB. */
  readonly items: readonly PlannedVm[];
  readonly truncated: boolean;
  /** VMs that couldn't be read and such. */
  readonly warnings: readonly string[];
}

/** How a source answers. Values as in the specification §2.2. */
export type Connectivity =
  'OK' | 'Cannot connect' | 'TLS error' | 'Confirm TLS fingerprint' | 'Authentication error' | 'Unknown';

export interface SourceInfo {
  readonly name: string;
  readonly type: 'vmware';
  readonly url: string;
  readonly user: string;
  readonly tls: string;
  /** SHA-256 of the certificate that it shows. */
  readonly fingerprint?: string;
  readonly connectivity: Connectivity;
  /** What it said instead of OK. */
  readonly detail?: string;
  readonly importLimit: number;
}

export interface TargetInfo {
  readonly name: string;
  readonly type: 'incus';
  readonly url: string;
  readonly auth: string;
  readonly tls: string;
  readonly fingerprint?: string;
  readonly connectivity: Connectivity;
  readonly detail?: string;
  readonly version?: string;
  readonly importLimit: number;
  readonly createLimit: number;
}

/** A VM of a source as it is there now. */
export type SourceVm = Pick<
  InstanceRecord,
  | 'uuid'
  | 'source'
  | 'source_specific_id'
  | 'location'
  | 'name'
  | 'os_type'
  | 'distribution'
  | 'distribution_version'
  | 'cpus'
  | 'memory'
  | 'background_import'
  | 'running'
  | 'last_update_from_source'
> & {
  readonly disks: number;
  /** Bytes, of all disks. */
  readonly size: number;
  /** Why a batch without further permissions would leave it out. */
  readonly restriction?: string;
};

/** An instance at a target with marks of an entry that no open entry stands behind. */
export interface Orphan {
  readonly target: string;
  readonly project: string;
  readonly name: string;
  readonly status: string;
  /** From its marks. */
  readonly uuid: string;
  readonly batch: string;
  readonly attempt: number;
  readonly source: string;
  /** Whether the source VM ran when its entry began. */
  readonly ran: boolean;
  /** Power of the source VM now; absent: it is gone, or can't be asked. */
  readonly sourcePower?: 'on' | 'off' | 'suspended';
  /** What is wrong, in one sentence. */
  readonly why: string;
}

/** Where an entry, or a VM that has none, would go and why; what is in the way. */
export interface PlacementExplanation {
  readonly placement?: Placement;
  /** Which rule or default chose each field. */
  readonly reasons: readonly { readonly field: string; readonly value: string; readonly why: string }[];
  readonly constraint?: string;
  /** Everything that keeps it from going there, first what is told first. */
  readonly obstacles: readonly string[];
}

export type BatchLookupRequest =
  /** Checks everything that the workflow would check, and looks at the VMs; starts nothing. */
  | { readonly what: 'batch-plan'; readonly spec: BatchSpec }
  | { readonly what: 'sources' }
  /** In the order of location. `filter`: an expression, or a text to look for in the location. `after`: `next` of the page before. */
  | { readonly what: 'source-vms'; readonly source: string; readonly filter?: string; readonly after?: string }
  | { readonly what: 'targets' }
  | { readonly what: 'orphans' }
  /** By instance uuid, as the batch stands. */
  | { readonly what: 'placement'; readonly batch: string; readonly uuid: string };

export type BatchLookupAnswer =
  /** Without a plan: the problems are in the way of one. */
  | { readonly what: 'batch-plan'; readonly problems: readonly FieldProblem[]; readonly plan?: BatchPlan }
  | { readonly what: 'sources'; readonly sources: readonly SourceInfo[] }
  | ({ readonly what: 'source-vms' } & Page<SourceVm>)
  | { readonly what: 'targets'; readonly targets: readonly TargetInfo[] }
  /** `unread`: targets that couldn't be asked, with the reason. */
  | {
      readonly what: 'orphans';
      readonly orphans: readonly Orphan[];
      readonly unread: readonly string[];
      readonly truncated: boolean;
    }
  /** Absent: the source has no such VM. */
  | { readonly what: 'placement'; readonly found?: PlacementExplanation };

/**
 * Input of the workflow `orphan`: takes an instance up again (`adopt`: its entry is made anew from source and marks) or deletes it.
 * Only an instance with exactly these marks is touched.
 */
export interface OrphanOrder {
  readonly action: 'adopt' | 'delete';
  readonly target: string;
  readonly project: string;
  readonly name: string;
  readonly uuid: string;
  readonly attempt: number;
  readonly by: string;
  readonly reason?: string;
}

/** Result of the workflow `orphan`. */
export interface OrphanResult {
  readonly outcome: 'adopted' | 'deleted' | 'gone';
  readonly message: string;
}
