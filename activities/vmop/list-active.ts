import type { ActiveList, VmopActivities } from '../../workflows/contracts/activities.ts';
import { resources } from '../kubernetes/resources.ts';
import type { VmopDeps } from './deps.ts';
import { conditionOf, fenceOf, vmopOf, type Vmop } from './objects.ts';

/** What a coordinator that starts from nothing has to know; read only. */
export function createListActive({ cluster }: VmopDeps): VmopActivities['listActiveVmops'] {
  return async ({ namespace, vmName }): Promise<ActiveList> => {
    const [objects, machine] = await Promise.all([
      cluster.list(resources.vmop, namespace),
      cluster.get(resources.machine, namespace, vmName),
    ]);
    const ofVm = objects.map((object) => vmopOf(object)).filter(({ ref }) => ref.vmName === vmName);
    return {
      operations: ofVm
        .filter((vmop) => !vmop.isTerminal)
        .sort(byAcceptance)
        .map((vmop) => ({
          ...vmop.ref,
          ...(vmop.seq === undefined ? {} : { seq: vmop.seq }),
          deleted: vmop.isDeleting,
        })),
      highestSeq: Math.max(0, ...ofVm.map(({ seq = 0 }) => seq), machine === undefined ? 0 : fenceOf(machine)),
    };
  };
}

/** Those that somebody accepted come first in their order, then those that somebody has seen, then by age and name. */
export function byAcceptance(a: Vmop, b: Vmop): number {
  return (
    (a.seq ?? Number.MAX_SAFE_INTEGER) - (b.seq ?? Number.MAX_SAFE_INTEGER) ||
    Number(wasSeen(b)) - Number(wasSeen(a)) ||
    a.ref.createdAt.localeCompare(b.ref.createdAt) ||
    a.ref.name.localeCompare(b.ref.name)
  );
}

function wasSeen(vmop: Vmop): boolean {
  return vmop.phase !== undefined || conditionOf(vmop.conditions, 'SignalSent') !== undefined;
}
