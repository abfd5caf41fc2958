import type { FailureDetails } from '../workflows/contracts/failures.ts';

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
