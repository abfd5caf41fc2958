import { resources } from '../../activities/kubernetes/resources.ts';
import { createCluster } from '../../activities/kubernetes/client-node-adapter.ts';
import { delayAnnotations, switches } from '../sim/vm-layer/switches.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Stack } from './stack.ts';

interface SampleVm {
  readonly running: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Some VMs to work with, and one whose guest does not listen. */
const sample: Readonly<Record<string, SampleVm>> = {
  'web-1': { running: true },
  'web-2': { running: true },
  'db-1': { running: false },
  'deaf-1': { running: true, annotations: { [switches.ignoreShutdown]: 'true' } },
  'homeless-1': { running: false, annotations: { [switches.unschedulable]: 'true' } },
};

/** Creates them in a namespace and waits until they are what they should be. */
export async function sampleVms(stack: Pick<Stack, 'kubernetes'>, namespace = 'shop'): Promise<{ namespace: string }> {
  await stack.kubernetes.admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const cluster = createCluster({ kubeconfig: stack.kubernetes.kubeconfig('vmLayer') });
  try {
    for (const [name, { running, annotations }] of Object.entries(sample)) {
      await cluster.create(resources.vm, namespace, {
        metadata: {
          name,
          namespace,
          annotations: {
            [switches.startOnCreation]: String(running),
            [delayAnnotations.startDelay]: '0',
            ...annotations,
          },
        },
        spec: { runPolicy: 'Manual', terminationGracePeriodSeconds: 600 },
      });
    }
    for (const [name, { running }] of Object.entries(sample)) {
      const phase = running ? 'Running' : 'Stopped';
      await waitFor(`${name} to be ${phase}`, async () => {
        const vm = await cluster.get(resources.vm, namespace, name);
        return vm?.status?.['phase'] === phase;
      });
    }
  } finally {
    await cluster.close();
  }
  return { namespace };
}
