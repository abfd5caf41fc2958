import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import type { Cluster, KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { KubernetesUnderTest, KubernetesUser } from '../../stack/kubernetes.ts';

/** Body of an operation named by the server. */
export function operation(spec: Readonly<Record<string, unknown>>, name?: string): object {
  return {
    metadata: name === undefined ? { generateName: 'op-' } : { name },
    spec: { virtualMachineName: 'db-0', ...spec },
  };
}

export function connect(kubernetes: KubernetesUnderTest, user: KubernetesUser, requestTimeoutMs = 10_000): Cluster {
  return createCluster({ kubeconfig: kubernetes.kubeconfig(user), requestTimeoutMs, userAgent: `test-${user}` });
}

/** First write of a status: `add` where there is none yet. */
export function setPhase(
  cluster: Cluster,
  namespace: string,
  name: string,
  phase: string,
  resourceVersion?: string,
): Promise<KubeObject> {
  const tests =
    resourceVersion === undefined
      ? []
      : [{ op: 'test' as const, path: '/metadata/resourceVersion', value: resourceVersion }];
  return cluster.patch(resources.vmop, namespace, name, [...tests, { op: 'add', path: '/status', value: { phase } }], {
    status: true,
  });
}
