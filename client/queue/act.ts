import type { BatchView, ByWhom, CancelEntry } from '../../workflows/contracts/batch.ts';
import { batchId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { windowText } from '../batch/render.ts';
import type { Action } from '../commands/command.ts';
import { confirmByName, confirmYes, type ConfirmFlags } from '../confirm.ts';
import { CliError, usageError } from '../errors.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { WaitFlags } from '../execution/wait.ts';
import { printIntent, printSent } from '../output/answers.ts';
import type { Session } from '../session.ts';
import { askStatus } from '../status-query.ts';
import { findEntry, type NarrowFlags } from './find.ts';
import { followEntry, lookAgain } from './get.ts';
import { loadEntry, type EntryDocument } from './view.ts';

export interface ActFlags extends NarrowFlags, WaitFlags {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

export interface CancelFlags extends ActFlags, ConfirmFlags {
  readonly cleanup?: boolean;
}

/** An entry answers when it has done what was asked, or after half a minute. */
export const answerMs = 40_000;

/** What is told to an entry. */
interface Order {
  readonly message: string;
  readonly effect: (view: EntryDocument) => string;
  readonly body?: object;
  /** Asked before it is sent, and not in a dry run. */
  readonly confirm?: (view: EntryDocument, effect: string) => Promise<void>;
}

/** `queue cancel VM`: ends it, the source as it was; with `--cleanup` what it made at the target goes too. */
export const cancelEntry: Action<CancelFlags> = async (session, [text = ''], flags) => {
  const cleanup = flags.cleanup === true;
  const body: Pick<CancelEntry, 'cleanup'> = { cleanup };
  return await tell(session, text, flags, {
    message: messages.cancel,
    body,
    effect: ({ vm, batch }) =>
      `${vm} is left out of ${batch}, its source is as it was${cleanup ? ', and what was made of it at the target is deleted' : ''}`,
    ...(cleanup ? { confirm: ({ vm }, effect) => confirmByName(session, vm, effect, flags) } : {}),
  });
};

/** `queue retry VM`: a canceled one begins anew. */
export const retryEntry: Action<ActFlags> = async (session, [text = ''], flags) =>
  await tell(session, text, flags, {
    message: messages.retry,
    effect: ({ vm }) => `${vm} is placed anew and begins again`,
  });

/** `queue hold VM`: it is not switched off until `unhold`; copies go on. */
export const holdEntry: Action<ActFlags> = async (session, [text = ''], flags) =>
  await tell(session, text, flags, {
    message: messages.hold,
    effect: ({ vm }) => `the source of ${vm} stays on until "queue unhold"; copies go on`,
  });

/** `queue unhold VM`. */
export const unholdEntry: Action<ActFlags> = async (session, [text = ''], flags) =>
  await tell(session, text, flags, {
    message: messages.unhold,
    effect: ({ vm }) => `${vm} goes with its next window`,
  });

/** `queue cutover VM`: its source is switched off now, window or not. */
export const cutoverEntry: Action<ActFlags & { readonly yes?: boolean }> = async (session, [text = ''], flags) =>
  await tell(session, text, flags, {
    message: messages.cutover,
    effect: ({ vm }) => `the source of ${vm} is switched off as soon as it is copied, without a window; limits hold`,
    confirm: (view, effect) => confirmCutover(session, view, effect, flags),
  });

/** Outside a window it has to be meant: with a reason, and with an answer to a question. */
async function confirmCutover(
  session: Session,
  { batch }: EntryDocument,
  effect: string,
  flags: { readonly yes?: boolean; readonly reason?: string },
): Promise<void> {
  const status = await askStatus<BatchView>(session, { workflowId: batchId(batch) });
  const windows = status?.windows ?? [];
  if (status !== undefined && (windows.length === 0 || windows.some(({ state }) => state === 'open'))) return;
  if (flags.yes === true && flags.reason === undefined)
    throw usageError('cutover outside a window: say why', 'add --reason "..."', 'NOT_CONFIRMED');
  const next = windows.find(({ state }) => state === 'ahead');
  const when = next === undefined ? 'no window is ahead' : `its next window is ${windowText(session, next)}`;
  await confirmYes(session, `${effect}: ${when}`, flags);
}

/** `queue cleanup VM`: deletes what a canceled or failed one left at the target. */
export const cleanupEntry: Action<ActFlags & ConfirmFlags> = async (session, [text = ''], flags) =>
  await tell(session, text, flags, {
    message: messages.cleanup,
    effect: ({ vm, target }) => `what was made of ${vm} at ${target ?? 'its target'} is deleted`,
    confirm: ({ vm }, effect) => confirmByName(session, vm, effect, flags),
  });

/** `queue delete VM`: forgets it; what is at the target stays. */
export const deleteEntry: Action<ActFlags & { readonly yes?: boolean }> = async (session, [text = ''], flags) =>
  await tell(session, text, flags, {
    message: messages.delete,
    effect: ({ vm }) => `the entry of ${vm} is forgotten; what is at its target stays and is told by "orphans list"`,
    confirm: (_view, effect) => confirmYes(session, `delete: ${effect}`, flags),
  });

async function tell(session: Session, text: string, flags: ActFlags, order: Order): Promise<ExitCode> {
  const view = await loadEntry(session, await findEntry(session, text, flags));
  const effect = order.effect(view);
  const { message } = order;
  if (flags.dryRun === true) return await printIntent(session, { id: view.id, name: view.vm, verb: message, effect });
  requireOpen(view, message);
  await order.confirm?.(view, effect);
  const answer = await send(session, view, message, { ...order.body, ...byWhom(session, flags) });
  return await afterwards(session, view, message, typeof answer === 'string' ? answer : 'accepted', flags);
}

export function byWhom(session: Session, { reason }: Pick<ActFlags, 'reason'>): ByWhom {
  return { by: session.runtime.user(), ...(reason === undefined ? {} : { reason }) };
}

/** Undefined: it was taken and isn't done yet. */
export async function send(
  session: Session,
  { id, since }: EntryDocument,
  message: string,
  body: object,
  intent?: string,
): Promise<unknown> {
  const gateway = await session.gateway();
  // The same order to the same state counts once; after a change it is another one.
  const updateId = `${message}/${intent ?? since ?? session.runtime.random()}`;
  return (await gateway.update({ workflowId: id }, { name: message, updateId, body, answerMs })).answer;
}

/** The answer, or with `--wait` how it ended. */
export async function afterwards(
  session: Session,
  view: EntryDocument,
  message: string,
  answer: string,
  flags: WaitFlags,
): Promise<ExitCode> {
  if (flags.wait !== undefined) {
    session.note(`${view.vm}: ${answer}`);
    const now = await lookAgain(session, view);
    return await followEntry(session, now ?? view, flags, view.conflict?.since);
  }
  const { id, runId, vm: name, uuid, link } = view;
  await printSent(session, { id, runId, name, message, answer, link, then: [['look', `vmflow queue get ${uuid}`]] });
  return exitCodes.ok.code;
}

export function requireOpen({ execution, vm, uuid, phase, link }: EntryDocument, message: string): void {
  if (execution === 'running') return;
  throw new CliError({
    exit: 'refused',
    reason: 'ENTRY_OVER',
    message: `can't ${message} ${vm}: it is no longer in the queue (${phase})`,
    next: `vmflow queue get ${uuid}`,
    link,
  });
}
