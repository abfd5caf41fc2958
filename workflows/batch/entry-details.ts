import type { Conflict } from '../contracts/conflict.ts';
import type { WaitingFor } from '../contracts/status.ts';
import { stepsOf } from '../domain/batch/entry-steps.ts';
import { isCommitted, type Entry } from '../domain/batch/entry.ts';
import { lines, moment, pane, plain } from '../domain/markdown.ts';
import { fromTerminal, stepList, waitsFor } from '../shared/pane-parts.ts';
import { question } from '../shared/send-here.ts';

interface Around {
  readonly name: string;
  /** What a far side refuses at the moment. */
  readonly trouble: string | undefined;
  readonly waitingFor?: WaitingFor;
  /** Commands. */
  readonly next: readonly string[];
  readonly conflict?: Conflict;
}

/** Markdown for the Web UI: which VM goes where, what it waits for, what can be done now, how far it is. */
export function entryDetails(entry: Entry, { name, trouble, waitingFor, next, conflict }: Around): string {
  // One that was resolved is remembered for a moment longer.
  const open = entry.status === 'Conflict' ? conflict : undefined;
  return pane([
    lines([headline(entry, name), sinceWhen(entry, waitingFor)]),
    downtime(entry),
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

function sinceWhen({ since }: Entry, waitingFor: WaitingFor | undefined): string {
  return [`since ${moment(since)}`, ...(waitingFor === undefined ? [] : [waitsFor[waitingFor]])].join(' · ');
}

/** That a VM is off is what somebody who may decide about it has to see. */
function downtime(entry: Entry): string {
  const { powered_off_by_us_at: offAt, restored_at } = entry.source_power;
  if (!isCommitted(entry) || offAt === undefined || restored_at !== undefined) return '';
  return `**In its downtime since ${moment(offAt)}:** its source is switched off.`;
}

/** What was found is told with its code. */
function isToldBelow({ status, message, conflict, error }: Entry): boolean {
  return [status === 'Conflict' ? conflict : undefined, error].some((one) => one && message.endsWith(one.message));
}

function facts({ window, error }: Entry): string[] {
  return [
    ...(window === undefined
      ? []
      : [`window ${plain(window.name)}${window.end === undefined ? '' : `, ends ${moment(window.end)}`}`]),
    ...(error === undefined ? [] : [`**${error.code}**: ${plain(error.message)}`]),
  ];
}
