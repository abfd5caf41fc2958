import type { MoRef, Observation } from '../domain/template/observation.ts';
import type { SwapNames } from '../domain/template/names.ts';
import type { LookupAnswer, LookupRequest } from './lookup.ts';
import type { OvaSource, SwapTarget, TemplateSwapFleetRequest, TemplateSwapRequest } from './template.ts';

/** A request whose defaults are filled in and whose names are derived. */
export interface ValidatedSwap {
  readonly request: TemplateSwapRequest & {
    readonly options: Required<Omit<NonNullable<TemplateSwapRequest['options']>, 'annotation'>> & {
      readonly annotation?: string;
    };
  };
  readonly names: SwapNames;
  /** Canonical folder path, wire form. */
  readonly folderPath: string;
}

/** The request's placement as references. */
export interface ResolvedPlacement {
  readonly datacenter: MoRef;
  readonly cluster: MoRef;
  readonly pool: MoRef;
  readonly datastore: MoRef;
  readonly folder: MoRef;
  readonly network: MoRef;
  readonly hostName: string;
  readonly tagIds: readonly string[];
  readonly warnings: readonly string[];
}

/** What every template activity needs to know; references and names, no secrets. */
export interface SwapScope {
  readonly vcenter: string;
  /** Reference of the folder of the template. All lookups stay in it. */
  readonly folder: MoRef;
  readonly names: SwapNames;
  readonly target: SwapTarget & { readonly sha256: string };
  /** Marks VMs as made by this operation: namespace, workflow id, first run id. */
  readonly opId: string;
}

export interface SourceFacts {
  readonly sha256: string;
  readonly size: number;
  readonly productVersion?: string;
  readonly networkName: string;
  readonly disks: number;
  /** Bytes of the datastore that the disks need at least: populated and full. */
  readonly populatedBytes: number;
  readonly capacityBytes: number;
  readonly secureBoot: boolean;
  readonly warnings: readonly string[];
}

export interface SourceInput {
  readonly source: OvaSource;
  readonly target: SwapTarget;
  readonly verifyManifest: 'require' | 'if-present' | 'off';
  readonly strictOva: boolean;
}

export interface ImportInput extends SourceInput {
  readonly scope: SwapScope;
  readonly placement: ResolvedPlacement;
  /** As people call it, for messages. */
  readonly datastoreName: string;
  readonly hostName?: string;
  readonly diskProvisioning: 'inherit' | 'default' | 'thin' | 'thick' | 'eagerZeroedThick';
  /** Whose disks `inherit` looks at. */
  readonly prod?: MoRef;
  readonly uploadStallMs: number;
}

export interface ImportResult {
  readonly entity: MoRef;
  readonly uploadedBytes: number;
  readonly attempts: number;
  readonly warnings: readonly string[];
  readonly observation: Observation;
}

export interface FinalizeInput {
  readonly scope: SwapScope;
  readonly vm: MoRef;
  readonly network: MoRef;
  /** Absent when the import was done by an earlier run. */
  readonly disks?: number;
  readonly disableSecureBoot: boolean;
  readonly annotation?: string;
  readonly tagIds: readonly string[];
}

/** `old` leaves the production name for `aside`; `next` takes it, coming from `from`. All by reference. */
export interface SwapNamesInput {
  readonly scope: SwapScope;
  readonly old: MoRef;
  readonly next: MoRef;
  readonly aside: string;
  readonly from: string;
}

export interface SwapNamesResult {
  /** Milliseconds without a production name, where that can be told. */
  readonly gapMs?: number;
  readonly observation: Observation;
}

export interface RenameToProdInput {
  readonly scope: SwapScope;
  readonly vm: MoRef;
  /** The name it has now. */
  readonly from: string;
  /** Since when nobody has the production name, epoch milliseconds, where that is known. */
  readonly absentSince?: number;
}

export interface DestroyInput {
  readonly scope: SwapScope;
  readonly vm: MoRef;
  /** The name it must still have, else it is left alone. */
  readonly name: string;
  /** How long a lease of a crashed import may still hold it, seconds. */
  readonly leaseTimeoutS?: number;
  /** Needed to turn a template with snapshots back into a VM before it is destroyed. */
  readonly pool: MoRef;
}

export interface DestroyResult {
  readonly destroyed: boolean;
  readonly observation: Observation;
}

export interface VerifyInput {
  readonly scope: SwapScope;
  readonly expected: MoRef;
}

/** Short calls of the template swap, on the control queue. Every one is safe to run twice and safe when late. */
export interface TemplateActivities {
  /** Parses and completes the request. Fails with `InvalidRequest`. */
  validateTemplateSwap(request: TemplateSwapRequest): Promise<ValidatedSwap>;
  /** Parses a fleet request; refuses two entries for one template (`DUPLICATE_TARGET`). */
  validateTemplateSwapFleet(request: TemplateSwapFleetRequest): Promise<TemplateSwapFleetRequest>;
  /** Resolves names, tags, host, space and privileges before the first change. */
  preflight(input: ValidatedSwap): Promise<ResolvedPlacement>;
  observe(scope: SwapScope): Promise<Observation>;
  finalizeTemp(input: FinalizeInput): Promise<Observation>;
  /** Both renames, the waits between them and the compensation. */
  swapNames(input: SwapNamesInput): Promise<SwapNamesResult>;
  /** Gives the production name back to the old template. */
  restore(input: RenameToProdInput): Promise<SwapNamesResult>;
  /** Gives the production name to the new template when nobody has it. */
  promote(input: RenameToProdInput): Promise<SwapNamesResult>;
  verifyProd(input: VerifyInput): Promise<Observation>;
  destroyTemp(input: DestroyInput): Promise<DestroyResult>;
  destroyRollback(input: DestroyInput): Promise<DestroyResult>;
}

/** Transfers, on the transfer queue. */
export interface TemplateTransferActivities {
  /** Fetches, hashes and inspects the OVA before anything is changed. */
  ensureSource(input: SourceInput): Promise<SourceFacts>;
  /** Imports the OVA under the temp name. The retry unit is the whole import. */
  importToTemp(input: ImportInput): Promise<ImportResult>;
}

/** Read-only questions of the CLI to what only a worker can reach. */
export interface LookupActivities {
  lookup(request: LookupRequest): Promise<LookupAnswer>;
}

/** Everything a control worker registers. */
export type ControlActivities = TemplateActivities & LookupActivities;
/** Everything a transfer worker registers. */
export type TransferActivities = TemplateTransferActivities & Pick<OvaLookupActivities, 'lookupOva'>;

export interface OvaLookupActivities {
  /** Digest, size and version of an OVA as a transfer worker sees it. */
  lookupOva(request: Extract<LookupRequest, { what: 'ova' }>): Promise<LookupAnswer>;
}
