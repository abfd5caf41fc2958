import type { Conflict } from '../contracts/conflict.ts';
import { stepsOf } from '../domain/batch/entry-steps.ts';
import type { Entry } from '../domain/batch/entry.ts';
import { code, lines, pane, plain } from '../domain/markdown.ts';
import { resolveHere } from '../shared/send-here.ts';

const marks = { pending: '·', active: '▶', done: '✔', skipped: '–', failed: '✘' } as const;

interface Around {
  readonly name: string;
  /** What a far side refuses at the moment. */
  readonly trouble: string | undefined;
  /** Commands. */
  readonly next: readonly string[];
  readonly conflict?: Conflict;
}

/** Markdown for the Web UI: which VM goes where, what it waits for, what can be done now, how far it is. */
export function entryDetails(entry: Entry, { name, trouble, next, conflict }: Around): string {
  // One that was resolved is remembered for a moment longer.
  const open = entry.status === 'Conflict' ? conflict : undefined;
  return pane([
    headline(entry, name),
    isToldBelow(entry) ? '' : plain(entry.message),
    trouble === undefined ? '' : `Held up: ${plain(trouble)}`,
    ...(open === undefined ? [] : question(open)),
    ...(next.length === 0 ? [] : ['From a terminal:', list(next.map(code))]),
    lines(facts(entry)),
    '### Steps',
    list(stepsOf(entry).map(({ title, state }) => `${marks[state]} ${title}`)),
  ]);
}

function headline({ status, substate, placement, record }: Entry, name: string): string {
  const target = placement === undefined ? 'not placed yet' : `${placement.target_name}/${placement.target_project}`;
  const way = plain(`${record.source}${record.location} → ${target}`);
  return `**${plain(name)}**: ${way}: ${status}${substate === undefined ? '' : ` (${substate})`}`;
}

/** What was found is told with its code. */
function isToldBelow({ status, message, conflict, error }: Entry): boolean {
  return [status === 'Conflict' ? conflict : undefined, error].some((one) => one && message.endsWith(one.message));
}

function question(open: Conflict): string[] {
  return [
    `**Conflict ${open.code}**: ${plain(open.what)}`,
    list([`expected: ${plain(open.expected)}`, `found: ${plain(open.found)}`]),
    'Choices:',
    list(open.options.map(({ decision, effect }) => `${code(decision)}: ${plain(effect)}`)),
    ...resolveHere(open),
  ];
}

function facts({ window, error }: Entry): string[] {
  return [
    ...(window === undefined
      ? []
      : [`window ${plain(window.name)}${window.end === undefined ? '' : `, ends ${window.end}`}`]),
    ...(error === undefined ? [] : [`**${error.code}**: ${plain(error.message)}`]),
  ];
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}
