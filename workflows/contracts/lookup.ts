import type { BatchLookupAnswer, BatchLookupRequest } from './batch-lookup.ts';
import type { ClusterLookupAnswer, ClusterLookupRequest } from './cluster-lookup.ts';
import type { Placement } from './template.ts';

/** Input of the workflow `lookup`: one read-only question. */
export type LookupRequest =
  | { readonly what: 'endpoints' }
  | { readonly what: 'endpoint'; readonly name: string }
  | {
      readonly what: 'template';
      readonly vcenter: string;
      readonly placement: Placement;
      readonly name: string;
      /** Of the name of the previous one; default `mco-old`. */
      readonly rollbackPrefix?: string;
    }
  | { readonly what: 'templates'; readonly vcenter: string; readonly datacenter: string; readonly folder?: string }
  /** Reads the OVA on a transfer worker. A path or an http(s) URL. */
  | { readonly what: 'ova'; readonly location: string; readonly headersRef?: string }
  | { readonly what: 'worker' }
  | BatchLookupRequest
  | ClusterLookupRequest;

/** One far side of `vmflow.yaml`, without secrets. */
export interface EndpointInfo {
  readonly name: string;
  readonly kind: 'vcenter' | 'cluster' | 'registry' | 'target';
  readonly url: string;
  readonly user: string;
  readonly tls: string;
}

/** One thing that was looked at and how it went. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was found, or why it failed. */
  readonly detail: string;
  /** What to do about it. */
  readonly remedy?: string;
  /** What kind of failure it is, for the exit code. */
  readonly failure?: 'unreachable' | 'forbidden' | 'wrong';
}

export interface TemplateInfo {
  readonly name: string;
  readonly folder: string;
  readonly moRef: string;
  readonly isTemplate: boolean;
  readonly version?: string;
  /** Version of the template kept for an undo. */
  readonly previous?: string;
}

export type LookupAnswer =
  | { readonly what: 'endpoints'; readonly endpoints: readonly EndpointInfo[] }
  | { readonly what: 'endpoint'; readonly endpoint: EndpointInfo; readonly checks: readonly Check[] }
  | { readonly what: 'template'; readonly template?: TemplateInfo }
  | { readonly what: 'templates'; readonly templates: readonly TemplateInfo[]; readonly truncated: boolean }
  | {
      readonly what: 'ova';
      readonly sha256: string;
      readonly size: number;
      readonly version?: string;
      readonly warnings: readonly string[];
    }
  | {
      readonly what: 'worker';
      readonly buildId: string;
      readonly sdk: string;
      readonly node: string;
      readonly checks: readonly Check[];
    }
  | BatchLookupAnswer
  | ClusterLookupAnswer;
