/**
 * The closed set of failure types (`ApplicationFailure.type`). Everything that leaves an activity has one of them; a more
 * specific code travels in the details.
 */
export type FailureType =
  | 'InvalidRequest'
  | 'NotFound'
  | 'Forbidden'
  | 'Unauthenticated'
  | 'Refused'
  | 'Foreign'
  | 'Conflict'
  | 'Busy'
  | 'Throttled'
  | 'Unavailable'
  | 'NoSpace'
  | 'LeaseLost'
  | 'Timeout'
  | 'CleanupFailed';

/** Failure types that Temporal may retry. All others end the activity at once. */
export const retryableFailureTypes: readonly FailureType[] = [
  'Conflict',
  'Busy',
  'Throttled',
  'Unavailable',
  'LeaseLost',
  'Timeout',
];

/** One cause, in the words of the part that reported it. Never holds secrets: no cookies, no lease URLs, no query strings. */
export interface FaultInfo {
  readonly kind: 'vim-fault' | 'task-error' | 'lease-error' | 'http' | 'transport' | 'source' | 'rest' | 'lookup';
  readonly faultType?: string;
  readonly message?: string;
  readonly method?: string;
  readonly moRef?: string;
  readonly httpStatus?: number;
  readonly taskRef?: string;
}

/** A mistake in one field. `line` and `column`, from 1, are within its text. */
export interface FieldProblem {
  /** Such as `constraints[1].include_expression`. */
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/**
 * First entry of `ApplicationFailure.details` of every vmflow failure.
 * `primary` is the failure that started it all; `secondary` the failure of the recovery that was tried because of it.
 */
export interface FailureDetails {
  /** Specific code, upper case with underscores, for example `SWAP_ROLLED_BACK`. */
  readonly code: string;
  /** Name of the activity or step that failed. */
  readonly step?: string;
  readonly primary?: FaultInfo;
  readonly secondary?: FaultInfo;
  /** What the person should do next, one sentence or a command. */
  readonly next?: string;
  /** What is wrong with what was asked, by its fields (of a batch). */
  readonly problems?: readonly FieldProblem[];
  /** Further plain facts (names, references, numbers) for the reader. */
  readonly facts?: Readonly<Record<string, string | number | boolean>>;
}
