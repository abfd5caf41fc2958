import type { Conflict, Resolution } from '../contracts/conflict.ts';
import { messages } from '../contracts/messages.ts';
import { code, codeBlock } from '../domain/markdown.ts';

/** Stands for whoever sends something from the Web UI. */
export const yourName = 'your name';

/** How the Web UI's own dialog resolves a conflict, with what is pasted into it: its first choice, of the others only the word differs. */
export function resolveHere({ id, options }: Conflict): string[] {
  const body: Resolution = { conflictId: id, decision: options[0]?.decision ?? 'retry', by: yourName };
  return [
    `Decide here: *More Actions*, *Send an Update* (or *Send a Signal*), name ${code(messages.resolve)}, with your decision and name in`,
    codeBlock(JSON.stringify(body, undefined, 2), 'json'),
  ];
}
