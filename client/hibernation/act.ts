import pLimit from 'p-limit';
import { hibernationRequestId } from '../../workflows/contracts/ids.ts';
import type {
  Desire,
  HibernationAnswer,
  RequestHibernationResult,
  RequestHibernationStatus,
} from '../../workflows/contracts/hibernation-request.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { podNameOf } from '../../workflows/domain/hibernate/names.ts';
import type { Action } from '../commands/command.ts';
import { confirmYes } from '../confirm.ts';
import { CliError } from '../errors.ts';
import { executionError } from '../execution/failure.ts';
import { progressLines } from '../execution/progress.ts';
import { persistently, waitForExecution, type WaitFlags } from '../execution/wait.ts';
import { combineExits, exitCodes, type ExitCode } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import { findNamed, type Named } from '../set/named.ts';
import type { PlaceFlags } from '../vm/place.ts';
import { printItems, type HibernationItem } from './item.ts';
import { hibernationStart, type Wish } from './start.ts';

export interface HibernateFlags extends PlaceFlags, WaitFlags {
  readonly yes?: boolean;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** Requests at the same time. */
const sideBySide = 8;

/** The Pod of a VM. */
interface PodRef {
  readonly namespace: string;
  readonly podName: string;
}

/** `hibernate SET|POD...`, `wake SET|POD...`: of a set its main VM. */
export function hibernationAction(desire: Desire): Action<HibernateFlags> {
  return async (session, names, flags) => {
    const named = await findNamed(session, names, ['set', 'pod'], flags);
    const pods = [...new Map(named.map(podOf).map((pod) => [`${pod.namespace}/${pod.podName}`, pod])).values()];
    if (pods.length > 1 && flags.dryRun !== true)
      await confirmYes(
        session,
        `${desire.toLowerCase()} ${String(pods.length)} VMs: ${pods.map(shownName).join(', ')}`,
        flags,
      );
    return await askAll(session, pods, desire, flags);
  };
}

function podOf(named: Named): PodRef {
  if (named.kind === 'pod') return { namespace: named.pod.namespace, podName: named.pod.name };
  const { namespace, name } = named.kind === 'set' ? named.set : named.vm;
  return { namespace, podName: podNameOf(name, 0) };
}

async function askAll(
  session: Session,
  pods: readonly PodRef[],
  desire: Desire,
  flags: HibernateFlags,
): Promise<ExitCode> {
  const limit = pLimit(sideBySide);
  const interrupt = flags.wait === undefined ? undefined : session.runtime.onInterrupt();
  const isOnly = pods.length === 1;
  const wish: Wish = {
    desire,
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    ...(flags.dryRun === true ? { dryRun: true } : {}),
  };
  try {
    const items = await Promise.all(
      pods.map(async (pod) => {
        try {
          const item = await limit(() => ask(session, pod, wish));
          const isOpen = ['created', 'changed', 'in-progress'].includes(item.result);
          return interrupt === undefined || !isOpen ? item : await waited(session, item, flags, interrupt.signal);
        } catch (error) {
          if (isOnly || !(error instanceof CliError)) throw error;
          const { reason, message, exit } = error;
          return { ...baseOf(pod, desire), result: 'refused' as const, reason, message, exit };
        }
      }),
    );
    await printItems(session, items);
    const isInterrupted = items.some(({ result }) => result === 'interrupted');
    return isInterrupted ? exitCodes.interrupted.code : combineExits(items.map(({ exit }) => exit));
  } finally {
    interrupt?.dispose();
  }
}

async function ask(session: Session, pod: PodRef, wish: Wish): Promise<HibernationItem> {
  const gateway = await session.gateway();
  const start = hibernationStart(session, pod, wish);
  const update = {
    name: messages.request,
    updateId: `${messages.request}/${session.runtime.random()}`,
    body: { by: session.runtime.user() },
  };
  try {
    const { answer } = await persistently(session, () => gateway.startWithUpdate(start, update));
    const { outcome, phase } = answer as HibernationAnswer;
    return {
      ...baseOf(pod, wish.desire),
      ...(phase === undefined ? {} : { phase }),
      ...{ result: outcome, link: await session.link(start.workflowId), exit: exitCodes.ok.code },
    };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const attempt = `${wish.desire.toLowerCase()} ${shownName(pod)}`;
    throw error.with({ message: error.message.replace(`can't start ${start.workflowId}`, `can't ${attempt}`) });
  }
}

async function waited(
  session: Session,
  item: HibernationItem,
  flags: WaitFlags,
  stopped: AbortSignal,
): Promise<HibernationItem> {
  const name = shownName({ namespace: item.namespace, podName: item.pod });
  const end = await waitForExecution<RequestHibernationStatus>(session, {
    workflowId: item.id,
    watched: item.id,
    name,
    flags,
    stopped,
    show: progressLines(session, name),
  });
  if (end.kind !== 'ended') return { ...item, result: notEnded[end.kind], exit: exitsOfWait[end.kind] };
  const { result, failure } = end.outcome;
  if (failure !== undefined) throw executionError(failure, `${item.desire.toLowerCase()} ${name}`, item.link);
  const { outcome, message } = result as RequestHibernationResult;
  return { ...item, result: outcome, message, exit: exitsOfResult[outcome] };
}

const notEnded = { reached: 'reached', conflict: 'reached', timeout: 'timeout', interrupted: 'interrupted' } as const;
const exitsOfWait = {
  reached: exitCodes.ok.code,
  conflict: exitCodes.ok.code,
  timeout: exitCodes.timeout.code,
  interrupted: exitCodes.interrupted.code,
} as const;

const exitsOfResult: Readonly<Record<RequestHibernationResult['outcome'], ExitCode>> = {
  Hibernated: exitCodes.ok.code,
  Active: exitCodes.ok.code,
  'already-so': exitCodes.ok.code,
  'would-create': exitCodes.ok.code,
  'would-change': exitCodes.ok.code,
  Failed: exitCodes.failed.code,
  superseded: exitCodes.cancelled.code,
  deleted: exitCodes.cancelled.code,
};

function baseOf(
  { namespace, podName }: PodRef,
  desire: Desire,
): Pick<HibernationItem, 'namespace' | 'pod' | 'desire' | 'id'> {
  return { namespace, pod: podName, desire, id: hibernationRequestId(namespace, podName, desire) };
}

function shownName({ namespace, podName }: PodRef): string {
  return `${namespace}/${podName}`;
}
