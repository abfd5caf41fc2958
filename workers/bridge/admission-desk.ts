import type { Cluster } from '../../activities/kubernetes/port.ts';
import { resources } from '../../activities/kubernetes/resources.ts';
import { vmOf, vmopOf } from '../../activities/vmop/objects.ts';
import type { VmFacts } from '../../workflows/contracts/vmop.ts';
import { admission, type Admission } from './admission.ts';
import type { Review } from './review.ts';

/** Answers a review from what the API server's store holds now. Fails when that can't be read in time. */
export type AdmissionDesk = (review: Review, deadlineMs: number) => Promise<Admission>;

/**
 * Never looks into a watch: what has just ended there would still be active. Needs neither Temporal nor a worker: every
 * operation that counts is an object.
 */
export function admissionDesk(cluster: Cluster): AdmissionDesk {
  return async ({ namespace, name, spec }, deadlineMs) => {
    const [operations, vm] = await within(deadlineMs, [
      cluster.list(resources.vmop, namespace),
      // Whoever can't see the VM judges without it, as before a VM exists; the gate sees it.
      cluster.get(resources.vm, namespace, spec.virtualMachineName).catch(() => undefined),
    ]);
    return admission({
      newcomer: { namespace, name, spec },
      operations: operations.map((object) => vmopOf(object)),
      ...(vm === undefined ? {} : { vm: factsOf(vm) }),
    });
  };
}

function factsOf(object: Parameters<typeof vmOf>[0]): VmFacts {
  const { uid, runPolicy, phase } = vmOf(object);
  return { uid, runPolicy, phase };
}

async function within<A, B>(ms: number, [a, b]: readonly [Promise<A>, Promise<B>]): Promise<readonly [A, B]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `The operations that are active could not be read within ${ms} ms.`;
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  try {
    return await Promise.race([Promise.all([a, b]), late]);
  } finally {
    clearTimeout(timer);
  }
}
