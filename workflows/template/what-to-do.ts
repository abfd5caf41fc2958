import type { Conflict } from '../contracts/conflict.ts';
import { messages } from '../contracts/messages.ts';
import type { TemplateSwapStatus } from '../contracts/template.ts';
import { code, codeBlock, plain, table } from '../domain/markdown.ts';
import { resolveHere, yourName } from '../shared/send-here.ts';

/** What the Web UI's own dialog can send in a status, and what it does. */
const updates: Readonly<Record<string, readonly (readonly [name: string, effect: string])[]>> = {
  WaitingForSpace: [[messages.retryNow, 'try again now']],
  Keeping: [
    [messages.undo, 'go back to the previous template'],
    [messages.endKeep, 'destroy the previous template now'],
  ],
};

/** What a person can do now: in the Web UI first, then from a terminal. */
export function whatToDo(status: TemplateSwapStatus): string {
  const parts = status.failure === undefined ? [...here(status), ...fromTerminal(status.next)] : afterFailure(status);
  return parts.join('\n\n');
}

function here({ status, conflict, next }: TemplateSwapStatus): string[] {
  const possible = updates[status] ?? [];
  return [
    ...(conflict === undefined ? [] : [question(conflict)]),
    ...(possible.length === 0 ? [] : [sendOneOf(possible)]),
    ...(next.some((command) => command.includes('template cancel'))
      ? ['Stop it here with *Request Cancellation*. Once the renames have begun they are finished all the same.']
      : []),
  ];
}

function fromTerminal(next: readonly string[]): string[] {
  return next.length === 0 ? [] : [`From a terminal:\n\n${codeBlock(next.join('\n'))}`];
}

/** A remedy is a command to paste, or a sentence after which the swap is started again. */
function afterFailure({ failure, next }: TemplateSwapStatus): string[] {
  const remedy = failure?.details?.next;
  if (remedy?.startsWith('vmflow ')) return [`To do, from a terminal:\n\n${codeBlock(remedy)}`];
  if (next.length === 0) return [];
  return [
    ...(remedy === undefined ? [] : [`To do: ${plain(remedy)}.`]),
    `Start it again here with *More Actions*, *Start Workflow Like This One*, or from a terminal:\n\n${codeBlock(next.join('\n'))}`,
  ];
}

function question(open: Conflict): string {
  return [
    `### Conflict ${open.code}`,
    `${plain(open.what)}.`,
    `expected: ${plain(open.expected)}\n\nfound: ${plain(open.found)}`,
    table(
      ['decision', 'effect'],
      open.options.map(({ decision, effect }) => [code(decision), plain(effect)]),
    ),
    ...resolveHere(open),
  ].join('\n\n');
}

function sendOneOf(possible: readonly (readonly [name: string, effect: string])[]): string {
  return [
    'Here: *More Actions*, *Send an Update*, with your name in',
    table(
      ['update', 'effect'],
      possible.map(([name, effect]) => [code(name), effect]),
    ),
    codeBlock(JSON.stringify({ by: yourName }, undefined, 2), 'json'),
  ].join('\n\n');
}
