import type { OperationError } from '../failures.ts';
import { httpOperationError, type Verdict } from '../http-verdict.ts';
import { ClusterError, type ClusterErrorReason } from './port.ts';

const access = 'compare the roles of the service account with those that vmflow ships, then vmflow doctor';

const verdicts: Readonly<Record<ClusterErrorReason, Verdict>> = {
  NotFound: { type: 'NotFound', code: 'CLUSTER_NOT_FOUND' },
  // Retryable: whoever holds the name may be on its way out; an activity that can't wait says so itself.
  AlreadyExists: { type: 'Conflict', code: 'NAME_TAKEN' },
  Conflict: { type: 'Conflict', code: 'CHANGED_MEANWHILE' },
  Invalid: { type: 'InvalidRequest', code: 'INVALID_OBJECT' },
  Forbidden: { type: 'Forbidden', code: 'CLUSTER_FORBIDDEN', next: access },
  Denied: { type: 'Refused', code: 'ADMISSION_DENIED' },
  Unauthorized: {
    type: 'Unauthenticated',
    code: 'CLUSTER_AUTH',
    next: 'renew the credentials of the cluster that vmflow.yaml refers to',
  },
  TooManyRequests: { type: 'Throttled', code: 'CLUSTER_THROTTLED' },
  Unavailable: { type: 'Unavailable', code: 'CLUSTER_UNAVAILABLE' },
  Other: { type: 'Refused', code: 'CLUSTER_REFUSED' },
};

/** What a failure of the cluster means in the terms of the contract; undefined for errors of others. */
export function toClusterOperationError(err: unknown): OperationError | undefined {
  if (!(err instanceof ClusterError)) return undefined;
  return httpOperationError(err, verdicts[err.reason]);
}
