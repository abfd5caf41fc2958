import type { Conflict } from '../../workflows/contracts/conflict.ts';
import type { OperationStatus } from '../../workflows/contracts/status.ts';
import { parseDuration } from '../durations.ts';
import { CliError } from '../errors.ts';
import { gatewayReasons, type ExecutionOutcome, type ExecutionRef } from '../gateway.ts';
import type { Session } from '../session.ts';
import { askStatus } from '../status-query.ts';

/** Flags of every command that can wait for the end. */
export interface WaitFlags {
  /** Absent: don't wait. Empty: to the end. Else the phase or step to wait for. */
  readonly wait?: string;
  readonly timeout?: string;
}

/** Why a wait is over. */
export type WaitEnd =
  | { readonly kind: 'ended'; readonly outcome: ExecutionOutcome }
  | { readonly kind: 'conflict'; readonly conflict: Conflict }
  | { readonly kind: 'reached' | 'timeout' | 'interrupted' };

export interface WaitOptions<Status extends OperationStatus> {
  /** The execution whose end is waited for. */
  readonly workflowId: string;
  /** The one whose status is shown meanwhile, while it is open; often the same. */
  readonly watched: string;
  /** For notes: what people call it. */
  readonly name: string;
  readonly flags: WaitFlags;
  /** Aborted by Ctrl-C. */
  readonly stopped: AbortSignal;
  /** Called with every look, also an unchanged one. */
  readonly show: (status: Status) => void;
  /** Which conflicts end the wait: a script must not hang on what only a person can decide. Default: none. */
  readonly stopAtConflict?: (conflict: Conflict) => boolean;
}

/** Milliseconds between two looks at the status. The end itself is waited for. */
const lookEveryMs = 1_000;
/** Failures to reach Temporal in a row before that is the answer; it is restarted in less. */
const patience = 30;

/** Waits for the end of an execution, or for what the flags say. The work never depends on it. */
export async function waitForExecution<Status extends OperationStatus>(
  session: Session,
  options: WaitOptions<Status>,
): Promise<WaitEnd> {
  const { flags, stopped } = options;
  const timeoutMs = flags.timeout === undefined ? undefined : parseDuration(flags.timeout, '--timeout');
  const over = new AbortController();
  const signal = AbortSignal.any([stopped, over.signal]);
  try {
    return await Promise.race([
      untilEnded(session, options, signal),
      interruption(stopped),
      watchStatus(session, options, signal),
      ...(timeoutMs === undefined ? [] : [timeout(session, timeoutMs, signal)]),
    ]);
  } finally {
    over.abort();
  }
}

async function untilEnded(
  session: Session,
  { workflowId, name }: Pick<WaitOptions<never>, 'workflowId' | 'name'>,
  signal: AbortSignal,
): Promise<WaitEnd> {
  const gateway = await session.gateway();
  const isGivenUp = (): boolean => signal.aborted;
  for (let failures = 0; !isGivenUp();) {
    try {
      return { kind: 'ended', outcome: await gateway.awaitEnd({ workflowId }, signal) };
    } catch (error) {
      if (isGivenUp()) break;
      const isAway = error instanceof CliError && error.reason === gatewayReasons.unreachable;
      if (!isAway || ++failures > patience) throw error;
      if (failures === 1) session.note(`${name}: lost contact with Temporal, trying again (the work goes on)`);
      await session.runtime.sleep(lookEveryMs, signal);
    }
  }
  return await new Promise<never>(() => undefined);
}

function interruption(stopped: AbortSignal): Promise<WaitEnd> {
  return new Promise((resolve) => {
    const end = (): void => resolve({ kind: 'interrupted' });
    if (stopped.aborted) end();
    else stopped.addEventListener('abort', end, { once: true });
  });
}

async function timeout(session: Session, ms: number, signal: AbortSignal): Promise<WaitEnd> {
  await session.runtime.sleep(ms, signal);
  return { kind: 'timeout' };
}

/** Resolves only when what is waited for is reached. */
async function watchStatus<Status extends OperationStatus>(
  session: Session,
  { watched, flags, show, stopAtConflict = () => false }: WaitOptions<Status>,
  signal: AbortSignal,
): Promise<WaitEnd> {
  const until = flags.wait === '' ? undefined : flags.wait;
  while (!signal.aborted) {
    const status = await statusOfOpen<Status>(session, { workflowId: watched }).catch(unlessAway);
    if (status !== undefined) {
      show(status);
      if (until !== undefined && hasReached(status, until)) return { kind: 'reached' };
      const { conflict } = status;
      if (conflict !== undefined && stopAtConflict(conflict)) return { kind: 'conflict', conflict };
    }
    await session.runtime.sleep(lookEveryMs, signal);
  }
  return await new Promise<never>(() => undefined);
}

/** Looks that fail are left out: the end is waited for elsewhere. */
function unlessAway(error: unknown): undefined {
  if (error instanceof CliError) return undefined;
  throw error;
}

/** The status of an execution that is open; what a closed one says is over. */
export async function statusOfOpen<Status>(session: Session, ref: ExecutionRef): Promise<Status | undefined> {
  const execution = await describeIfThere(session, ref);
  return execution?.state === 'running' ? await askStatus<Status>(session, ref) : undefined;
}

/** Undefined: Temporal knows none of that id. */
export async function describeIfThere(session: Session, ref: ExecutionRef) {
  try {
    return await (await session.gateway()).describe(ref);
  } catch (error) {
    if (error instanceof CliError && error.reason === gatewayReasons.notFound) return undefined;
    throw error;
  }
}

/** A phase may be over between two looks, so the steps count too. */
function hasReached(status: OperationStatus, until: string): boolean {
  const wanted = until.toLowerCase();
  return (
    status.status.toLowerCase() === wanted ||
    status.steps.some(({ id, state }) => id.toLowerCase() === wanted && state !== 'pending' && state !== 'skipped')
  );
}

/** Looks whether an execution ends at once: then that is the answer. `looks` are a quarter of a second apart. */
export async function endAtOnce(
  session: Session,
  ref: ExecutionRef,
  looks: number,
): Promise<ExecutionOutcome | undefined> {
  const gateway = await session.gateway();
  for (let look = 0; look < looks; look++) {
    if (look > 0) await session.runtime.sleep(250);
    const { state } = await gateway.describe(ref);
    if (state !== 'running') return await gateway.outcome(ref);
  }
  return undefined;
}

/** True for errors after which the same message may be sent again: its id makes it count once. */
function isPassing({ reason }: CliError): boolean {
  return reason === gatewayReasons.notFound || reason === gatewayReasons.unreachable;
}

const attempts = 3;
const pauseMs = 300;

/** An execution that closes in this very moment, a Temporal that is restarted: the same call meets the next one. */
export async function persistently<T>(session: Session, call: () => Promise<T>): Promise<T> {
  for (let left = attempts - 1; ; left--) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof CliError) || left === 0 || !isPassing(error)) throw error;
      await session.runtime.sleep(pauseMs);
    }
  }
}
