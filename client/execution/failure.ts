import { whyOf } from '../causes.ts';
import { CliError } from '../errors.ts';
import { exitOfFailureType } from '../exit-codes.ts';
import type { ExecutionOutcome } from '../gateway.ts';

/** How an execution failed as the error of the command that waited for it: its details say why and what next. */
export function executionError(
  failure: NonNullable<ExecutionOutcome['failure']>,
  attempt: string,
  link?: string,
): CliError {
  const { type, message, details } = failure;
  return new CliError({
    exit: exitOfFailureType(type),
    reason: details?.code ?? type,
    message: `can't ${attempt}: ${message}`,
    why: whyOf(details),
    next: details?.next,
    link,
  });
}
