import pLimit from 'p-limit';
import { vmOperationId } from '../../workflows/contracts/ids.ts';
import type { RequestAnswer, VmRequest } from '../../workflows/contracts/vmop.ts';
import type { VmopType } from '../../workflows/domain/vmop/matrix.ts';
import type { Action } from '../commands/command.ts';
import { CliError } from '../errors.ts';
import { combineExits, exitCodes, type ExitCode } from '../exit-codes.ts';
import { endInWords, exitOfEnd, type OperationEnd } from '../op/end.ts';
import { sayHowToComeBack, stepLines, waitForOperation, type WaitFlags } from '../op/wait.ts';
import type { Session } from '../session.ts';
import { confirmIntent } from './confirm.ts';
import { failedItem, itemOf, printItems, type RequestItem } from './request-item.ts';
import { sendRequest } from './request.ts';
import { pickVms, type PickFlags, type VmRef } from './targets.ts';

export interface PowerFlags extends PickFlags, WaitFlags {
  readonly force?: boolean;
  readonly to?: string;
  readonly yes?: boolean;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** Requests at the same time; more would only queue at the API server. */
const sideBySide = 8;

/** `start`, `stop`, `restart`, `evict`, `move`: one request per VM, all of them side by side. */
export function powerAction(verb: string, type: VmopType): Action<PowerFlags> {
  return async (session, names, flags) => {
    const picked = await pickVms(session, names, flags);
    const shown = flags.to === undefined ? verb : `${verb} to ${flags.to}`;
    const request = requestOf(session, type, flags);
    if (flags.dryRun !== true)
      await confirmIntent(
        session,
        picked,
        { verb: shown, type, ...(flags.force === true ? { force: true } : {}) },
        flags,
      );
    const jobs = picked.targets.map((vm) => ({ vm, request, verb }));
    return await askAndShow(session, jobs, flags);
  };
}

/** The half of `move` that is about VMs. */
export const moveVms = powerAction('move', 'Migrate');

function requestOf(session: Session, type: VmopType, flags: PowerFlags): VmRequest {
  return {
    spec: {
      type,
      ...(flags.force === true ? { force: true } : {}),
      ...(flags.to === undefined ? {} : { migrate: { nodeSelector: { 'kubernetes.io/hostname': flags.to } } }),
    },
    by: session.runtime.user(),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    ...(flags.dryRun === true ? { dryRun: true } : {}),
  };
}

/** One thing to ask of one VM. */
export interface Job {
  readonly vm: VmRef;
  readonly request: VmRequest;
  /** For errors: `stop`. */
  readonly verb: string;
}

/** Sends all, waits where that is wanted, prints what came of each. A single one that fails is the error itself. */
export async function askAndShow(
  session: Session,
  jobs: readonly Job[],
  flags: WaitFlags,
  { inTurn = false }: { readonly inTurn?: boolean } = {},
): Promise<ExitCode> {
  const limit = pLimit(inTurn ? 1 : sideBySide);
  // Without a wait Ctrl-C ends the program as usual.
  const interrupt = flags.wait === undefined ? undefined : session.runtime.onInterrupt();
  const isOnly = jobs.length === 1;
  try {
    const items = await Promise.all(
      jobs.map(async (job) => {
        const asked = await limit(() => ask(session, job, isOnly));
        return interrupt === undefined ? asked.item : await waited(session, asked, flags, interrupt.signal, isOnly);
      }),
    );
    await printItems(session, items);
    const isInterrupted = items.some(({ result }) => result === 'interrupted');
    return isInterrupted ? exitCodes.interrupted.code : combineExits(items.map(({ exit }) => exit));
  } finally {
    interrupt?.dispose();
  }
}

interface Asked {
  readonly item: RequestItem;
  readonly answer?: RequestAnswer;
}

async function ask(session: Session, job: Job, isOnly: boolean): Promise<Asked> {
  try {
    const answer = await sendRequest(session, job.vm, job.request, job.verb);
    return { item: await itemOf(session, job, answer), answer };
  } catch (error) {
    if (isOnly || !(error instanceof CliError)) throw error;
    return { item: failedItem(job, error) };
  }
}

/** The item with how its operation ended; as it was when there is nothing to wait for. */
async function waited(
  session: Session,
  { item, answer }: Asked,
  flags: WaitFlags,
  stopped: AbortSignal,
  isOnly: boolean,
): Promise<RequestItem> {
  if (answer === undefined || !('uid' in answer)) return item;
  const op = { namespace: item.namespace, name: answer.name, uid: answer.uid };
  if (isOnly) session.note(`${item.vm}: ${op.name}, waiting for its end (${vmOperationId(op.namespace, op.uid)})`);
  const end = await waitForOperation(session, op, flags, stopped, isOnly ? stepLines(session, op.name) : undefined);
  if (!isOnly) session.note(`${item.vm}: ${endInWords(end)}`);
  if (isOnly) sayHowToComeBack(session, op, end);
  return withEnd(item, end);
}

function withEnd(item: RequestItem, end: OperationEnd): RequestItem {
  const { result, reason, message, supersededBy } = end;
  return {
    ...item,
    result,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(supersededBy === undefined ? {} : { supersededBy }),
    exit: exitOfEnd(end),
  };
}
