import { createCluster } from '../../activities/kubernetes/client-node-adapter.ts';
import { resources } from '../../activities/kubernetes/resources.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Stack } from './stack.ts';

/** Sets on node a: their main VMs fit on b and c as well. */
export const sampleSetNames = ['shell', 'build', 'desk-1', 'desk-2', 'desk-3'] as const;

/** Creates them and waits until their VMs run. */
export async function sampleSets(
  stack: Pick<Stack, 'kubernetes'>,
  namespace = 'desks',
): Promise<{ namespace: string }> {
  await stack.kubernetes.admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const cluster = createCluster({ kubeconfig: stack.kubernetes.kubeconfig('admin') });
  try {
    for (const name of sampleSetNames) {
      await cluster.create(resources.set, namespace, {
        metadata: { name, namespace },
        spec: {
          nodeName: 'node-a',
          agent: { image: 'ubuntu:24.04', resources: { requests: { cpu: '500m', memory: '1Gi' } } },
        },
      });
    }
    for (const name of sampleSetNames) {
      await waitFor(`${name} to run`, async () => {
        const set = await cluster.get(resources.set, namespace, name);
        return set?.status?.['phase'] === 'Running';
      });
    }
  } finally {
    await cluster.close();
  }
  return { namespace };
}
