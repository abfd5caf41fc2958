import type { Condition } from '../domain/conditions.ts';
import type { HibernationFacts, SetPhase } from '../domain/hibernate/observation.ts';
import type { MigrationRecord } from '../domain/hibernate/record.ts';
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

/** A CocoonSet as the cluster has it now. Times are ISO 8601 in UTC. */
export interface SetInfo {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Absent: nobody has seen it yet. */
  readonly phase?: SetPhase;
  readonly generation: number;
  readonly observedGeneration: number;
  /** Where the main VM runs, or is stored; absent: it has no Pod, or one without a node. */
  readonly node?: string;
  /** Where it is wanted; absent: anywhere. */
  readonly target?: string;
  readonly suspend?: true;
  readonly readyAgents: number;
  readonly desiredAgents: number;
  /** Condition `Migrating`: its reason is the step, or what it waits for. */
  readonly migrating?: Condition;
  readonly createdAt: string;
  readonly deleting?: true;
}

/** One VM of a set. */
export interface AgentInfo {
  readonly slot: number;
  readonly role: string;
  readonly podName?: string;
  readonly vmName?: string;
  /** Of the VM that runs; absent: none does. */
  readonly vmId?: string;
  readonly ip?: string;
  readonly phase?: string;
}

export interface SetDetails extends SetInfo {
  readonly image: string;
  readonly agents: readonly AgentInfo[];
  readonly conditions: readonly Condition[];
  /** What its migration has written on it; absent: none is under way. */
  readonly record?: MigrationRecord;
  /** The CocoonHibernation of its main VM. */
  readonly hibernation?: HibernationFacts;
}

/** The Pod of one VM of a set. */
export interface VmPodInfo {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly vmName: string;
  readonly vmId?: string;
  readonly node?: string;
}

/** A node, and the sets whose main VM is there. */
export interface NodeInfo {
  readonly name: string;
  readonly ready: boolean;
  readonly cordoned: boolean;
  /** Who has cordoned it to drain it. */
  readonly drainedBy?: string;
  /** `<namespace>/<name>` */
  readonly sets: readonly string[];
}

/** One row of `node list`. */
export interface NodeRow extends Omit<NodeInfo, 'sets'> {
  /** How many sets have their main VM there. */
  readonly mains: number;
}

/** What a name on the command line can mean. */
export type NamedKind = 'vm' | 'set' | 'pod';

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
  | { readonly what: 'vmop'; readonly namespace?: string; readonly nameOrUid: string }
  /** As `vms`. */
  | {
      readonly what: 'sets';
      readonly namespace?: string;
      readonly selector?: string;
      readonly name?: string;
      readonly after?: string;
    }
  | { readonly what: 'set'; readonly namespace: string; readonly name: string }
  | { readonly what: 'node'; readonly name: string }
  | { readonly what: 'nodes' }
  /**
   * What has this name, of these kinds. A kind that the cluster doesn't know has nothing of any name; sets that may not be seen
   * neither, where VMs are asked for as well.
   */
  | {
      readonly what: 'named';
      readonly name: string;
      readonly namespace?: string;
      readonly kinds: readonly NamedKind[];
    };

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
  | { readonly what: 'vmop'; readonly found: readonly VmopInfo[] }
  | ({ readonly what: 'sets' } & Page<SetInfo>)
  | { readonly what: 'set'; readonly set?: SetDetails }
  /** Absent: there is none of that name. `sets`: the first hundred. */
  | { readonly what: 'node'; readonly node?: NodeInfo }
  /** The first five hundred, by name. */
  | { readonly what: 'nodes'; readonly nodes: readonly NodeRow[]; readonly truncated: boolean }
  /** Of each kind the first hundred. Those that weren't asked for are empty. */
  | {
      readonly what: 'named';
      readonly vms: readonly VmInfo[];
      readonly sets: readonly SetInfo[];
      readonly pods: readonly VmPodInfo[];
    };
