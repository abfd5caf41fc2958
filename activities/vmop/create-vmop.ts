import type { VmopActivities } from '../../workflows/contracts/activities.ts';
import { vmopKeys } from '../../workflows/contracts/vmop.ts';
import { OperationError } from '../failures.ts';
import { ClusterError, type Cluster } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import type { VmopDeps } from './deps.ts';
import { annotation, vmopOf } from './objects.ts';

/** Which request made an object: only that one may find it again. */
const requestIdKey = 'vmflow.dev/request-id';

/** Creates the object that a person asked for. The API server's own rules and the webhook decide. */
export function createCreateVmop({ cluster }: VmopDeps): VmopActivities['createVmop'] {
  return async ({ namespace, name, spec, by, reason, requestId, dryRun }) => {
    const annotations = {
      [requestIdKey]: requestId,
      [vmopKeys.requestedBy]: by,
      ...(reason === undefined ? {} : { [vmopKeys.reason]: reason }),
    };
    const body = { metadata: { name, namespace, annotations }, spec };
    try {
      return vmopOf(await cluster.create(resources.vmop, namespace, body, { dryRun })).ref;
    } catch (err) {
      if (!(err instanceof ClusterError)) throw err;
      if (err.reason === 'AlreadyExists') return await ofThisRequest(cluster, namespace, name, requestId);
      throw err.reason === 'Denied' ? refused(err) : err;
    }
  };
}

async function ofThisRequest(
  cluster: Cluster,
  namespace: string,
  name: string,
  requestId: string,
): ReturnType<VmopActivities['createVmop']> {
  const object = await cluster.get(resources.vmop, namespace, name);
  if (object !== undefined && annotation(object, requestIdKey) === requestId) return vmopOf(object).ref;
  throw new OperationError('Refused', `there is already another operation "${name}" in namespace ${namespace}`, {
    code: 'NAME_TAKEN',
    next: `choose another name, or look at it: vmflow op get ${name} -n ${namespace}`,
  });
}

/** In the words of the rule: what the API server puts before them names the webhook, which helps nobody. */
function refused(err: ClusterError): OperationError {
  const [, words = err.message] = /denied the request: (.*)$/s.exec(err.message) ?? [];
  return new OperationError('Refused', words, { code: 'ADMISSION_DENIED', cause: err });
}

/** Deletes exactly this object; its finalizer holds it until its operation has cleaned up. */
export function createDeleteVmop({ cluster }: VmopDeps): VmopActivities['deleteVmop'] {
  return async ({ namespace, name, uid }) => {
    try {
      return await cluster.remove(resources.vmop, namespace, name, { uid });
    } catch (err) {
      // Another object has the name: the one meant is gone.
      if (err instanceof ClusterError && err.reason === 'Conflict') return false;
      throw err;
    }
  };
}
