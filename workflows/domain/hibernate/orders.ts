import { hasFailed, isLive, type Observation } from './observation.ts';
import { isLabelValue } from './preflight.ts';
import type { Order } from './situation.ts';

/** Where an abort brings the VM back to: where it was before; undefined: nothing tells. */
export function homeOf({ set, pod }: Observation): string | undefined {
  const known = set?.record?.from ?? pod?.nodeName;
  return known === '' ? undefined : known;
}

/** Why an order can't be carried out, in one sentence for the person who gave it; undefined: it can. */
export function orderProblem(order: Order, observation: Observation, setUid?: string): string | undefined {
  const { set } = observation;
  if (set === undefined || set.deleting) return 'the set is gone or being deleted';
  return problems[order](observation, setUid);
}

const problems: Readonly<Record<Order, (observation: Observation, setUid?: string) => string | undefined>> = {
  retry: ({ pod, source }) => {
    const isLost = pod !== undefined && pod.restore && !isLive(pod) && hasFailed(pod) && source?.ready === false;
    return isLost
      ? `node "${source.name}" is not ready: it may still hold the VM. Wait for it, or remove the node`
      : undefined;
  },
  abort: (observation) => {
    const home = homeOf(observation);
    if (home === undefined) return 'nothing tells where the VM came from; set the node of the set instead';
    return observation.set?.nodeName === home ? `the VM is wanted on "${home}" already` : undefined;
  },
  'acknowledge-loss': ({ set }, setUid) =>
    set?.uid === setUid ? undefined : `the UID given is not that of the set; it is "${set?.uid ?? ''}"`,
};

/** Why a set can't be given another target; empty means anywhere. */
export function retargetProblem(to: string, { set }: Observation): string | undefined {
  if (set === undefined || set.deleting) return 'the set is gone or being deleted';
  if (to !== '' && !isLabelValue(to)) return `"${to}" can't be the name of a node`;
  return to === set.nodeName ? `the VM is wanted there already` : undefined;
}
