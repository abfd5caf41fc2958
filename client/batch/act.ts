import type { ByWhom, ResetBatch, StartAnswer } from '../../workflows/contracts/batch.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { Action } from '../commands/command.ts';
import { confirmByName, confirmYes, type ConfirmFlags } from '../confirm.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { WaitFlags } from '../execution/wait.ts';
import type { ExecutionView } from '../gateway.ts';
import { printIntent, printSent } from '../output/answers.ts';
import { namesText } from '../output/names.ts';
import type { Session } from '../session.ts';
import { findBatch } from './find.ts';
import { watchBatch } from './watch.ts';

export interface ActFlags extends WaitFlags {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

export interface ResetFlags extends ActFlags, ConfirmFlags {
  readonly force?: boolean;
}

/** Entries of a large batch are made or ended a few at a time. */
const answerMs = 120_000;

/** `batch start NAME`: an entry for each member. */
export const startBatch: Action<ActFlags> = async (session, [name = ''], flags) => {
  const effect = `every member of ${name} that has no entry gets one; sources are switched off in their windows only`;
  return await begin(session, name, messages.start, effect, flags);
};

/** `batch resume NAME`: goes on after a stop. */
export const resumeBatch: Action<ActFlags> = async (session, [name = ''], flags) =>
  await begin(session, name, messages.resume, `${name} goes on where it was stopped`, flags);

async function begin(
  session: Session,
  name: string,
  message: string,
  effect: string,
  flags: ActFlags,
): Promise<ExitCode> {
  const batch = await findBatch(session, name);
  if (flags.dryRun === true) return await printIntent(session, { id: batch.workflowId, name, verb: message, effect });
  const answer = await send<StartAnswer>(session, batch, message, byWhom(session, flags));
  if (flags.wait !== undefined) {
    session.note(`${name}: ${startedText(answer)}`);
    return await watchBatch(session, [name], flags);
  }
  const { workflowId: id, runId } = batch;
  const link = await session.link(id, runId);
  await session.print({
    kind: 'BatchStarted',
    document: { id, runId, name, ...(answer ?? { queued: 0, skipped: [], skippedCount: 0 }), link },
    names: [name],
    ids: [id],
    text: `${name}: ${startedText(answer)}\n  watch   vmflow batch watch ${name}\n  stop    vmflow batch stop ${name}\n`,
  });
  return exitCodes.ok.code;
}

function startedText(answer: StartAnswer | undefined): string {
  if (answer === undefined) return 'accepted, its entries are being made';
  const { queued, skipped, skippedCount } = answer;
  const left = skipped.map((vm) => `${vm.name} (${vm.why})`);
  return `${String(queued)} VMs queued${skippedCount === 0 ? '' : `, ${String(skippedCount)} left out: ${namesText(left, ', ', skippedCount)}`}`;
}

/** `batch stop NAME`: pauses it at safe points; what is committed is finished. */
export const stopBatch: Action<ActFlags> = async (session, [name = ''], flags) => {
  const batch = await findBatch(session, name);
  const effect = `nothing more of ${name} is created, copied or switched off; VMs in their downtime are finished`;
  if (flags.dryRun === true)
    return await printIntent(session, { id: batch.workflowId, name, verb: messages.stop, effect });
  await send(session, batch, messages.stop, byWhom(session, flags));
  if (flags.wait !== undefined) return await watchBatch(session, [name], flags);
  return await said(session, batch, name, messages.stop, `stopped; ${effect}`, [
    ['resume', `vmflow batch resume ${name}`],
  ]);
};

/** `batch reset NAME`: back to Defined; what is not finished is undone. */
export const resetBatch: Action<ResetFlags> = async (session, [name = ''], flags) => {
  const batch = await findBatch(session, name);
  const force = flags.force === true;
  const committed = force ? 'VMs in their downtime included' : 'refused while a VM is in its downtime';
  const effect = `batch ${name} goes back to Defined: every entry ends, targets that are not finished are deleted, sources that were switched off for it are switched on (${committed})`;
  if (flags.dryRun === true)
    return await printIntent(session, { id: batch.workflowId, name, verb: messages.reset, effect });
  await confirmByName(session, name, effect, flags);
  const body: ResetBatch = { ...byWhom(session, flags), force };
  const warnings = await send<readonly string[]>(session, batch, messages.reset, body);
  for (const warning of warnings ?? []) session.note(`warning: ${warning}`);
  const answer = warnings === undefined ? 'accepted, its entries are being ended' : 'reset, it is Defined again';
  return await said(session, batch, name, messages.reset, answer, [['look', `vmflow batch get ${name}`]]);
};

/** `batch delete NAME`: forgets it; what is at the targets stays. */
export const deleteBatch: Action<ActFlags & { readonly yes?: boolean }> = async (session, [name = ''], flags) => {
  const batch = await findBatch(session, name);
  const effect = `batch ${name} and its entries are forgotten; what is at the targets stays`;
  if (flags.dryRun === true)
    return await printIntent(session, { id: batch.workflowId, name, verb: messages.delete, effect });
  await confirmYes(session, `delete: ${effect}`, flags);
  const answer = await send<string>(session, batch, messages.delete, byWhom(session, flags));
  return await said(session, batch, name, messages.delete, answer ?? 'accepted, its entries are being ended', [
    ['left', 'vmflow orphans list'],
  ]);
};

function byWhom(session: Session, { reason }: ActFlags): ByWhom {
  return { by: session.runtime.user(), ...(reason === undefined ? {} : { reason }) };
}

/** Undefined: it was taken and isn't done yet. */
async function send<Answer>(
  session: Session,
  { workflowId }: ExecutionView,
  message: string,
  body: ByWhom,
): Promise<Answer | undefined> {
  const gateway = await session.gateway();
  const update = { name: message, updateId: `${message}/${session.runtime.random()}`, body, answerMs };
  const { completed, answer } = await gateway.update({ workflowId }, update);
  return completed ? (answer as Answer) : undefined;
}

async function said(
  session: Session,
  { workflowId: id, runId }: ExecutionView,
  name: string,
  message: string,
  answer: string,
  then: readonly (readonly [string, string])[],
): Promise<ExitCode> {
  await printSent(session, { id, runId, name, message, answer, link: await session.link(id, runId), then });
  return exitCodes.ok.code;
}
