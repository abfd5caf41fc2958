import type { ConflictOption } from '../../workflows/contracts/conflict.ts';
import { waitingText } from '../execution/progress.ts';
import { sinceText } from '../op/render.ts';
import type { Paint } from '../output/colors.ts';
import { labelled } from '../output/error.ts';
import { renderSteps } from '../output/steps.ts';
import type { Session } from '../session.ts';
import type { SetRef } from '../set/find.ts';
import { handoverLines, handoverOf } from './handover.ts';
import type { MigrationView } from './view.ts';

/** One migration for people: where it is, steps, what is waited for, what can be decided, the hand-over. Ends with a newline. */
export function renderMigration(session: Session, view: MigrationView, paint: Paint = session.paint): string {
  const line = lineWith(paint);
  return `${[headline(session, view, paint), ...migrationLines(session, view, paint), ...line('link', session.showLink(view.link))].join('\n')}\n`;
}

/** All but headline and link: `set get` shows them within the set. */
export function migrationLines(session: Session, view: MigrationView, paint: Paint): string[] {
  const line = lineWith(paint);
  const handover = handoverOf(view.result, view.snapshot?.digest);
  const { from = view.source, to = view.target } = view.result ?? {};
  return [
    ...(view.conflict === undefined ? line('reason', reasonText(view)) : conflictLines(view, line)),
    ...renderSteps(view.steps, paint),
    ...line('waiting', waitingText(session, view)),
    ...line('slot', slotText(view)),
    ...line('failure', view.failure?.message),
    ...(handover === undefined ? [] : handoverLines(handover, { from, to }, paint)),
    ...line('note', view.answeredBy === 'server' ? 'no worker can answer; this is what Temporal recorded last' : ''),
    ...nextCommands(view).flatMap((command, place) => line(place === 0 ? 'next' : '', command)),
  ];
}

type Line = (label: string, text: string | undefined) => string[];

function lineWith(paint: Paint): Line {
  return (label, text) => (text === undefined || text === '' ? [] : [labelled(label, text, paint)]);
}

function headline(session: Session, view: MigrationView, paint: Paint): string {
  const when = sinceText(session, view.closedAt ?? view.since ?? view.startedAt);
  return `${paint.bold(`${view.namespace}/${view.set}`)}   ${paintStep(view, paint)} since ${when}   ${routeText(view)}`.trimEnd();
}

/** `node-a → node-b`; empty: neither is known. */
export function routeText({ source, target, result }: Pick<MigrationView, 'source' | 'target' | 'result'>): string {
  const { from = source, to = target } = result ?? {};
  return from === undefined && to === undefined ? '' : `${from ?? '?'} → ${to || 'any node'}`;
}

export function paintStep({ step, conflict }: Pick<MigrationView, 'step' | 'conflict'>, paint: Paint): string {
  if (conflict !== undefined) return paint.yellow(`CONFLICT ${conflict.code}`);
  if (step === 'migrated') return paint.green(step);
  return ['Failed', 'Terminated', 'TimedOut'].includes(step) ? paint.red(step) : paint.cyan(step);
}

/** What stands under `waiting` isn't said twice. */
function reasonText({ reason, message, waitingFor, execution }: MigrationView): string {
  if (waitingFor !== undefined || execution !== 'running') return '';
  return [reason, message].filter((part) => part !== undefined && part !== '').join(': ');
}

function slotText({ slot, queued }: MigrationView): string | undefined {
  return slot === 'asked' && queued !== undefined ? `${String(queued)} requests are ahead` : undefined;
}

function conflictLines({ conflict, namespace, set }: MigrationView, line: Line): string[] {
  if (conflict === undefined) return [];
  return [
    ...line('reason', `${conflict.code}: ${conflict.what}`),
    ...line('wanted', conflict.expected),
    ...line('found', conflict.found),
    ...optionTexts(conflict.options, { namespace, name: set }).flatMap((text, place) =>
      line(place === 0 ? 'options' : '', text),
    ),
  ];
}

/** Each way out as a command, and what it does. */
export function optionTexts(options: readonly ConflictOption[], { namespace, name }: SetRef): string[] {
  const commands = options.map(({ decision }) => `vmflow migrate ${decision} ${name} -n ${namespace}`);
  const width = Math.max(0, ...commands.map((command) => command.length));
  return options.map(({ effect }, place) => `${(commands[place] ?? '').padEnd(width)}   ${effect}`);
}

/** Commands to paste: the workflow's own, else those that always work. */
export function nextCommands({ next, execution, namespace, set, conflict }: MigrationView): readonly string[] {
  if (execution !== 'running') return [`vmflow set get ${set} -n ${namespace}`];
  if (conflict !== undefined) return [];
  if (next.length > 0) return next;
  return [
    `vmflow set watch ${set} -n ${namespace}`,
    `vmflow migrate retarget ${set} -n ${namespace} --to NODE`,
    `vmflow migrate abort ${set} -n ${namespace}`,
  ];
}
