import type { FailureType } from '../../workflows/contracts/failures.ts';
import type { OperationError } from '../failures.ts';
import { httpOperationError } from '../http-verdict.ts';
import type { TargetErrorCode } from './port.ts';
import { TargetError } from './target-error.ts';

const types: Readonly<Record<TargetErrorCode, FailureType>> = {
  UNREACHABLE: 'Unavailable',
  TIMEOUT: 'Timeout',
  UNTRUSTED: 'Unauthenticated',
  CERTIFICATE: 'Unauthenticated',
  FORBIDDEN: 'Forbidden',
  NOT_FOUND: 'NotFound',
  PROJECT_GONE: 'NotFound',
  FOREIGN_INSTANCE: 'Foreign',
  NOT_OURS: 'Foreign',
  NO_SPACE: 'NoSpace',
  BUSY: 'Busy',
  ETAG: 'Conflict',
  // Not retried: a newer pass has taken over.
  FENCED: 'Refused',
  // Retried: what failed once at a server (a start, a stop, a deletion) may work the next time. Who counts sets one attempt.
  OPERATION_FAILED: 'Unavailable',
  INVALID: 'InvalidRequest',
  SERVER: 'Unavailable',
  PROTOCOL: 'Unavailable',
  DISK_CONNECTION: 'Unavailable',
};

/** What a failure of a target means in the terms of the contract (code `TARGET_<code>`); undefined for errors of others. */
export function toTargetOperationError(err: unknown): OperationError | undefined {
  if (!(err instanceof TargetError)) return undefined;
  return httpOperationError(err, { type: types[err.code], code: `TARGET_${err.code}`, next: err.next });
}
