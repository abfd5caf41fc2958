import type { KubernetesAdmin } from '../stack/kubernetes-admin.ts';
import type { SchedulerUnderTest } from '../stack/kubernetes.ts';

/** S1: nothing is scheduled while this runs. */
export async function withSchedulerPaused<T>(scheduler: SchedulerUnderTest, work: () => Promise<T>): Promise<T> {
  scheduler.freeze();
  try {
    return await work();
  } finally {
    scheduler.thaw();
  }
}

/** S2: binds a Pod before the scheduler does, past its checks. Only sure while the scheduler is paused. */
export async function bindFirst(admin: KubernetesAdmin, namespace: string, pod: string, node: string): Promise<void> {
  const target = { apiVersion: 'v1', kind: 'Node', name: node };
  await send(admin, 'POST', `/api/v1/namespaces/${namespace}/pods/${pod}/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: pod, namespace },
    target,
  });
}

export interface Filler {
  /** Frees the room again. */
  remove(): Promise<void>;
}

/** S3: a Pod that takes room on a node, bound past the scheduler. */
export async function fillNode(
  admin: KubernetesAdmin,
  namespace: string,
  node: string,
  requests: Readonly<Record<string, string>>,
): Promise<Filler> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const name = `filler-${node}-${Date.now().toString(36)}`;
  await send(admin, 'POST', path, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeName: node,
      containers: [{ name: 'filler', image: 'none', resources: { requests, limits: requests } }],
      tolerations: [{ operator: 'Exists' }],
    },
  });
  return { remove: () => send(admin, 'DELETE', `${path}/${name}?gracePeriodSeconds=0`) };
}

async function send(admin: KubernetesAdmin, method: string, path: string, body?: object): Promise<void> {
  const answer = await admin.send(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path} failed: ${JSON.stringify(answer.body)}`);
}
