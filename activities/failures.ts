import { ApplicationFailure, CancelledFailure, CompleteAsyncError, Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { ZodError, z } from 'zod';
import {
  retryableFailureTypes,
  type FailureDetails,
  type FailureType,
  type FaultInfo,
  type FieldProblem,
} from '../workflows/contracts/failures.ts';

export interface OperationErrorInit {
  readonly code: string;
  readonly step?: string;
  readonly primary?: FaultInfo | undefined;
  readonly secondary?: FaultInfo | undefined;
  readonly next?: string;
  readonly problems?: readonly FieldProblem[];
  readonly facts?: Readonly<Record<string, string | number | boolean>>;
  /** Overrides what the type says. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** The one error that activities throw on purpose. Its type is of the closed set, its code says more. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly type: FailureType;
  readonly details: FailureDetails;
  readonly retryable: boolean;

  constructor(type: FailureType, message: string, init: OperationErrorInit) {
    super(message, { cause: init.cause });
    this.type = type;
    const { code, step, primary, secondary, next, problems, facts } = init;
    const given = Object.entries({ step, primary, secondary, next, problems, facts }).filter(
      ([, value]) => value !== undefined,
    );
    this.details = { code, ...Object.fromEntries(given) };
    this.retryable = init.retryable ?? retryableFailureTypes.includes(type);
  }

  get code(): string {
    return this.details.code;
  }
}

/** Knows the errors of one library or far side; undefined for all others. */
export type ErrorTranslator = (err: unknown) => OperationError | undefined;

/** Long failures are cut by the server; what counts stands in front. */
const longestMessage = 2_000;

/** The one way from `unknown` to a failure of the contract. */
export function toOperationError(err: unknown, translators: readonly ErrorTranslator[]): OperationError {
  if (err instanceof OperationError) return err;
  for (const translate of translators) {
    const known = translate(err);
    if (known !== undefined) return known;
  }
  if (err instanceof ZodError) {
    return new OperationError('InvalidRequest', `invalid input: ${z.prettifyError(err)}`, {
      code: 'INVALID',
      cause: err,
    });
  }
  const message = err instanceof Error ? err.message : String(err);
  return new OperationError('Unavailable', `unexpected: ${message}`, { code: 'UNEXPECTED', cause: err });
}

function toApplicationFailure(error: OperationError, step: string): ApplicationFailure {
  const isExpected = error.type === 'Busy' || error.type === 'Throttled';
  return ApplicationFailure.create({
    type: error.type,
    message: error.message.slice(0, longestMessage),
    nonRetryable: !error.retryable,
    details: [{ ...error.details, step: error.details.step ?? step }],
    ...(isExpected ? { category: 'BENIGN' } : {}),
  });
}

/** Turns whatever an activity throws into a typed failure. Cancellation passes through as what it is. */
export class FailureMapper implements ActivityInboundCallsInterceptor {
  readonly #translators: readonly ErrorTranslator[];

  constructor(translators: readonly ErrorTranslator[]) {
    this.#translators = translators;
  }

  async execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    try {
      return await next(input);
    } catch (err) {
      if (err instanceof CancelledFailure || err instanceof ApplicationFailure || err instanceof CompleteAsyncError)
        throw err;
      const context = Context.current();
      // A pause or shutdown is reported right only when the activity ends with the SDK's own cancellation.
      if (context.cancellationSignal.aborted && !(err instanceof OperationError)) await context.cancelled;
      throw toApplicationFailure(toOperationError(err, this.#translators), context.info.activityType);
    }
  }
}
