import type { KubernetesAdmin } from './kubernetes-admin.ts';
import { startProcess, type SupervisedProcess } from './processes.ts';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';

/** Whoever needs nodes needs the scheduler: one file, so that the test run finds or builds it in time. */

/** Starts the scheduler. Pods that came before it are bound as well. */
export async function startScheduler(kubeconfig: string, logFile?: string): Promise<SupervisedProcess> {
  return startProcess({
    name: 'The Kubernetes scheduler',
    command: await findTool(tools.kubeScheduler),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      '--secure-port=0',
    ],
    ready: (line) => line.includes('Starting Kubernetes Scheduler'),
    ...(logFile === undefined ? {} : { logFile }),
  });
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface NodeOptions {
  /** Default `default`. */
  readonly pool?: string;
  /** CPU class; default: none. */
  readonly snapshotClass?: string;
  /** Besides or instead of those that every VM node has. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Besides the one that keeps other Pods off. */
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
  /** Capacity, all of it allocatable; quantities. What is left out has plenty. */
  readonly room?: {
    readonly cpu?: string;
    readonly memory?: string;
    readonly 'ephemeral-storage'?: string;
    readonly pods?: string;
  };
}

const plenty = { cpu: '64', memory: '256Gi', 'ephemeral-storage': '1Ti', pods: '110' };

/** Only VM Pods tolerate it. */
export const providerTaint: Taint = { key: 'virtual-kubelet.io/provider', value: 'cocoon', effect: 'NoSchedule' };

/** A node as an agent announces it: ready, with room, for VM Pods only. */
export function nodeNamed(name: string, options: NodeOptions = {}): object {
  const room = { ...plenty, ...options.room };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'cocoonstack.io/pool': options.pool ?? 'default',
        'node-role.kubernetes.io/cocoon-vm': '',
        ...(options.snapshotClass === undefined ? {} : { 'cocoonstack.io/snapshot-cpu-class': options.snapshotClass }),
        ...options.labels,
      },
    },
    spec: {
      taints: [providerTaint, ...(options.taints ?? [])],
      ...(options.unschedulable === true ? { unschedulable: true } : {}),
    },
    status: { capacity: room, allocatable: room, conditions: [readyCondition('True')] },
  };
}

export async function createNode(admin: KubernetesAdmin, name: string, options: NodeOptions = {}): Promise<void> {
  await send(admin, 'POST', '/api/v1/nodes', nodeNamed(name, options));
}

/** As `kubectl cordon` and `uncordon`. */
export async function setCordon(admin: KubernetesAdmin, name: string, isCordoned: boolean): Promise<void> {
  await patchNode(admin, name, { spec: { unschedulable: isCordoned } });
}

export type Readiness = 'True' | 'False' | 'Unknown';

const notReadyTaints: Readonly<Record<Readiness, string | undefined>> = {
  True: undefined,
  False: 'node.kubernetes.io/not-ready',
  Unknown: 'node.kubernetes.io/unreachable',
};

/** The condition, and what the node controller of a whole cluster does with it: the scheduler looks at taints only. */
export async function setReady(admin: KubernetesAdmin, name: string, ready: Readiness): Promise<void> {
  const { spec } = (await send(admin, 'GET', nodePath(name))) as { spec: { taints?: readonly Taint[] } };
  const others = (spec.taints ?? []).filter(({ key }) => !Object.values(notReadyTaints).includes(key));
  const key = notReadyTaints[ready];
  const own = key === undefined ? [] : (['NoSchedule', 'NoExecute'] as const).map((effect) => ({ key, effect }));
  await patchNode(admin, name, { spec: { taints: [...others, ...own] } });
  await patchNode(admin, `${name}/status`, { status: { conditions: [readyCondition(ready)] } });
}

/** The object goes; what ran on the node is nobody's business here. */
export async function deleteNode(admin: KubernetesAdmin, name: string): Promise<void> {
  await send(admin, 'DELETE', nodePath(name));
}

/** `Never`: waits for room, and takes none from Pods of lower priority. */
export async function createPriorityClass(
  admin: KubernetesAdmin,
  name: string,
  value: number,
  preemptionPolicy: 'PreemptLowerPriority' | 'Never' = 'PreemptLowerPriority',
): Promise<void> {
  await admin.apply({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    ...{ value, preemptionPolicy },
  });
}

function readyCondition(status: Readiness): object {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  return { type: 'Ready', status, reason: 'Set', lastHeartbeatTime: now, lastTransitionTime: now };
}

const nodePath = (name: string): string => `/api/v1/nodes/${name}`;

async function patchNode(admin: KubernetesAdmin, path: string, patch: object): Promise<void> {
  await send(admin, 'PATCH', nodePath(path), patch, 'application/strategic-merge-patch+json');
}

async function send(
  admin: KubernetesAdmin,
  method: string,
  path: string,
  body?: object,
  contentType?: string,
): Promise<unknown> {
  const answer = await admin.send(method, path, body, contentType);
  if (answer.status >= 300) throw new Error(`${method} ${path} failed: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
