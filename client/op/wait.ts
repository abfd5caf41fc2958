import { vmOperationId } from '../../workflows/contracts/ids.ts';
import type { VmOperationStatus } from '../../workflows/contracts/vmop.ts';
import { parseDuration } from '../durations.ts';
import { CliError } from '../errors.ts';
import { stepLooks } from '../output/steps.ts';
import type { Session } from '../session.ts';
import { askStatus } from '../status-query.ts';
import { awaitOperation, type OperationEnd, type OperationRef } from './end.ts';

/** Flags of every command that can wait for the end. */
export interface WaitFlags {
  /** Absent: don't wait. Empty: to the end. Else the phase or step to wait for. */
  readonly wait?: string;
  readonly timeout?: string;
}

/** Shows where an operation stands; called with every look, also an unchanged one. */
export type Show = (status: VmOperationStatus) => void;

/** Milliseconds between two looks at the steps, for those who watch. The end itself is waited for. */
const lookEveryMs = 1_000;

/** Waits for the end of an operation or for what the flags say. `stopped` is aborted by Ctrl-C. */
export async function waitForOperation(
  session: Session,
  op: OperationRef,
  flags: WaitFlags,
  stopped: AbortSignal,
  show?: Show,
): Promise<OperationEnd> {
  const timeoutMs = flags.timeout === undefined ? undefined : parseDuration(flags.timeout, '--timeout');
  const over = new AbortController();
  const signal = AbortSignal.any([stopped, over.signal]);
  const until = flags.wait === '' ? undefined : flags.wait;
  try {
    return await Promise.race([
      awaitOperation(session, op, signal),
      interruption(stopped),
      ...(timeoutMs === undefined ? [] : [timeout(session, timeoutMs, signal)]),
      ...(until === undefined && show === undefined ? [] : [watchSteps(session, op, signal, until, show)]),
    ]);
  } finally {
    over.abort();
  }
}

function interruption(stopped: AbortSignal): Promise<OperationEnd> {
  return new Promise((resolve) => {
    const end = (): void => resolve({ result: 'interrupted' });
    if (stopped.aborted) end();
    else stopped.addEventListener('abort', end, { once: true });
  });
}

async function timeout(session: Session, ms: number, signal: AbortSignal): Promise<OperationEnd> {
  await session.runtime.sleep(ms, signal);
  return { result: 'timeout' };
}

/** Resolves only when what is waited for is reached. Looks that fail are left out: the end is waited for elsewhere. */
async function watchSteps(
  session: Session,
  op: OperationRef,
  signal: AbortSignal,
  until: string | undefined,
  show: Show | undefined,
): Promise<OperationEnd> {
  const ref = { workflowId: vmOperationId(op.namespace, op.uid) };
  while (!signal.aborted) {
    const status = await askStatus<VmOperationStatus>(session, ref).catch((error: unknown) => {
      if (error instanceof CliError) return undefined;
      throw error;
    });
    if (status !== undefined) show?.(status);
    if (status !== undefined && until !== undefined && hasReached(status, until))
      return { result: 'reached', message: `${until} is reached` };
    await session.runtime.sleep(lookEveryMs, signal);
  }
  return await new Promise<never>(() => undefined);
}

/** A phase may be over between two looks, so the steps count too. */
function hasReached(status: VmOperationStatus, until: string): boolean {
  const wanted = until.toLowerCase();
  return (
    status.status.toLowerCase() === wanted ||
    status.steps.some(({ id, state }) => id.toLowerCase() === wanted && state !== 'pending')
  );
}

/** One line per step that begins or ends, for a log. */
export function stepLines(session: Session, name: string): Show {
  const said = new Set<string>();
  return ({ steps }) => {
    for (const { id, title, state, detail } of steps) {
      if (state === 'pending' || state === 'skipped' || said.has(`${id} ${state}`)) continue;
      said.add(`${id} ${state}`);
      session.note(`${name}: ${stepLooks[state].word} ${title}${detail === undefined ? '' : ` (${detail})`}`);
    }
  };
}

/** Leaving before the end is no end of the work; says how to come back and how to stop it. */
export function sayHowToComeBack(session: Session, { name, namespace }: OperationRef, { result }: OperationEnd): void {
  const again = `vmflow op watch ${name} -n ${namespace}`;
  if (result === 'timeout') session.note(`--timeout reached, the work goes on: ${again}`);
  if (result === 'interrupted') {
    session.note(`stopped watching ${name}, the work goes on`);
    session.note(`  watch   ${again}`);
    session.note(`  cancel  vmflow op cancel ${name} -n ${namespace}`);
  }
}
