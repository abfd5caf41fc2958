import type { OperationStatus } from '../../workflows/contracts/status.ts';
import { stepLooks } from '../output/steps.ts';
import { formatSince } from '../output/units.ts';
import type { Session } from '../session.ts';

/** One line per step that begins or ends, and one per thing that is waited for, for a log. */
export function progressLines(
  session: Session,
  name: string,
): (status: Pick<OperationStatus, 'steps'> & Partial<OperationStatus>) => void {
  const said = new Set<string>();
  let waitedFor = '';
  return (status) => {
    for (const { id, title, state, detail } of status.steps) {
      if (state === 'pending' || state === 'skipped' || said.has(`${id} ${state}`)) continue;
      said.add(`${id} ${state}`);
      session.note(`${name}: ${stepLooks[state].word} ${title}${detail === undefined ? '' : ` (${detail})`}`);
    }
    // Ages change all the time; the line is worth another only when what it tells does.
    const mark = status.waitingFor === undefined ? '' : `${status.reason ?? ''} ${status.deadline ?? ''}`;
    if (mark !== '' && mark !== waitedFor) session.note(`${name}: waiting ${waitingText(session, status) ?? ''}`);
    waitedFor = mark;
  };
}

/** For what, since when, until when, and the command that ends it; undefined: it doesn't wait. */
export function waitingText(
  { flags, runtime }: Session,
  { waitingFor, reason, message, since, deadline, next }: Partial<OperationStatus>,
): string | undefined {
  if (waitingFor === undefined) return undefined;
  const shown = (iso: string): string => formatSince(iso, flags.time, runtime.now());
  const until = deadline === undefined ? 'no deadline' : `until ${shown(deadline)}`;
  const from = since === undefined ? '' : ` since ${shown(since)}`;
  const command = next?.find((line) => /\b(?:retry|abort|cancel|retarget|wake|hibernate)\b/.test(line));
  const what = [reason, message].filter((part) => part !== undefined && part !== '').join(': ');
  return `for ${waitingWords[waitingFor]} (${what})${from}, ${until}${command === undefined ? '' : `; ends with: ${command}`}`;
}

const waitingWords: Readonly<Record<NonNullable<OperationStatus['waitingFor']>, string>> = {
  person: 'a decision by a person',
  window: 'its window',
  slot: 'a free slot',
  capacity: 'room',
  'far-side': 'the cluster',
  superseded: 'the operation it replaces',
};
