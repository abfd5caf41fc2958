import { change } from '../../../activities/kubernetes/change.ts';
import { ClusterError, type Cluster, type KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { nodeNamed, type NodeOptions } from '../../stack/kubernetes-nodes.ts';
import type { Life } from './life.ts';

/** The Node object of an agent, with what the controllers of a whole cluster do to it: the scheduler looks at taints only. */

export type Readiness = 'True' | 'Unknown';

const unreachable = 'node.kubernetes.io/unreachable';
const notReady = 'node.kubernetes.io/not-ready';

/** Makes the Node where it is missing; one that is there is left as it is. */
export async function ensureNode(cluster: Cluster, name: string, options: NodeOptions): Promise<void> {
  try {
    await cluster.create(resources.node, undefined, nodeNamed(name, options));
  } catch (error) {
    if (!(error instanceof ClusterError) || error.reason !== 'AlreadyExists') throw error;
  }
}

export async function setReadiness(cluster: Cluster, name: string, ready: Readiness): Promise<void> {
  const node = { resource: resources.node, namespace: '', name };
  await change(cluster, node, (object) => {
    const taints = (object.spec?.['taints'] ?? []) as readonly { readonly key: string }[];
    const others = taints.filter(({ key }) => key !== unreachable && key !== notReady);
    const own = ready === 'True' ? [] : ['NoSchedule', 'NoExecute'].map((effect) => ({ key: unreachable, effect }));
    if (own.length + others.length === taints.length && own.length === 0) return undefined;
    return [{ op: 'add', path: '/spec/taints', value: [...others, ...own] }];
  });
  await change(cluster, { ...node, status: true }, (object) => [
    { op: 'add', path: '/status/conditions', value: conditionsWith(object, ready) },
  ]);
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
}

function conditionsWith({ status }: KubeObject, ready: Readiness): readonly Condition[] {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const before = (status?.['conditions'] ?? []) as readonly Condition[];
  const old = before.find(({ type }) => type === 'Ready');
  const lastTransitionTime = old?.status === ready ? (old.lastTransitionTime ?? now) : now;
  const reason = ready === 'True' ? 'AgentReady' : 'NodeStatusUnknown';
  const condition = { type: 'Ready', status: ready, reason, lastHeartbeatTime: now, lastTransitionTime };
  return [...before.filter(({ type }) => type !== 'Ready'), condition];
}

/** Says that the node is ready, now and from time to time. */
export async function keepReady(
  cluster: Cluster,
  name: string,
  life: Life,
  everyMs: number,
  onFailure: (error: Error) => void,
): Promise<void> {
  const beatLater = (): void => {
    life.after(everyMs, () => {
      setReadiness(cluster, name, 'True').catch((error: unknown) => {
        if (!life.isOver) onFailure(error as Error);
      });
      beatLater();
    });
  };
  await setReadiness(cluster, name, 'True');
  beatLater();
}
