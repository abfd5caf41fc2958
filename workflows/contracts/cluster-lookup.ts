import type { RunPolicy, VmPhase } from '../domain/vmop/applicability.ts';
import type { OperationKind } from '../domain/vmop/matrix.ts';
import type { OperationName, VmopPhase } from './vmop.ts';

/** A VirtualMachine as the cluster has it now. Times are ISO 8601 in UTC. */
export interface VmInfo {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly phase: VmPhase;
  readonly runPolicy: RunPolicy;
  readonly nodeName?: string;
  readonly ipAddress?: string;
  /** Changes that the next restart applies. */
  readonly restartPending?: boolean;
  readonly createdAt: string;
}

/** A VirtualMachineOperation as the cluster has it now. Times are ISO 8601 in UTC. */
export interface VmopInfo extends OperationKind {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly vmName: string;
  /** What people are told: `Superseded` also where the object's own phase is `Completed`. Absent: nobody has seen it yet. */
  readonly phase?: VmopPhase;
  /** Of the condition `Completed`. */
  readonly reason?: string;
  readonly message?: string;
  /** Such as `33%`. */
  readonly progress?: string;
  readonly seq?: number;
  readonly supersededBy?: OperationName;
  readonly supersedes: readonly OperationName[];
  readonly by?: string;
  /** Why it was asked for. */
  readonly why?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly createdAt: string;
  /** Absent: not over. */
  readonly endedAt?: string;
  readonly deleting?: boolean;
}

/** Questions about the cluster. Each is answered from what a quorum of its store holds at that moment. */
export type ClusterLookupRequest =
  /** In the order of namespace and name. `after`: `next` of the page before. Without a namespace: of all. */
  | {
      readonly what: 'vms';
      readonly namespace?: string;
      /** Label selector. */
      readonly selector?: string;
      /** Only those of this name. */
      readonly name?: string;
      readonly after?: string;
    }
  | { readonly what: 'vm'; readonly namespace: string; readonly name: string }
  | { readonly what: 'vmops'; readonly namespace?: string; readonly vmName?: string; readonly after?: string }
  /** By name or UID; without a namespace there may be several of one name. */
  | { readonly what: 'vmop'; readonly namespace?: string; readonly nameOrUid: string };

/** A page is at most 100 KB. `next` is there when `truncated`. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly truncated: boolean;
  readonly next?: string;
}

export type ClusterLookupAnswer =
  | ({ readonly what: 'vms' } & Page<VmInfo>)
  /** `operations`: all that are active and the five newest, newest first. */
  | { readonly what: 'vm'; readonly vm?: VmInfo; readonly operations: readonly VmopInfo[] }
  | ({ readonly what: 'vmops' } & Page<VmopInfo>)
  | { readonly what: 'vmop'; readonly found: readonly VmopInfo[] };
