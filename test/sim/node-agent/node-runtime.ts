import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { NodeOptions } from '../../stack/kubernetes-nodes.ts';
import { runAgent } from './agent.ts';
import type { Faults } from './faults.ts';
import { createLife, type Life } from './life.ts';
import { createLifecycleWriter } from './lifecycle.ts';
import type { NodeHost } from './node-host.ts';
import { ensureNode, keepReady, setReadiness } from './node-object.ts';
import { createPodWriter } from './pod-writer.ts';
import type { AgentSettings } from './settings.ts';
import { createSnapshots, type RegistryAccess } from './snapshots.ts';
import type { Timeline } from './timeline.ts';

export interface RuntimeDeps {
  readonly cluster: Cluster;
  readonly host: NodeHost;
  readonly nodeOptions: NodeOptions;
  readonly registry: RegistryAccess;
  readonly settings: AgentSettings;
  readonly timeline: Timeline;
  readonly faults: Faults;
  onFailure(error: Error): void;
}

/** A node: its hypervisor, and the agent that may be killed, started and silenced. */
export interface NodeRuntime {
  readonly host: NodeHost;
  start(): Promise<void>;
  kill(): void;
  isRunning(): boolean;
  silence(how: { readonly afterMs?: number; readonly deleteNode?: boolean }): Promise<void>;
  unsilence(): Promise<void>;
  /** What an annotation says about silence. */
  heed(wantsSilence: boolean): void;
}

export function createNodeRuntime(deps: RuntimeDeps): NodeRuntime {
  const { cluster, host, settings, nodeOptions } = deps;
  const onFailure = (error: Error): void => deps.onFailure(error);
  const { node } = host;
  let life: Life | undefined;
  let isSilencedByNote = false;
  /** Counts what others decide about the agent: who waits sees whether it still has a say. */
  let decisions = 0;
  const kill = (): void => {
    decisions += 1;
    life?.end();
  };

  async function start(): Promise<void> {
    kill();
    const own = createLife();
    life = own;
    await ensureNode(cluster, node, nodeOptions);
    await keepReady(cluster, node, own, settings.heartbeatMs, onFailure);
    await runAgent(cluster, workOf(own));
  }

  /** However long the API server or the registry is away, unless somebody else decides about the agent meanwhile. */
  async function startAtLast(): Promise<void> {
    for (;;) {
      const started = start();
      const own = decisions;
      try {
        await started;
        return;
      } catch (error) {
        if (own !== decisions) return;
        onFailure(error as Error);
      }
      await sleep(settings.retryMaxMs, undefined, { ref: false });
      if (own !== decisions) return;
    }
  }

  function workOf(own: Life) {
    const write = createPodWriter(cluster, own, node);
    const restartLater = (restartAfterMs: number): void => {
      own.end();
      const now = decisions;
      const again = (): void => {
        if (now === decisions) void startAtLast();
      };
      if (restartAfterMs > 0) setTimeout(again, restartAfterMs).unref();
    };
    return {
      ...deps,
      node,
      snapshotClass: nodeOptions.snapshotClass ?? '',
      life: own,
      snapshots: createSnapshots(deps.registry, own, settings.registryTimeoutMs),
      write,
      lifecycle: createLifecycleWriter({ node, life: own, faults: deps.faults, settings, write }),
      kill: restartLater,
    };
  }

  async function silence({ afterMs = 0, deleteNode = false }: { afterMs?: number; deleteNode?: boolean }) {
    life?.hold();
    await sleep(afterMs);
    if (deleteNode) await cluster.remove(resources.node, '', node);
    else await setReadiness(cluster, node, 'Unknown');
  }

  async function unsilence(): Promise<void> {
    await ensureNode(cluster, node, nodeOptions);
    await setReadiness(cluster, node, 'True');
    life?.release();
  }

  return {
    host,
    start,
    kill,
    isRunning: () => life !== undefined && !life.isOver,
    silence,
    unsilence,
    heed(wantsSilence) {
      if (wantsSilence === isSilencedByNote) return;
      isSilencedByNote = wantsSilence;
      (wantsSilence ? silence({}) : unsilence()).catch(onFailure);
    },
  };
}
