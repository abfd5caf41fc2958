import type { VmopInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { vmOperationId } from '../../workflows/contracts/ids.ts';
import type { OperationName, OperationResult } from '../../workflows/contracts/vmop.ts';
import { CliError } from '../errors.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { gatewayReasons, isUnanswered, type ExecutionOutcome } from '../gateway.ts';
import type { Session } from '../session.ts';
import { readOperation } from './find.ts';

/** Which operation is waited for. */
export interface OperationRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** How an operation ended, or why it isn't waited for any more. */
export interface OperationEnd {
  readonly result: 'completed' | 'failed' | 'superseded' | 'cancelled' | 'reached' | 'timeout' | 'interrupted';
  readonly reason?: string;
  readonly message?: string;
  readonly supersededBy?: OperationName;
}

const exits: Readonly<Record<OperationEnd['result'], ExitCode>> = {
  completed: exitCodes.ok.code,
  reached: exitCodes.ok.code,
  failed: exitCodes.failed.code,
  superseded: exitCodes.cancelled.code,
  cancelled: exitCodes.cancelled.code,
  timeout: exitCodes.timeout.code,
  interrupted: exitCodes.interrupted.code,
};

export function exitOfEnd({ result }: OperationEnd): ExitCode {
  return exits[result];
}

/** How often a question that can't be waited for is asked again: the workflow isn't there yet, or was ended by hand. */
const pauseMs = 1_000;
/** Every so many of them the object itself is looked at. */
const looksPerRead = 5;
/** Failures to reach Temporal in a row before that is the answer; it is restarted in less. */
const patience = 30;
/** Looks at the object of an operation that was taken over, until the one that took over has written its result. */
const looksAfterFence = 8;

/**
 * Waits until an operation is over, however that comes: its workflow's end is waited for, not asked for. A workflow that was
 * ended by hand, or that isn't there, is no end: the object says what became of the operation. Never resolves once the signal is
 * aborted.
 */
export async function awaitOperation(session: Session, op: OperationRef, signal: AbortSignal): Promise<OperationEnd> {
  const gateway = await session.gateway();
  const said = new Set<string>();
  const say = (line: string): void => {
    if (!said.has(line)) session.note(`${op.name}: ${line}`);
    said.add(line);
  };
  const isGivenUp = (): boolean => signal.aborted;
  const pause = (): Promise<void> => session.runtime.sleep(pauseMs, signal);
  let absences = 0;
  let failures = 0;
  while (!isGivenUp()) {
    const outcome = await gateway
      .awaitEnd({ workflowId: vmOperationId(op.namespace, op.uid) }, signal)
      .catch((error: unknown) => (error instanceof CliError ? error : Promise.reject(error as Error)));
    if (isGivenUp()) break;
    if (outcome instanceof CliError && outcome.reason === gatewayReasons.unreachable) {
      if (++failures > patience) throw outcome;
      say('lost contact with Temporal, trying again (the work goes on)');
      await pause();
      continue;
    }
    failures = 0;
    if (outcome instanceof CliError) {
      if (outcome.reason !== gatewayReasons.notFound) throw outcome;
    } else if (outcome.failure === undefined) {
      return await endOfResult(session, op, outcome.result as OperationResult, signal);
    } else {
      say(`its workflow was ended from outside (${words(outcome)}); the sweep brings it back`);
    }
    // Just created, its workflow is on its way; it is seldom worth a question to the cluster.
    const end = ++absences % looksPerRead === 0 ? await endOfObject(session, op) : undefined;
    if (end !== undefined) return end;
    await pause();
  }
  return await new Promise<never>(() => undefined);
}

function words({ failure }: ExecutionOutcome): string {
  return failure?.message || (failure?.type ?? 'no reason');
}

async function endOfResult(
  session: Session,
  op: OperationRef,
  { outcome, reason, message, supersededBy }: OperationResult,
  signal: AbortSignal,
): Promise<OperationEnd> {
  switch (outcome) {
    case 'Completed':
      return { result: 'completed', reason, message };
    case 'Failed':
      return { result: 'failed', reason, message };
    case 'released':
      return { result: 'cancelled', reason, message };
    case 'fenced': {
      const taken = { reason: 'Superseded', message, ...(supersededBy === undefined ? {} : { supersededBy }) };
      return (await writtenByAnother(session, op, signal)) ?? { result: 'superseded', ...taken };
    }
  }
}

/** What took over writes the result; it may also have found that it can't clean up. */
async function writtenByAnother(
  session: Session,
  op: OperationRef,
  signal: AbortSignal,
): Promise<OperationEnd | undefined> {
  for (let look = 0; look < looksAfterFence && !signal.aborted; look++) {
    const end = await endOfObject(session, op);
    if (end !== undefined) return end;
    await session.runtime.sleep(pauseMs, signal);
  }
  return undefined;
}

/** What the object says; undefined: not over, or nobody can tell now. */
async function endOfObject(session: Session, op: OperationRef): Promise<OperationEnd | undefined> {
  try {
    return endOfInfo(await readOperation(session, op));
  } catch (error) {
    if (error instanceof CliError && (isUnanswered(error.reason) || error.reason === gatewayReasons.unreachable))
      return undefined;
    throw error;
  }
}

/** Undefined: it isn't over. Without an object it was deleted. */
export function endOfInfo(info: VmopInfo | undefined): OperationEnd | undefined {
  if (info === undefined) return { result: 'cancelled', reason: 'Deleted', message: 'its object was deleted' };
  const { phase, reason, message, supersededBy } = info;
  const said = {
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(supersededBy === undefined ? {} : { supersededBy }),
  };
  switch (phase) {
    case 'Completed':
      return { result: 'completed', ...said };
    case 'Failed':
      return { result: 'failed', ...said };
    case 'Superseded':
      return { result: 'superseded', ...said };
    case 'Pending':
    case 'InProgress':
    case 'Terminating':
    case undefined:
      return undefined;
  }
}

/** One line about an end. */
export function endInWords({ result, reason, message, supersededBy }: OperationEnd): string {
  const by = supersededBy === undefined ? '' : ` by ${supersededBy.name}`;
  switch (result) {
    case 'completed':
      return `Completed: ${message ?? ''}`;
    case 'failed':
      return `Failed, ${reason ?? 'no reason'}: ${message ?? ''}`;
    case 'superseded':
      // "superseded by NAME (Stop, forced)"
      return message === undefined ? `Superseded${by}` : `S${message.slice(1)}`;
    case 'cancelled':
      return 'cancelled: the operation was deleted';
    case 'reached':
      return message ?? 'reached';
    case 'timeout':
      return '--timeout reached, the work goes on';
    case 'interrupted':
      return 'not waited for any more, the work goes on';
  }
}
