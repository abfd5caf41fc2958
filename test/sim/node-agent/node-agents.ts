import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { NodeOptions } from '../../stack/kubernetes-nodes.ts';
import { createFaults, type Faults } from './faults.ts';
import { createNodeRuntime, type NodeRuntime } from './node-runtime.ts';
import { createNodeHost, type NodeHost, type Vm } from './node-host.ts';
import { quick, type AgentSettings } from './settings.ts';
import type { RegistryAccess } from './snapshots.ts';
import { silentAnnotation } from './switches.ts';
import { createTimeline, type Timeline } from './timeline.ts';

export interface NodeAgentsOptions {
  /** Path of a kubeconfig of the user that plays the agents. */
  readonly kubeconfig: string;
  /** By name; their Node objects are made where they are missing. */
  readonly nodes: Readonly<Record<string, NodeOptions>>;
  readonly registry: RegistryAccess;
  /** Default `quick`. */
  readonly settings?: Partial<AgentSettings>;
  readonly timeline?: Timeline;
  /** Told of everything that fails; nothing else is done about it than what an agent does. */
  readonly onFailure?: (error: Error) => void;
}

/** Where a VM is. */
export interface PlacedVm extends Vm {
  readonly node: string;
}

/** The agents of some nodes, and the VMs there. How they fail is said by `faults`, or by annotations (see `switches.ts`). */
export interface NodeAgents {
  readonly timeline: Timeline;
  readonly faults: Faults;
  host(node: string): NodeHost;
  /** Every live VM of this name, on all nodes; without a name: every VM. */
  vms(name?: string): readonly PlacedVm[];
  /** Changes some settings, from now on. */
  configure(settings: Partial<AgentSettings>): void;
  /** SIGKILL of an agent; its VMs run on. */
  kill(node: string): void;
  /** Starts it again, killing it first where it runs; resolves when it has taken stock. */
  restart(node: string): Promise<void>;
  isRunning(node: string): boolean;
  /**
   * The agent does nothing more and isn't heard of; after the time (default 0) the node's readiness is unknown, or its Node
   * object is deleted. Resolves when that is so. What was under way is gone on with afterwards.
   */
  silence(node: string, options?: { readonly afterMs?: number; readonly deleteNode?: boolean }): Promise<void>;
  /** It is heard of again: the node is ready, and there again. */
  unsilence(node: string): Promise<void>;
  /** A VM dies by itself. Fails when there is none of that name. */
  dieVm(name: string): void;
  /** Ends all agents, as if they were killed. */
  stop(): Promise<void>;
}

/** Starts an agent for each node; resolves when all have taken stock of what is there. */
export async function startNodeAgents(options: NodeAgentsOptions): Promise<NodeAgents> {
  const cluster = createCluster({ kubeconfig: options.kubeconfig, requestTimeoutMs: 5_000, userAgent: 'node-agent' });
  const timeline = options.timeline ?? createTimeline();
  const settings = { ...quick, ...options.settings };
  const nodes = cluster.watch(resources.node);
  const faults = createFaults((node) => nodes.get('', node)?.metadata.annotations ?? {});
  const onFailure = options.onFailure ?? (() => undefined);
  const { registry } = options;

  const runtimes = new Map<string, NodeRuntime>();
  for (const [node, nodeOptions] of Object.entries(options.nodes)) {
    const host = createNodeHost(node, timeline);
    const shared = { cluster, host, nodeOptions, registry, settings, timeline, faults, onFailure };
    runtimes.set(node, createNodeRuntime(shared));
  }
  const at = (node: string): NodeRuntime => {
    const runtime = runtimes.get(node);
    if (runtime === undefined) throw new Error(`There is no agent for ${node}.`);
    return runtime;
  };
  const vms = (name?: string): readonly PlacedVm[] =>
    [...runtimes].flatMap(([node, { host }]) =>
      host
        .list()
        .filter((vm) => name === undefined || vm.name === name)
        .map((vm) => ({ ...vm, node })),
    );
  async function stop(): Promise<void> {
    for (const runtime of runtimes.values()) runtime.kill();
    await cluster.close();
  }

  nodes.subscribe(({ type, object: { metadata } }) => {
    if (type === 'deleted') return;
    runtimes.get(metadata.name)?.heed(metadata.annotations?.[silentAnnotation] === 'true');
  });
  try {
    await Promise.all([nodes.ready, ...[...runtimes.values()].map((runtime) => runtime.start())]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    timeline,
    faults,
    host: (node) => at(node).host,
    vms,
    configure: (some) => void Object.assign(settings, some),
    kill: (node) => at(node).kill(),
    restart: (node) => at(node).start(),
    isRunning: (node) => at(node).isRunning(),
    silence: (node, how = {}) => at(node).silence(how),
    unsilence: (node) => at(node).unsilence(),
    dieVm(name) {
      if (![...runtimes.values()].some(({ host }) => host.die(name))) throw new Error(`There is no VM ${name}.`);
    },
    stop,
  };
}
