import type { FailureDetails, FieldProblem } from '../workflows/contracts/failures.ts';

/** Details are read defensively: an older worker may send less. */
export function failureDetails(value: unknown): FailureDetails | undefined {
  return typeof value === 'object' && value !== null && 'code' in value && typeof value.code === 'string'
    ? (value as FailureDetails)
    : undefined;
}

/** The causes in the far side's words: the first, and the failure of the recovery beside it. */
export function whyOf(details: FailureDetails | undefined): string | undefined {
  const causes = [details?.primary, details?.secondary].flatMap((cause) => {
    const text = [cause?.faultType, cause?.message].filter((part) => part !== undefined && part !== '').join(': ');
    return text === '' ? [] : [text];
  });
  return causes.length === 0 ? undefined : causes.join('\nand then: ');
}

/** The fields that a refusal of a worker or workflow names; none where it isn't about fields. */
export function fieldProblems(cause: unknown): readonly FieldProblem[] {
  const details = cause instanceof Error && 'details' in cause && Array.isArray(cause.details) ? cause.details : [];
  return failureDetails(details[0])?.problems ?? [];
}
