import type { ClusterLookupAnswer, ClusterLookupRequest, VmopInfo } from '../../workflows/contracts/cluster-lookup.ts';
import type { Cluster } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { badSelector } from './bad-selector.ts';
import { newestFirst, pageOf, vmInfo, vmopInfo } from './cluster-info.ts';
import { setQuestions } from './set-questions.ts';

type ClusterAnswers = {
  readonly [W in ClusterLookupRequest['what']]: (
    request: Extract<ClusterLookupRequest, { what: W }>,
  ) => Promise<ClusterLookupAnswer>;
};

/** How many operations a VM is shown with, besides the active ones. */
const newest = 5;

/** Questions about VMs, their operations and sets; each is read from the cluster when it is asked. */
export function clusterQuestions(cluster: Cluster): ClusterAnswers {
  return {
    ...setQuestions(cluster),
    async vms({ namespace, selector, name, after }) {
      const objects = await cluster.list(resources.vm, namespace, selector).catch((err: unknown) => {
        throw badSelector(err, selector) ?? err;
      });
      const wanted = objects.filter(({ metadata }) => name === undefined || metadata.name === name);
      return { what: 'vms', ...pageOf(wanted.map(vmInfo), after) };
    },
    async vm({ namespace, name }) {
      const [object, operations] = await Promise.all([
        cluster.get(resources.vm, namespace, name),
        operationsIn(cluster, namespace, name),
      ]);
      const shown = operations.sort(newestFirst).filter((op, place) => place < newest || op.endedAt === undefined);
      return { what: 'vm', ...(object === undefined ? {} : { vm: vmInfo(object) }), operations: shown };
    },
    async vmops({ namespace, vmName, after }) {
      return { what: 'vmops', ...pageOf(await operationsIn(cluster, namespace, vmName), after) };
    },
    async vmop({ namespace, nameOrUid }) {
      const all = await operationsIn(cluster, namespace);
      return { what: 'vmop', found: all.filter(({ name, uid }) => name === nameOrUid || uid === nameOrUid) };
    },
  };
}

async function operationsIn(cluster: Cluster, namespace?: string, vmName?: string): Promise<VmopInfo[]> {
  const objects = await cluster.list(resources.vmop, namespace);
  return objects.map(vmopInfo).filter((op) => vmName === undefined || op.vmName === vmName);
}
