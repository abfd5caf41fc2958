import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  TimeoutFailure,
  isCancellation,
} from '@temporalio/workflow';
import type { FailureDetails, FailureType } from '../contracts/failures.ts';

/** A failure in the words of the contract, whatever wrapped it on its way. */
export interface KnownFailure {
  readonly type: string;
  readonly message: string;
  readonly details?: FailureDetails;
}

/** Builds a failure that ends the workflow or activity for good. */
export function failure(type: FailureType, message: string, details: FailureDetails): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true, details: [details] });
}

/** Unwraps activity and child failures down to the cause that says something. */
export function knownFailure(err: unknown): KnownFailure {
  const cause = rootCause(err);
  if (cause instanceof ApplicationFailure) {
    const details = cause.details?.[0] as FailureDetails | undefined;
    return { type: cause.type ?? 'Unavailable', message: cause.message, ...(details === undefined ? {} : { details }) };
  }
  if (cause instanceof TimeoutFailure)
    return { type: 'Timeout', message: `${stepOf(err)} timed out (${cause.timeoutType})` };
  if (isCancellation(err)) return { type: 'Cancelled', message: 'cancelled' };
  return { type: 'Unavailable', message: cause instanceof Error ? cause.message : String(cause) };
}

function rootCause(err: unknown): unknown {
  let cause = err;
  while ((cause instanceof ActivityFailure || cause instanceof ChildWorkflowFailure) && cause.cause !== undefined)
    cause = cause.cause;
  return cause;
}

function stepOf(err: unknown): string {
  return err instanceof ActivityFailure ? err.activityType : 'the step';
}
