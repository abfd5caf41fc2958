import type { Resolution } from '../../workflows/contracts/conflict.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { TemplateMemo } from '../../workflows/contracts/template-memo.ts';
import type { OperatorNote, TemplateSwapRequest } from '../../workflows/contracts/template.ts';
import type { Action } from '../commands/command.ts';
import { confirmByName, type ConfirmFlags } from '../confirm.ts';
import { CliError } from '../errors.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { ExecutionRef } from '../gateway.ts';
import { printIntent, printSent } from '../output/answers.ts';
import type { Session } from '../session.ts';
import { isOver } from './outcome.ts';
import { findTemplate, type Narrowing } from './find.ts';
import { nextCommands, quote } from './render.ts';
import { startSwap } from './start.ts';
import { loadView, type TemplateView } from './view.ts';
import { waitForEnd, type WaitFlags, type WaitFor } from './wait.ts';

interface ActFlags extends Narrowing, WaitFlags {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

export interface ConfirmedFlags extends ActFlags, ConfirmFlags {}

export interface ResolveFlags extends ActFlags {
  readonly decision?: string;
  readonly conflict?: string;
}

/** `template rollback`: back to the previous version while it is kept. */
export const rollbackTemplate: Action<ConfirmedFlags> = async (session, [name = ''], flags) => {
  const { ref, view } = await current(session, name, flags);
  requireKept(view, 'rollback');
  const previous = view.previous?.version ?? 'the previous version';
  const effect = `${view.name} goes back from ${view.target?.version ?? 'the new version'} to ${previous}, and the new one is destroyed`;
  if (flags.dryRun === true) return sayPlan(session, view, 'rollback', effect);
  await confirmByName(session, view.name, effect, flags);
  return send(session, ref, view, { name: messages.undo, body: note(session, flags) }, flags, 'undo');
};

/** `template prune`: stop keeping the previous version. */
export const pruneTemplate: Action<ConfirmedFlags> = async (session, [name = ''], flags) => {
  const { ref, view, memo } = await current(session, name, flags);
  if (mayHaveLeftOver(view)) return pruneLeftOver(session, { ref, view, memo }, flags);
  requireKept(view, 'prune');
  const effect = `the previous version ${view.previous?.version ?? ''} of ${view.name} is destroyed and can't be brought back`;
  if (flags.dryRun === true) return sayPlan(session, view, 'prune', effect);
  await confirmByName(session, view.name, effect, flags);
  return send(session, ref, view, { name: messages.endKeep, body: note(session, flags) }, flags, 'update');
};

function mayHaveLeftOver(view: TemplateView): boolean {
  const { result } = view;
  return isOver(view) && result?.previous !== undefined && !result.rollbackDestroyed && result.outcome !== 'undone';
}

/**
 * A cancelled update may have left the previous version. The same request once more finds its version in place and takes only
 * that away, with all the care of a swap.
 */
async function pruneLeftOver(
  session: Session,
  { ref, view, memo }: { ref: ExecutionRef; view: TemplateView; memo: TemplateMemo },
  flags: ConfirmedFlags,
): Promise<ExitCode> {
  const gateway = await session.gateway();
  const request = (await gateway.input(ref)) as TemplateSwapRequest | undefined;
  const { rollbackPrefix } = memo.naming;
  const { answer } = await gateway.lookup({
    what: 'template',
    vcenter: memo.vcenter,
    placement: memo.placement,
    name: memo.name,
    ...(rollbackPrefix === undefined ? {} : { rollbackPrefix }),
  });
  const { version, previous } = answer.template ?? {};
  // With another version in use the same request would be an update, which nobody asked for here.
  if (request === undefined || previous === undefined || version !== request.target.version)
    throw nothingKept(view, 'prune');
  const effect = `the previous version ${previous} of ${view.name}, left by a cancelled update, is destroyed and can't be brought back`;
  if (flags.dryRun === true) return sayPlan(session, view, 'prune', effect);
  await confirmByName(session, view.name, effect, flags);
  const again = { ...request, options: { ...request.options, keepRollbackMinutes: 0 }, by: session.runtime.user() };
  const { workflowId, runId } = await startSwap(session, again, { supersede: false });
  const goal = { goal: 'update' } as const;
  if (flags.wait !== undefined) return waitForEnd(session, { workflowId, runId }, flags, goal);
  await sayAnswer(session, { ...view, runId, link: await session.link(workflowId, runId) }, 'prune', 'accepted');
  return exitCodes.ok.code;
}

/** `template retry`: end the current wait and try at once. */
export const retryTemplate: Action<ActFlags> = async (session, [name = ''], flags) => {
  const { ref, view } = await current(session, name, flags);
  if (flags.dryRun === true) return sayPlan(session, view, 'retry', `${view.name} stops waiting and tries again`);
  return send(session, ref, view, { name: messages.retryNow, body: note(session, flags) }, flags, 'update');
};

/** `template resolve`: decide the open conflict. Without a decision it shows what can be decided. */
export const resolveTemplate: Action<ResolveFlags> = async (session, [name = ''], flags) => {
  const { ref, view } = await current(session, name, flags);
  const { conflict } = view;
  if (conflict === undefined || (flags.conflict !== undefined && flags.conflict !== conflict.id)) {
    throw noConflict(view, flags.conflict);
  }
  const option = conflict.options.find(({ decision }) => decision === flags.decision);
  if (option === undefined) throw undecided(view, flags.decision);
  if (flags.dryRun === true) return sayPlan(session, view, 'resolve', option.effect);
  const body: Resolution = {
    conflictId: conflict.id,
    decision: option.decision,
    ...note(session, flags),
  };
  // The same conflict can come back in one run; its `since` tells the two apart.
  const intent = `${conflict.id}/${conflict.since}/${option.decision}`;
  return send(session, ref, view, { name: messages.resolve, body, intent }, flags, 'update');
};

/** `template cancel`: stop it. Up to the swap nothing of it stays; during the swap it is finished first. */
export const cancelTemplate: Action<ActFlags> = async (session, [name = ''], flags) => {
  const { ref, view } = await current(session, name, flags);
  if (view.execution !== 'running') {
    await sayAnswer(session, view, 'cancel', `nothing to cancel, it is ${view.phase}`);
    return exitCodes.ok.code;
  }
  if (flags.dryRun === true)
    return sayPlan(session, view, 'cancel', `the update of ${view.name} is cancelled (${view.phase})`);
  await (await session.gateway()).cancel(ref);
  if (flags.wait !== undefined) return waitForEnd(session, ref, flags, { goal: 'update', isEnd: isOver });
  await sayAnswer(session, view, 'cancel', 'cancellation requested');
  return exitCodes.ok.code;
};

async function current(
  session: Session,
  name: string,
  narrow: Narrowing,
): Promise<{ ref: ExecutionRef; view: TemplateView; memo: TemplateMemo }> {
  const { execution, memo } = await findTemplate(session, name, narrow);
  const ref = { workflowId: execution.workflowId, runId: execution.runId };
  return { ref, memo, view: await loadView(session, ref) };
}

function note(session: Session, flags: ActFlags): OperatorNote {
  return { by: session.runtime.user(), ...(flags.reason === undefined ? {} : { reason: flags.reason }) };
}

interface Message {
  readonly name: string;
  readonly body: OperatorNote | Resolution;
  /** What makes a repeat the same message; the state it answers when nothing else does. */
  readonly intent?: string;
}

async function send(
  session: Session,
  ref: ExecutionRef,
  view: TemplateView,
  message: Message,
  flags: WaitFlags,
  goal: WaitFor['goal'],
): Promise<ExitCode> {
  if (view.execution !== 'running') throw operationOver(view, message.name);
  const gateway = await session.gateway();
  const updateId = `${message.name}/${message.intent ?? view.since ?? session.runtime.random()}`;
  const { completed, answer } = await gateway.update(ref, { name: message.name, updateId, body: message.body });
  if (flags.wait !== undefined) return waitForEnd(session, ref, flags, { goal });
  await sayAnswer(session, view, message.name, completed && typeof answer === 'string' ? answer : 'accepted');
  return exitCodes.ok.code;
}

async function sayAnswer(session: Session, view: TemplateView, message: string, answer: string): Promise<void> {
  const { id, runId, name, link } = view;
  const then = [['watch', `vmflow template watch ${quote(name)}`]] as const;
  await printSent(session, { id, runId, name, message, answer, link, then });
}

async function sayPlan(session: Session, { id, name }: TemplateView, verb: string, effect: string): Promise<ExitCode> {
  return await printIntent(session, { id, name, verb, effect });
}

function noConflict(view: TemplateView, asked: string | undefined): CliError {
  const what = asked === undefined ? 'it has no open conflict' : `the conflict ${asked} is not open`;
  return new CliError({
    exit: 'refused',
    reason: 'NO_CONFLICT',
    message: `can't resolve ${view.name}: ${what} (${view.phase})`,
    next: `vmflow template get ${quote(view.name)}`,
    link: view.link,
  });
}

/** The workflow refuses it too; here it saves the question. */
function requireKept(view: TemplateView, verb: string): void {
  if (view.answeredBy === 'server' || view.phase === 'Keeping') return;
  throw nothingKept(view, verb);
}

function nothingKept(view: TemplateView, verb: string): CliError {
  return new CliError({
    exit: 'refused',
    reason: 'NOTHING_KEPT',
    message: `can't ${verb} ${view.name}: no previous version is kept (${view.phase})`,
    next: `vmflow template update ${quote(view.name)} --ova FILE|URL --keep 2h keeps one`,
    link: view.link,
  });
}

/** Only the choices that exist for this conflict, each with what it does. */
function undecided(view: TemplateView, decision: string | undefined): CliError {
  const { conflict } = view;
  const options = conflict?.options ?? [];
  return new CliError({
    exit: 'usage',
    reason: decision === undefined ? 'DECISION_MISSING' : 'DECISION_UNKNOWN',
    message:
      decision === undefined
        ? `which decision? ${view.name} is in conflict: ${conflict?.what ?? ''}`
        : `"${decision}" is no decision for this conflict of ${view.name}`,
    why: options.map((option) => `--decision ${option.decision}: ${option.effect}`).join('\n'),
    next: nextCommands(view),
    link: view.link,
  });
}

function operationOver(view: TemplateView, message: string): CliError {
  return new CliError({
    exit: 'refused',
    reason: 'OPERATION_OVER',
    message: `can't send "${message}" to ${view.name}: its last update is over (${view.phase})`,
    next: `vmflow template get ${quote(view.name)}`,
    link: view.link,
  });
}
