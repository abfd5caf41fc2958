import type { Cluster } from '../../../activities/kubernetes/port.ts';
import type { Registry } from '../../../activities/registry/port.ts';
import { createRegistry } from '../../../activities/registry/undici-adapter.ts';
import { startNodeAgents, type NodeAgents } from '../../sim/node-agent/node-agents.ts';
import type { AgentSettings } from '../../sim/node-agent/settings.ts';
import { startRegistryProxy, type RegistryProxy } from '../../sim/registry-proxy.ts';
import type { NodeOptions } from '../../stack/kubernetes-nodes.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { startRegistry, type RegistryUnderTest } from '../../stack/registry.ts';
import { recordSets } from '../../support/set-recorder.ts';
import { connect } from '../kubernetes/builders.ts';
import { endpointAt } from '../registry/builders.ts';

/** Everything that agents need, and the part of the controller played by the test. */
export interface AgentRig {
  readonly kubernetes: KubernetesUnderTest;
  readonly registry: RegistryUnderTest;
  readonly proxy: RegistryProxy;
  readonly agents: NodeAgents;
  readonly cluster: Cluster;
  /** The project's own client, through the proxy. */
  readonly tags: Registry;
  readonly namespace: string;
  stop(): Promise<void>;
}

export const nodes: Readonly<Record<string, NodeOptions>> = { 'node-a': {}, 'node-b': {}, 'node-c': {} };

export async function startAgentRig(settings: Partial<AgentSettings> = {}): Promise<AgentRig> {
  /** What has been started, last first. */
  const stops: (() => unknown)[] = [];
  const started = <T>(part: T, stop: (part: T) => unknown): T => {
    stops.unshift(() => stop(part));
    return part;
  };
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0)) await one();
  };
  try {
    const kubernetes = started(await startKubernetes({ scheduler: true }), (part) => part.stop());
    const registry = started(await startRegistry(), (part) => part.stop());
    const proxy = started(await startRegistryProxy(registry.url), (part) => part.stop());
    const kubeconfig = kubernetes.kubeconfig('nodeAgent');
    const access = { url: proxy.url };
    const agents = started(await startNodeAgents({ kubeconfig, nodes, registry: access, settings }), (part) =>
      part.stop(),
    );
    const cluster = started(connect(kubernetes, 'vmflow'), (part) => part.close());
    started(await recordSets(agents.timeline, cluster, proxy), (part) => part.stop());
    const tags = started(createRegistry(endpointAt(proxy.url), { allowInsecureTls: false }), (part) => part.close());
    const namespace = await kubernetes.createNamespace();
    return { kubernetes, registry, proxy, agents, cluster, tags, namespace, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
