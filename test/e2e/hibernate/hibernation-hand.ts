import type { SetUnderTest } from '../../support/set-scenario.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { waitFor } from '../../support/wait-for.ts';

type Desire = 'Hibernate' | 'Wake';

/** A person with a CocoonHibernation of a set's main VM. */
export interface HibernationUnderTest {
  wants(desire: Desire): Promise<void>;
  phase(): Promise<string | undefined>;
  /** Waits until it has this phase for what it wants now. */
  is(phase: string): Promise<void>;
}

export async function hibernationOf(set: SetUnderTest, desire: Desire): Promise<HibernationUnderTest> {
  const { admin, kubernetes } = set.scenario.rig;
  const { namespace, podName: name } = set;
  await admin.create(resources.hibernation, namespace, {
    metadata: { name, namespace },
    spec: { podRef: { name }, desire },
  });
  const path = `/apis/cocoonset.cocoonstack.io/v1/namespaces/${namespace}/cocoonhibernations/${name}`;
  const read = async () => await admin.get(resources.hibernation, namespace, name);
  return {
    async wants(wanted) {
      const patch = { spec: { desire: wanted } };
      const answer = await kubernetes.admin.send('PATCH', path, patch, 'application/merge-patch+json');
      if (answer.status >= 300) throw new Error(`the hibernation couldn't be patched: ${JSON.stringify(answer.body)}`);
    },
    phase: async () => (await read())?.status?.['phase'] as string | undefined,
    async is(phase) {
      await waitFor(`the hibernation to be ${phase}`, async () => {
        const { metadata, status } = (await read()) ?? {};
        return status?.['phase'] === phase && status['observedGeneration'] === metadata?.generation;
      });
    },
  };
}
