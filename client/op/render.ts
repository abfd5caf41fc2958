import { inWords } from '../../workflows/domain/vmop/matrix.ts';
import type { Paint } from '../output/colors.ts';
import { labelled } from '../output/error.ts';
import { renderSteps } from '../output/steps.ts';
import { formatSince } from '../output/units.ts';
import type { Session } from '../session.ts';
import type { OperationView } from './view.ts';

/** Phases in the look of states. */
export function paintPhase(phase: string, paint: Paint): string {
  if (phase === 'Failed') return paint.red(phase);
  if (phase === 'Completed') return paint.green(phase);
  return phase === 'Superseded' ? paint.yellow(phase) : paint.cyan(phase);
}

/** One operation for people: headline, steps, what is waited for, who took over, what to do next, link. */
export function renderOperation(session: Session, view: OperationView, paint: Paint = session.paint): string {
  const line = (label: string, text: string | undefined): string[] =>
    text === undefined || text === '' ? [] : [labelled(label, text, paint)];
  const list = (label: string, texts: readonly string[]): string[] =>
    texts.flatMap((text, place) => line(place === 0 ? label : '', text));
  const lines = [
    headline(session, view, paint),
    ...line('reason', reasonText(view)),
    ...renderSteps(view.steps, paint, view.progress),
    ...line('waiting', waitingText(session, view)),
    ...line('by', requester(view)),
    ...list(
      'takes',
      view.supersedes.map(({ name }) => `over from ${name}`),
    ),
    ...list(
      'yields',
      view.supersedableBy.map((command) => `to ${command}`),
    ),
    ...list('next', view.next),
    ...line('link', session.showLink(view.link)),
  ];
  return `${lines.join('\n')}\n`;
}

function headline(session: Session, view: OperationView, paint: Paint): string {
  const { name, phase, vm, namespace, endedAt, since, createdAt } = view;
  const when = sinceText(session, endedAt ?? since ?? createdAt);
  return `${paint.bold(name)}   ${paintPhase(phase, paint)} since ${when}   ${inWords(view)} of ${namespace}/${vm}`;
}

/** "superseded by NAME" needs no reason before it. */
function reasonText({ reason, message, phase }: OperationView): string {
  if (phase === 'Superseded' && message !== undefined) return message;
  return [reason, message].filter((part) => part !== undefined && part !== '').join(': ');
}

/** For what, since when, until when, and the command that ends it. */
function waitingText(session: Session, view: OperationView): string | undefined {
  if (view.waitingFor === undefined) return undefined;
  const until = view.deadline === undefined ? 'no deadline' : `until ${sinceText(session, view.deadline)}`;
  const since = view.since === undefined ? '' : ` since ${sinceText(session, view.since)}`;
  const command = `vmflow op cancel ${view.name} -n ${view.namespace}`;
  return `for the cluster${since}, ${until}; ends with: ${command}`;
}

function requester({ by, why }: OperationView): string | undefined {
  if (by === undefined) return why;
  return why === undefined ? by : `${by}: ${why}`;
}

export function sinceText({ flags, runtime }: Session, iso: string): string {
  return formatSince(iso, flags.time, runtime.now());
}
