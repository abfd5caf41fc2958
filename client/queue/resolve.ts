import type { ResolveAnswer } from '../../workflows/contracts/batch.ts';
import type { Resolution } from '../../workflows/contracts/conflict.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { Action } from '../commands/command.ts';
import { CliError } from '../errors.ts';
import { printIntent } from '../output/answers.ts';
import { afterwards, byWhom, requireOpen, send, type ActFlags } from './act.ts';
import { findEntry } from './find.ts';
import { resolveCommands } from './render.ts';
import { loadEntry, type EntryDocument } from './view.ts';

export interface ResolveFlags extends ActFlags {
  readonly decision?: string;
}

/** `queue resolve VM`: decides the open conflict. Without a decision it shows what can be decided. */
export const resolveEntry: Action<ResolveFlags> = async (session, [text = ''], flags) => {
  const view = await loadEntry(session, await findEntry(session, text, flags));
  requireOpen(view, 'resolve');
  const { conflict } = view;
  if (conflict === undefined) throw noConflict(view);
  const option = conflict.options.find(({ decision }) => decision === flags.decision);
  if (option === undefined) throw undecided(view, flags.decision);
  if (flags.dryRun === true)
    return await printIntent(session, { id: view.id, name: view.vm, verb: 'resolve', effect: option.effect });
  const body: Resolution = { conflictId: conflict.id, decision: option.decision, ...byWhom(session, flags) };
  // The same conflict can come back; its `since` tells the two apart.
  const intent = `${conflict.id}/${conflict.since}/${option.decision}`;
  const answer = (await send(session, view, messages.resolve, body, intent)) as ResolveAnswer | undefined;
  if (answer?.result === 'conflict') throw again(view, answer);
  return await afterwards(session, view, messages.resolve, answerText(answer), flags);
};

function answerText(answer: ResolveAnswer | undefined): string {
  switch (answer?.result) {
    case 'waiting':
      return 'resolved, it goes on';
    case 'finished':
      return 'resolved, it is Finished';
    case 'canceled':
      return 'canceled';
    case 'conflict':
    case 'revalidating':
    case undefined:
      return 'accepted, everything is being checked again';
  }
}

function again({ vm, uuid, link }: EntryDocument, { conflict }: ResolveAnswer): CliError {
  return new CliError({
    exit: 'refused',
    reason: conflict?.code ?? 'CONFLICT',
    message: `${vm} is in conflict again: ${conflict?.message ?? 'nothing has changed'}`,
    why: conflict === undefined ? undefined : `wanted ${conflict.expected}, found ${conflict.found}`,
    state: 'it waits for another decision',
    next: `vmflow queue get ${uuid}`,
    link,
  });
}

function noConflict({ vm, uuid, phase, link, answeredBy }: EntryDocument): CliError {
  return new CliError({
    exit: 'refused',
    reason: 'NO_CONFLICT',
    message: `can't resolve ${vm}: it has no open conflict (${phase})`,
    why: answeredBy === 'server' ? 'no worker can answer, so this is what Temporal recorded last' : undefined,
    next: `vmflow queue get ${uuid}`,
    link,
  });
}

/** Only the choices that exist for this conflict, each with what it does. */
function undecided({ vm, uuid, conflict, link }: EntryDocument, decision: string | undefined): CliError {
  const options = conflict?.options ?? [];
  return new CliError({
    exit: 'usage',
    reason: decision === undefined ? 'DECISION_MISSING' : 'DECISION_UNKNOWN',
    message:
      decision === undefined
        ? `which decision? ${vm} is in conflict: ${conflict?.what ?? ''}`
        : `"${decision}" is no decision for this conflict of ${vm}`,
    why: options.map((option) => `--decision ${option.decision}: ${option.effect}`).join('\n'),
    next: resolveCommands(uuid, options),
    link,
  });
}
