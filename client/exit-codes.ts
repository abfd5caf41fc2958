import type { FailureType } from '../workflows/contracts/failures.ts';

/** What the exit codes mean: a contract for scripts, printed by `--help`. Never renumber. */
export const exitCodes = {
  ok: { code: 0, meaning: 'done, or accepted when not waiting, or already so' },
  failed: { code: 1, meaning: 'the operation ended Failed; or an unexpected error' },
  usage: { code: 2, meaning: 'wrong usage, bad file, or a confirmation is needed and there is no terminal' },
  notFound: { code: 3, meaning: 'not found, or the name is ambiguous' },
  denied: { code: 4, meaning: 'not authenticated or not permitted' },
  refused: { code: 5, meaning: 'refused, or needs a person: conflict, supersede rule, failed preflight' },
  notAcknowledged: { code: 6, meaning: 'sent but not acknowledged; no worker polls the queue' },
  unreachable: { code: 7, meaning: "can't reach a service (Temporal, vCenter, API server, target)" },
  cancelled: { code: 8, meaning: 'ended Superseded or Cancelled' },
  partly: { code: 9, meaning: 'partly done: some targets failed' },
  timeout: { code: 124, meaning: '--timeout reached; the work goes on' },
  interrupted: { code: 130, meaning: 'interrupted; the work goes on' },
} as const satisfies Record<string, { code: number; meaning: string }>;

export type ExitName = keyof typeof exitCodes;
export type ExitCode = (typeof exitCodes)[ExitName]['code'];

/**
 * From a failure's type to the exit code, the same for a refused message, a failed lookup and an operation that was
 * waited for. `failed` is for what broke on the way and can only be read, not answered by another call.
 */
const exitOfFailure: Readonly<Record<FailureType, ExitName>> = {
  InvalidRequest: 'usage',
  NotFound: 'notFound',
  Forbidden: 'denied',
  Unauthenticated: 'denied',
  Refused: 'refused',
  Foreign: 'refused',
  Conflict: 'refused',
  Busy: 'refused',
  NoSpace: 'refused',
  Throttled: 'unreachable',
  Unavailable: 'unreachable',
  Timeout: 'unreachable',
  LeaseLost: 'failed',
  CleanupFailed: 'failed',
};

/** The exit code for `ApplicationFailure.type`; 1 for a type that isn't one of ours. */
export function exitOfFailureType(type: string): ExitCode {
  const known = Object.hasOwn(exitOfFailure, type) ? exitOfFailure[type as FailureType] : 'failed';
  return exitCodes[known].code;
}

/** One code for many targets: the common one, or 9 when they differ. */
export function combineExits(codes: readonly ExitCode[]): ExitCode {
  const [first = 0] = codes;
  return codes.every((code) => code === first) ? first : exitCodes.partly.code;
}

/** The lines of `--help` for the given codes. */
export function describeExits(names: readonly ExitName[]): string {
  return names.map((name) => `  ${String(exitCodes[name].code).padEnd(4)}${exitCodes[name].meaning}`).join('\n');
}
