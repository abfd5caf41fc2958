import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import type { RunPolicy, VmPhase } from '../../../workflows/contracts/vmop.ts';
import type { Delays } from './switches.ts';

/** A node that instances run on. Only a name and labels: there is no Node object. */
export interface SimNode {
  readonly name: string;
  /** What `addedNodeSelector` of a migration is compared with. `kubernetes.io/hostname` is its name, always. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface VmLayerOptions {
  /** Path of a kubeconfig of the user that plays the layer. */
  readonly kubeconfig: string;
  /** Acts in these namespaces only. Default: in all. */
  readonly namespaces?: readonly string[];
  readonly delays?: Partial<Delays>;
  /** Default: `node-a`, `node-b`, `node-c`. */
  readonly nodes?: readonly SimNode[];
  /** Told of every failed write; nothing else is done about it than to try again. */
  readonly onFailure?: (error: Error) => void;
}

/** A write that the layer made. */
export interface LayerWrite {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly verb: 'create' | 'patch' | 'delete';
  readonly on: 'vm' | 'machine' | 'instance' | 'migration';
  readonly namespace: string;
  readonly vmName: string;
  /** Of the object that was written. */
  readonly name: string;
  readonly uid: string;
  /** What for, e.g. `the guest has shut down`. */
  readonly why: string;
}

/** One instance that a VM had. */
export interface InstanceLife {
  readonly uid: string;
  /** Milliseconds since the epoch, when the layer saw it; `deletingAt` absent: nobody deleted it; `goneAt` absent: it is there. */
  readonly createdAt: number;
  readonly deletingAt?: number;
  readonly goneAt?: number;
}

/** A VM and what is underneath, as the layer sees it now. */
export interface VmView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** As written in the VM's status; `Pending` before that. */
  readonly phase: VmPhase;
  readonly nodeName?: string;
  readonly object: KubeObject;
  /** Its InternalVirtualizationVirtualMachine. */
  readonly machine?: KubeObject;
  readonly instance?: KubeObject;
  /** Oldest first. */
  readonly migrations: readonly KubeObject[];
}

export interface NewVm {
  /** Default `AlwaysOnUnlessStoppedManually`. */
  readonly runPolicy?: RunPolicy;
  /** Whether it runs at first. Default: what the policy says (`Manual` and `AlwaysOff`: no). */
  readonly running?: boolean;
  readonly liveMigrationPolicy?: 'AlwaysSafe' | 'PreferSafe' | 'AlwaysForced' | 'PreferForced';
  /** Default 60. */
  readonly terminationGracePeriodSeconds?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  /** When it counts as settled. Default: `Running` or `Stopped`, as it should be; `Pending` where a switch keeps it from running. */
  readonly settled?: (vm: VmView) => boolean;
  readonly timeoutMs?: number;
}

/**
 * Plays everything below a VM on real objects: KubeVirt and the controller of VirtualMachines. Makes the machine of each VM, its
 * instances, moves migrations on, and writes the VM's status from what is there. How a single VM behaves is said by annotations
 * on it (`switches`, `delayAnnotations`).
 */
export interface VmLayer {
  /**
   * Stops everything, like a controller that hangs: objects can be changed, nothing follows. Resolves when no write is under way
   * any more. Delays that had begun go on.
   */
  freeze(): Promise<void>;
  thaw(): void;
  /** The same for one VM. */
  freezeVm(namespace: string, name: string): Promise<void>;
  thawVm(namespace: string, name: string): void;
  /** Changes some delays of the layer, for all VMs that don't say otherwise, from now on; what waits already is measured anew. */
  setDelays(delays: Partial<Delays>): void;

  /** Creates a VM and resolves when it has settled. */
  createVm(namespace: string, name: string, vm?: NewVm): Promise<VmView>;
  /** Sets annotations of a VM, or removes them (undefined). When it resolves the layer goes by them. */
  annotate(namespace: string, name: string, annotations: Readonly<Record<string, string | undefined>>): Promise<void>;
  /** Changes parts of a VM's `spec`, e.g. `{ runPolicy: 'AlwaysOff' }`. When it resolves the layer goes by them. */
  patchSpec(namespace: string, name: string, spec: Readonly<Record<string, unknown>>): Promise<void>;
  /** Undefined: there is none. From a watch: a change that somebody else has just made may be missing. */
  vm(namespace: string, name: string): VmView | undefined;
  /** Resolves with the first view that the predicate is true of; fails after the time (default 60 s) with what was there last. */
  waitForVm(namespace: string, name: string, predicate: (vm: VmView) => boolean, timeoutMs?: number): Promise<VmView>;
  /** Resolves when the VM and everything underneath is gone. */
  waitForNoVm(namespace: string, name: string, timeoutMs?: number): Promise<void>;

  /** All instances that a VM of this name ever had since the layer was started, oldest first. */
  instancesOf(namespace: string, name: string): readonly InstanceLife[];
  /** The layer's own writes that were answered, oldest first; of one namespace, or of one VM. */
  writes(namespace?: string, vmName?: string): readonly LayerWrite[];
  /** Ends the layer: as if its process were killed, objects stay as they are. */
  stop(): Promise<void>;
}
