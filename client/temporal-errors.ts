import {
  ApplicationFailure,
  CancelledFailure,
  NamespaceNotFoundError,
  TerminatedFailure,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  isGrpcServiceError,
} from '@temporalio/client';
import { isAskAgain } from '../workflows/contracts/ask-again.ts';
import { failureDetails, whyOf } from './causes.ts';
import { CliError, toCliError } from './errors.ts';
import { exitOfFailureType } from './exit-codes.ts';
import { gatewayReasons, type ExecutionOutcome } from './gateway.ts';

/** gRPC status codes that are told apart; the numbers are gRPC's. */
const grpc = { invalid: 3, deadline: 4, notFound: 5, denied: 7, precondition: 9, unavailable: 14, unauthenticated: 16 };

export interface ErrorContext {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  /** What was attempted, for the first line: `read the state of template-swap/…`. */
  readonly attempt: string;
  /** The call needs a worker, so a deadline means that none answered. */
  readonly needsWorker: boolean;
}

/** Everything the SDK throws, as one of the messages a person can act on. */
export function fromTemporal(error: unknown, context: ErrorContext): CliError {
  if (error instanceof CliError) return error;
  if (isAskAgain(error)) return notAcknowledged(context, error);
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return notAcknowledged(context, error);
  const failure = applicationFailure(error);
  if (failure !== undefined) return fromFailure(failure, context.attempt);
  const status = grpcStatus(error);
  if (status !== undefined) return fromStatus(status, error, context);
  if (error instanceof NamespaceNotFoundError) return namespaceMissing(context, error);
  if (error instanceof WorkflowNotFoundError) return executionNotFound(context, error);
  return toCliError(error).with({ message: `can't ${context.attempt}: ${messageOf(error)}` });
}

/** Our own failures in the chain of causes: a refused update, a failed lookup. */
function applicationFailure(error: unknown): ApplicationFailure | undefined {
  if (!(error instanceof WorkflowUpdateFailedError || error instanceof WorkflowFailedError)) return undefined;
  let found: ApplicationFailure | undefined;
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ApplicationFailure) found ??= cause;
    if (cause instanceof CancelledFailure || cause instanceof TerminatedFailure) break;
  }
  return found;
}

/** How an execution failed, in plain words; undefined when the error says something else. */
export function failureOf(error: unknown): ExecutionOutcome['failure'] {
  if (!(error instanceof WorkflowFailedError)) return undefined;
  const failure = applicationFailure(error);
  if (failure === undefined) {
    const cause = error.cause ?? error;
    return { type: cause.name, message: cause.message };
  }
  const details = failureDetails(failure.details?.[0]);
  return {
    type: failure.type ?? 'unknown',
    message: failure.message,
    ...(details === undefined ? {} : { details }),
  };
}

/** A failure of ours in the form of an error: its details say why and what next. */
export function fromFailure(
  failure: {
    readonly type?: string | null | undefined;
    readonly message: string;
    readonly details?: unknown[] | null | undefined;
  },
  attempt: string,
): CliError {
  const details = failureDetails(failure.details?.[0]);
  const type = failure.type ?? 'unknown';
  const code = details?.code ?? /^([A-Z][A-Z0-9_]+)\b/.exec(failure.message)?.[1] ?? type;
  return new CliError({
    exit: exitOfFailureType(type),
    reason: code,
    message: `can't ${attempt}: ${failure.message}`,
    why: whyOf(details),
    next: details?.next,
    cause: failure,
  });
}

/** True when a call ran into its deadline, whoever set it. */
export function isDeadline(error: unknown): boolean {
  return grpcStatus(error)?.code === grpc.deadline;
}

function grpcStatus(error: unknown): { code: number; details: string } | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (isGrpcServiceError(cause)) return { code: cause.code, details: detailsOf(cause) };
    if (/failed to connect before the deadline/i.test(cause.message))
      return { code: grpc.unavailable, details: cause.message };
  }
  return undefined;
}

/** Where several operations were sent in one call, the SDK puts the cause into the message and leaves the details general. */
function detailsOf(error: { readonly message: string; readonly details: string }): string {
  return error.message.includes(error.details) ? error.details : error.message;
}

function fromStatus(status: { code: number; details: string }, error: unknown, context: ErrorContext): CliError {
  switch (status.code) {
    case grpc.deadline:
      return context.needsWorker ? notAcknowledged(context, error) : unreachable(context, status.details, error);
    case grpc.unavailable:
      return unreachable(context, status.details, error);
    case grpc.denied:
    case grpc.unauthenticated:
      return denied(context, status.details, error);
    case grpc.notFound:
      return /namespace/i.test(status.details) ? namespaceMissing(context, error) : executionNotFound(context, error);
    case grpc.invalid:
      if (/workflow task in failed state/i.test(status.details)) return workerFailing(context, status.details, error);
      if (/search ?attribute|column name/i.test(status.details))
        return attributesMissing(context, status.details, error);
      break;
    case grpc.precondition:
      if (/workflow task in failed state/i.test(status.details)) return workerFailing(context, status.details, error);
      if (/poller|worker/i.test(status.details)) return notAcknowledged(context, error);
  }
  return new CliError({
    exit: 'failed',
    reason: 'TEMPORAL_ERROR',
    message: `can't ${context.attempt}: Temporal answered with an error`,
    why: status.details || messageOf(error),
    cause: error,
  });
}

export function notAcknowledged(context: ErrorContext, cause?: unknown): CliError {
  return new CliError({
    exit: 'notAcknowledged',
    reason: gatewayReasons.notAcknowledged,
    message: `can't ${context.attempt}: sent, not yet acknowledged: is a worker running?`,
    why: `no worker of task queue "${context.taskQueue}" has answered`,
    state: 'Temporal keeps what was sent; a worker that starts now takes it up',
    next: ['vmflow doctor', 'start a worker for this queue, or name another with --task-queue'],
    cause,
  });
}

/** Accepted, but its handler hasn't answered. */
export function unfinished(
  context: Omit<ErrorContext, 'attempt' | 'needsWorker'>,
  attempt: string,
  cause: unknown,
): CliError {
  return new CliError({
    exit: 'notAcknowledged',
    reason: gatewayReasons.unfinished,
    message: `can't ${attempt}: accepted, but not answered yet`,
    why: `the workers of task queue "${context.taskQueue}" have been at it for a minute`,
    state: 'it is kept and carried on; the same command again joins it',
    next: ['vmflow doctor', 'look at the workflow in the Web UI for what it waits for'],
    cause,
  });
}

function workerFailing(context: ErrorContext, why: string, cause: unknown): CliError {
  return new CliError({
    exit: 'notAcknowledged',
    reason: gatewayReasons.workerFailing,
    message: `can't ${context.attempt}: a worker is there, but it can't carry this workflow on`,
    why,
    state: 'the workflow keeps its place and goes on once a worker with fitting code takes it up',
    next: "look at the worker's log and at the workflow task in the Web UI",
    cause,
  });
}

function unreachable(context: ErrorContext, why: string, cause: unknown): CliError {
  return new CliError({
    exit: 'unreachable',
    reason: gatewayReasons.unreachable,
    message: `can't ${context.attempt}: Temporal at ${context.address} isn't reachable`,
    why,
    state: 'running operations are not affected',
    next: ['vmflow config view', 'name the server with --address HOST:PORT, TEMPORAL_ADDRESS or a profile'],
    cause,
  });
}

function denied(context: ErrorContext, why: string, cause: unknown): CliError {
  return new CliError({
    exit: 'denied',
    reason: gatewayReasons.denied,
    message: `can't ${context.attempt}: Temporal at ${context.address} refuses access to namespace "${context.namespace}"`,
    why,
    next: 'check TEMPORAL_API_KEY or the client certificate: vmflow config view',
    cause,
  });
}

export function namespaceMissing(context: ErrorContext, cause?: unknown): CliError {
  return new CliError({
    exit: 'notFound',
    reason: gatewayReasons.namespaceMissing,
    message: `can't ${context.attempt}: Temporal at ${context.address} has no namespace "${context.namespace}"`,
    next: ['vmflow admin setup', 'or name another: --namespace NAME, TEMPORAL_NAMESPACE'],
    cause,
  });
}

function attributesMissing(context: ErrorContext, why: string, cause: unknown): CliError {
  return new CliError({
    exit: 'notFound',
    reason: gatewayReasons.attributesMissing,
    message: `can't ${context.attempt}: search attributes are not registered in namespace "${context.namespace}"`,
    why,
    next: 'vmflow admin setup',
    cause,
  });
}

function executionNotFound(context: ErrorContext, cause: unknown): CliError {
  return new CliError({
    exit: 'notFound',
    reason: gatewayReasons.notFound,
    message: `can't ${context.attempt}: ${context.needsWorker ? 'it is not running (any more)' : 'there is no such operation'}`,
    why: messageOf(cause),
    next: 'vmflow template list',
    cause,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
