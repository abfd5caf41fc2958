import { etaText } from '../batch/render.ts';
import { defined } from '../objects.ts';
import { formatBytes } from '../output/units.ts';
import { waitingText } from '../execution/progress.ts';
import { sinceText } from '../op/render.ts';
import type { Paint } from '../output/colors.ts';
import { labelled } from '../output/error.ts';
import { renderSteps } from '../output/steps.ts';
import type { Session } from '../session.ts';
import { percent } from './render-rows.ts';
import type { CopyView, EntryDocument } from './view.ts';

/** One VM of a batch for people: where it is, its steps, what it waits for, what can be decided, what to do next. Ends with a newline. */
export function renderEntry(session: Session, view: EntryDocument, paint: Paint = session.paint): string {
  const line: Line = (label, text) => (text === undefined || text === '' ? [] : [labelled(label, text, paint)]);
  const lines = [
    headline(session, view, paint),
    ...(view.conflict === undefined ? line('now', view.waitingFor === undefined ? view.message : undefined) : []),
    ...conflictLines(view, line),
    ...renderSteps(view.steps, paint, copyText(session, view.copy)),
    ...(view.steps.length === 0 ? line('copy', copyText(session, view.copy)) : []),
    ...line('waiting', view.conflict === undefined ? waitingText(session, view) : undefined),
    ...line('risk', riskText(session, view)),
    ...placementLines(view, line),
    ...timelineLines(session, view, line),
    ...line('note', view.answeredBy === 'server' ? 'no worker can answer; this is what Temporal recorded last' : ''),
    ...(view.conflict === undefined ? view.next : []).flatMap((command, place) =>
      line(place === 0 ? 'next' : '', command),
    ),
    ...line('link', session.showLink(view.link)),
  ];
  return `${lines.join('\n')}\n`;
}

type Line = (label: string, text: string | undefined) => string[];

function headline(session: Session, view: EntryDocument, paint: Paint): string {
  const { vm, batch, since, target, source } = view;
  const at = since === undefined ? '' : ` since ${sinceText(session, since)}`;
  const way = [source, target].filter((part) => part !== undefined).join(' → ');
  return `${paint.bold(vm)}   ${paintPhase(view, paint)}${at}   batch ${batch}   ${way}`.trimEnd();
}

function paintPhase({ phase, conflict, substate }: EntryDocument, paint: Paint): string {
  if (conflict !== undefined) return paint.yellow('CONFLICT');
  const words = substate === undefined ? phase : `${phase} (${substate})`;
  if (phase === 'Finished') return paint.green(words);
  return phase === 'Error' ? paint.red(words) : paint.cyan(words);
}

function conflictLines({ conflict, uuid }: EntryDocument, line: Line): string[] {
  if (conflict === undefined) return [];
  const options = conflict.options.map(({ decision, effect }) => ({ flag: `--decision ${decision}`, effect }));
  const width = Math.max(0, ...options.map(({ flag }) => flag.length));
  return [
    ...line('reason', `${conflict.code}: ${conflict.what}`),
    ...line('wanted', conflict.expected),
    ...line('found', conflict.found),
    ...options.flatMap(({ flag, effect }, place) =>
      line(place === 0 ? 'options' : '', `${flag.padEnd(width)}   ${effect}`),
    ),
    ...resolveCommands(uuid, conflict.options).flatMap((command, place) => line(place === 0 ? 'next' : '', command)),
  ];
}

/** Ready to paste. */
export function resolveCommands(uuid: string, options: readonly { readonly decision: string }[]): string[] {
  return options.map(({ decision }) => `vmflow queue resolve ${uuid} --decision ${decision}`);
}

/** `pass 2: 3.2 GiB of 10 GiB (32%), 120 MiB/s, done in 1 min to in 2 min, attempt 2`. */
export function copyText(session: Session, copy: CopyView | undefined): string | undefined {
  if (copy === undefined) return undefined;
  const { pass, phase, attempt, bytesDone, bytesTotal, bytesPerSecond, eta, lastFailure } = copy;
  const share = bytesDone === undefined || !bytesTotal ? '' : ` (${percent(bytesDone / bytesTotal)})`;
  const done =
    bytesDone === undefined || bytesTotal === undefined
      ? 'no progress reported yet'
      : `${formatBytes(bytesDone)} of ${formatBytes(bytesTotal)}${share}`;
  const again =
    attempt > 1 ? `, attempt ${String(attempt)}${lastFailure === undefined ? '' : ` after: ${lastFailure}`}` : '';
  const pace = bytesPerSecond === undefined ? '' : `, ${formatBytes(bytesPerSecond)}/s`;
  const end = etaText(session, defined({ eta }));
  return `pass ${String(pass)}: ${phase === 'verifying' ? 'compared ' : ''}${done}${pace}${end === undefined ? '' : `, done ${end}`}${again}`;
}

function riskText(session: Session, { committed, atRisk, window, deadline }: EntryDocument): string | undefined {
  if (committed !== true && atRisk !== true) return undefined;
  const end = deadline === undefined ? '' : `, which ends ${sinceText(session, deadline)}: then it is rolled back`;
  return `its source is switched off, or about to be${window === undefined ? '' : ` (window ${window}${end})`}`;
}

function placementLines({ placement }: EntryDocument, line: Line): string[] {
  if (placement === undefined) return [];
  const pools = [...new Set(Object.values(placement.storage_pools))].join(', ');
  const networks = [...new Set(Object.values(placement.networks).map(({ network }) => network))].join(', ');
  const power = placement.running ? 'started at the end' : 'left off at the end';
  return line('goes to', `pools ${pools || 'none'}; networks ${networks || 'none'}; ${power}`);
}

function timelineLines(session: Session, { timeline = [] }: EntryDocument, line: Line): string[] {
  return timeline.flatMap(({ at, status, message }, place) =>
    line(place === 0 ? 'so far' : '', `${sinceText(session, at)}  ${status}: ${message}`),
  );
}
