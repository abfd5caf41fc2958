import type { Conflict, Resolution } from '../contracts/conflict.ts';
import { messages } from '../contracts/messages.ts';
import { code, codeBlock, list, plain } from '../domain/markdown.ts';

/** Stands for whoever sends something from the Web UI. */
export const yourName = 'your name';

/** How the Web UI's own dialog resolves a conflict, with what is pasted into it: its first choice, of the others only the word differs. */
export function resolveHere({ id, options }: Conflict): string[] {
  const body: Resolution = { conflictId: id, decision: options[0]?.decision ?? 'retry', by: yourName };
  return [
    `Decide here: *More Actions*, *Send an Update* (or *Send a Signal*), *Name* ${code(messages.resolve)}, as *Data* this with your decision and your name:`,
    codeBlock(JSON.stringify(body, undefined, 2), 'json'),
  ];
}

/** What a person is asked: what was found, the choices, and how to answer from here. Paragraphs. */
export function question(open: Conflict): string[] {
  return [
    `**Conflict ${open.code}**: ${plain(open.what)}`,
    list([`expected: ${plain(open.expected)}`, `found: ${plain(open.found)}`]),
    'Choices:',
    list(open.options.map(({ decision, effect }) => `${code(decision)}: ${plain(effect)}`)),
    ...resolveHere(open),
  ];
}
