import type { Conflict } from '../contracts/conflict.ts';
import { stepsOf } from '../domain/batch/entry-steps.ts';
import type { Entry } from '../domain/batch/entry.ts';
import { lines, pane, plain } from '../domain/markdown.ts';
import { fromTerminal, stepList } from '../shared/pane-parts.ts';
import { question } from '../shared/send-here.ts';

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
    ...fromTerminal(next),
    lines(facts(entry)),
    '### Steps',
    stepList(stepsOf(entry)),
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

function facts({ window, error }: Entry): string[] {
  return [
    ...(window === undefined
      ? []
      : [`window ${plain(window.name)}${window.end === undefined ? '' : `, ends ${window.end}`}`]),
    ...(error === undefined ? [] : [`**${error.code}**: ${plain(error.message)}`]),
  ];
}
