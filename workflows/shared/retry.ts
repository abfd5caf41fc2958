import type { ActivityOptions } from '@temporalio/workflow';
import { retryableFailureTypes, type FailureType } from '../contracts/failures.ts';

/** Types that end an activity at once; the activity itself marks special cases non-retryable too. */
const finalTypes: FailureType[] = [
  'InvalidRequest',
  'NotFound',
  'Forbidden',
  'Unauthenticated',
  'Refused',
  'Foreign',
  'NoSpace',
  'CleanupFailed',
];

/** How an activity is repeated: first pause, longest pause, growth, and the attempts (absent: no limit). */
export function retry(
  first: string,
  cap: string,
  coefficient: number,
  attempts?: number,
): NonNullable<ActivityOptions['retry']> {
  return {
    initialInterval: first as '1s',
    maximumInterval: cap as '30s',
    backoffCoefficient: coefficient,
    nonRetryableErrorTypes: finalTypes.filter((type) => !retryableFailureTypes.includes(type)),
    ...(attempts === undefined ? {} : { maximumAttempts: attempts }),
  };
}
