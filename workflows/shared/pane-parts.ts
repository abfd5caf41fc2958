import type { Step, WaitingFor } from '../contracts/status.ts';
import { code, lines, list } from '../domain/markdown.ts';

const marks = { pending: '·', active: '▶', done: '✔', skipped: '–', failed: '✘' } as const;

/** What an operation waits for, in words. */
export const waitsFor: Readonly<Record<WaitingFor, string>> = {
  person: 'waiting for a person',
  window: 'waiting for its window',
  slot: 'waiting for a free slot',
  capacity: 'waiting for space',
  'far-side': 'waiting for the far side',
  superseded: 'waiting for the operation it replaces',
};

/** How far an operation is. The marks are what a list would have its bullets for. */
export function stepList(steps: readonly Pick<Step, 'title' | 'state'>[]): string {
  return lines(steps.map(({ title, state }) => `${marks[state]} ${title}`));
}

/** Commands that can be given now. Paragraphs; none where there is no command. */
export function fromTerminal(next: readonly string[]): string[] {
  return next.length === 0 ? [] : ['From a terminal:', list(next.map(code))];
}
