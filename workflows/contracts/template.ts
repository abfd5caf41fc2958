import type { Conflict } from './conflict.ts';
import type { OperationStatus } from './status.ts';
import type { FailureDetails } from './failures.ts';
import type { Observation } from '../domain/template/observation.ts';
import type { Phase } from '../domain/template/phases.ts';

/** Where a template lives. Paths are inventory paths (`/DC0/vm/templates`); plain names are resolved below the datacenter. */
export interface Placement {
  readonly datacenter: string;
  /** Cluster or standalone compute resource. */
  readonly cluster: string;
  /** Default: the cluster's root pool. */
  readonly resourcePool?: string;
  readonly datastore: string;
  /** Default: the datacenter's VM folder. */
  readonly folder?: string;
  readonly network: string;
  /** Forces one ESXi host. */
  readonly host?: string;
}

export interface TemplateNaming {
  readonly prodName: string;
  /** Default `mco-tmp`. */
  readonly tempPrefix?: string;
  /** Default `mco-old`. */
  readonly rollbackPrefix?: string;
}

/** The OVA, as a transfer worker sees it. `sha256` is the digest of the whole file, 64 hex digits. */
export type OvaSource =
  | { readonly kind: 'file'; readonly path: string; readonly sha256: string; readonly size?: number }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly sha256: string;
      readonly size?: number;
      /** Name of an entry below `sources` in `vmflow.yaml`: headers and TLS for this download. */
      readonly headersRef?: string;
    };

export interface SwapTarget {
  /** 1 to 128 characters; together with the source's digest the identity of what is wanted. */
  readonly version: string;
}

export type DiskProvisioning = 'inherit' | 'default' | 'thin' | 'thick' | 'eagerZeroedThick';

/** Every option has a default; `undefined` means the default. */
export interface SwapOptions {
  /** Create the template when it doesn't exist. Default false: a missing template is an error. */
  readonly createIfMissing?: boolean;
  /** Replace a template whose version can't be told. Default false. */
  readonly replaceUnknownVersion?: boolean;
  /** Default true: an unmarked object under the temp or rollback name is foreign. False: it is a left-over of ours. */
  readonly strictOwnership?: boolean;
  /** What to do when only a ready temp and the old template are left. Default `forward-if-ready`. */
  readonly recovery?: 'forward-if-ready' | 'back-first';
  /** Default `inherit`: as the old template's disks. */
  readonly diskProvisioning?: DiskProvisioning;
  /** Default true. */
  readonly disableSecureBoot?: boolean;
  readonly annotation?: string;
  /** Tag urns or `category/name` pairs. */
  readonly tags?: readonly string[];
  /** How long the old template is kept for an instant undo. Default 0. */
  readonly keepRollbackMinutes?: number;
  /** Default `if-present`. */
  readonly verifyManifest?: 'require' | 'if-present' | 'off';
  /** Turns the warnings about odd but readable OVAs into errors. Default false. */
  readonly strictOva?: boolean;
  /** A longer time without the production name is reported as a warning. Default 5000. */
  readonly maxGapMs?: number;
  /** An upload that moves no byte for this long is given up and started again. Default 120000. */
  readonly uploadStallMs?: number;
  /** Default 5. */
  readonly maxUploadAttempts?: number;
  /** How long a conflict waits for a person. Default 1440. */
  readonly conflictTimeoutMinutes?: number;
  /** Observe and plan only. Default false. */
  readonly dryRun?: boolean;
}

/** Input of the workflow `templateSwap`. Holds references only, never credentials. */
export interface TemplateSwapRequest {
  /** Idempotency key of the caller, at most 64 characters. */
  readonly requestId?: string;
  /** Name of a vCenter in the workers' `vmflow.yaml`. */
  readonly vcenter: string;
  readonly placement: Placement;
  readonly template: TemplateNaming;
  readonly source: OvaSource;
  readonly target: SwapTarget;
  readonly options?: SwapOptions;
  /** Who asked, shown in the Web UI. */
  readonly by?: string;
}

/** Status words of a swap; the table behind them is in the domain. */
export type SwapPhase = Phase;

export interface TemplateVersionRef {
  /** Managed object reference, `vm-42`. */
  readonly moRef: string;
  readonly version?: string;
}

export type SwapOutcome = 'noop' | 'swapped' | 'created' | 'promoted' | 'restored-then-swapped' | 'undone' | 'planned';

export interface TemplateSwapResult {
  readonly outcome: SwapOutcome;
  readonly prod?: TemplateVersionRef;
  readonly previous?: TemplateVersionRef;
  /** How long no object had the production name, in milliseconds. Absent when no swap took place. */
  readonly gapMs?: number;
  readonly uploadedBytes: number;
  /** How many times an upload was begun. */
  readonly uploadAttempts: number;
  readonly rollbackDestroyed: boolean;
  readonly warnings: readonly string[];
  /** Milliseconds per phase. */
  readonly timings: Readonly<Record<string, number>>;
  /** Only with `dryRun`: what would be done. */
  readonly plan?: PlanSummary;
}

/** A plan in words: the row of the state table and its actions in order. */
export interface PlanSummary {
  readonly row: string;
  readonly actions: readonly string[];
  /** Set when the row ends in a failure or conflict instead. */
  readonly problem?: string;
}

/** Answer of the query `status` of `templateSwap`. */
export interface TemplateSwapStatus extends OperationStatus {
  readonly status: SwapPhase;
  readonly row?: string;
  readonly target: SwapTarget & { readonly sha256: string };
  readonly names: { readonly prod: string; readonly temp: string; readonly rollback: string };
  readonly observed?: Observation;
  readonly uploadAttempt?: number;
  /** Since when no object has the production name although there was one. */
  readonly prodAbsentSince?: string;
  readonly gapMs?: number;
  /** Until when the previous version is kept for `undo`. */
  readonly keptUntil?: string;
  readonly previous?: TemplateVersionRef;
  readonly warnings: readonly string[];
  readonly result?: TemplateSwapResult;
  readonly failure?: { readonly type: string; readonly message: string; readonly details?: FailureDetails };
}

/** Body of the update `ensure`: start the swap, or join a running one for the same target. */
export interface EnsureTarget {
  readonly version: string;
  readonly sha256: string;
  readonly by?: string;
}

export interface EnsureAnswer {
  /** `started`: this call started the run; `joined`: an equal one was in progress or its previous version is still kept. */
  readonly how: 'started' | 'joined';
  readonly version: string;
  readonly status: SwapPhase;
}

/** Body of the update `retarget`. */
export interface Retarget {
  readonly source: OvaSource;
  readonly target: SwapTarget;
  readonly reason?: string;
  readonly by: string;
}

/** Body of the updates `undo`, `endKeep` and `retryNow`. */
export interface OperatorNote {
  readonly reason?: string;
  readonly by: string;
}

/** Details of a heartbeat of `importToTemp`. No URLs, no cookies, no lease: its reference holds the session's key. */
export interface ImportHeartbeat {
  readonly v: 1;
  readonly phase:
    'source' | 'cleanup' | 'spec' | 'lease' | 'uploading' | 'completing' | 'completed' | 'waiting-for-lease';
  readonly attempt: number;
  readonly entityRef?: string;
  readonly leaseTimeoutS?: number;
  readonly fileIndex?: number;
  readonly fileCount?: number;
  readonly fileBytes?: number;
  readonly sentBytes?: number;
  readonly totalBytes?: number;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Bytes per second over the last ten seconds. */
  readonly rate?: number;
  /** Milliseconds since the last byte moved, when that is more than two seconds. */
  readonly stalledMs?: number;
  /** Hosts that refused this import; the next attempt tries others. */
  readonly excludedHosts?: readonly string[];
  /** vCenter doesn't answer; the attempt goes on when it does. */
  readonly waitingFor?: 'vcenter';
  /** How many attempts ended before they began to upload. */
  readonly withoutUpload?: number;
}

/** Input of the workflow `templateSwapFleet`: several placements, usually one per failure domain. */
export interface TemplateSwapFleetRequest {
  readonly requestId?: string;
  readonly templates: readonly TemplateSwapRequest[];
  /** 1 to 16, default 2. */
  readonly maxParallel?: number;
  /** Stop starting further swaps after the first failure. Default false. */
  readonly failFast?: boolean;
  readonly by?: string;
}

export interface FleetItemResult {
  readonly id: string;
  readonly template: string;
  readonly outcome: SwapOutcome | 'failed' | 'cancelled' | 'skipped';
  readonly result?: TemplateSwapResult;
  readonly error?: { readonly type: string; readonly message: string; readonly details?: FailureDetails };
}

export interface TemplateSwapFleetResult {
  readonly items: readonly FleetItemResult[];
  readonly swapped: number;
  readonly failed: number;
}

export interface TemplateSwapFleetStatus extends OperationStatus {
  readonly items: readonly FleetItemResult[];
  readonly running: readonly string[];
  readonly conflicts?: readonly Conflict[];
}
