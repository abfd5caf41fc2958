import type { Conflict } from '../contracts/conflict.ts';
import { stepsOf } from '../domain/batch/entry-steps.ts';
import type { Entry } from '../domain/batch/entry.ts';

const marks = { pending: '·', active: '▶', done: '✔', skipped: '–', failed: '✘' } as const;

/** Markdown for the Web UI: which VM goes where, how far it is, what it waits for, what can be done now. */
export function entryDetails(
  entry: Entry,
  {
    name,
    trouble,
    next,
    conflict,
  }: { name: string; trouble: string | undefined; next: readonly string[]; conflict?: Conflict },
): string {
  const { status, substate, message, placement, window, record, error } = entry;
  const target = placement === undefined ? 'not placed yet' : `${placement.target_name}/${placement.target_project}`;
  return [
    `**${name}**: ${record.source}${record.location} → ${target}: ${status}${substate === undefined ? '' : ` (${substate})`}`,
    '',
    message,
    ...(trouble === undefined ? [] : ['', `Held up: ${trouble}`]),
    '',
    ...stepsOf(entry).map(({ title, state }) => `- ${marks[state]} ${title}`),
    '',
    ...(window === undefined
      ? []
      : [`- window ${window.name}${window.end === undefined ? '' : `, ends ${window.end}`}`]),
    ...(error === undefined ? [] : [`- **${error.code}**: ${error.message}`]),
    ...(conflict === undefined
      ? []
      : [
          `**Conflict ${conflict.id}**: ${conflict.what}`,
          `- expected: ${conflict.expected}`,
          `- found: ${conflict.found}`,
          ...conflict.options.map(({ decision, effect }) => `- \`${decision}\`: ${effect}`),
        ]),
    ...next.map((command) => `- \`${command}\``),
  ].join('\n');
}
