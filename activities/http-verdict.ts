import type { FailureType } from '../workflows/contracts/failures.ts';
import { OperationError } from './failures.ts';

/** What one reason of a far side means in the terms of the contract. */
export interface Verdict {
  readonly type: FailureType;
  readonly code: string;
  readonly next?: string;
}

/** An error of a far side that is spoken to over HTTP; its message is fit for people. */
interface HttpSideError extends Error {
  readonly reason: string;
  /** Absent: there was no answer. */
  readonly status: number | undefined;
  readonly retryAfterS: number | undefined;
}

export function httpOperationError(err: HttpSideError, { type, code, next }: Verdict): OperationError {
  return new OperationError(type, err.message, {
    code,
    primary: {
      kind: err.status === undefined ? 'transport' : 'http',
      faultType: err.reason,
      message: err.message,
      ...(err.status === undefined ? {} : { httpStatus: err.status }),
    },
    ...(next === undefined ? {} : { next }),
    ...(err.retryAfterS === undefined ? {} : { facts: { retryAfterS: err.retryAfterS } }),
    cause: err,
  });
}
