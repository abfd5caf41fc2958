import type { MemberPhase, WindowView } from '../../workflows/contracts/batch.ts';
import { waitingText } from '../execution/progress.ts';
import { sinceText } from '../op/render.ts';
import type { Paint } from '../output/colors.ts';
import { labelled } from '../output/error.ts';
import { renderTable, type Column } from '../output/table.ts';
import { formatTime } from '../output/units.ts';
import type { Session } from '../session.ts';
import type { BatchDocument } from './view.ts';

/** One batch for people: totals, windows, constraints, members where they were asked for, what to do next. Ends with a newline. */
export function renderBatch(session: Session, view: BatchDocument, paint: Paint = session.paint): string {
  const line = (label: string, text: string | undefined): string[] =>
    text === undefined || text === '' ? [] : [labelled(label, text, paint)];
  const lines = [
    headline(session, view, paint),
    ...line('now', view.message),
    ...line('VMs', countsText(view)),
    ...line('expr', view.spec?.include_expression),
    ...windowLines(session, view, paint),
    ...constraintLines(view, paint),
    ...orderLines(view, paint),
    ...line('waiting', waitingText(session, view)),
    ...line('eta', etaText(session, view)),
    ...memberLines(view),
    ...line('note', view.answeredBy === 'server' ? 'no worker can answer; this is what Temporal recorded last' : ''),
    ...view.next.flatMap((command, place) => line(place === 0 ? 'next' : '', command)),
    ...line('link', session.showLink(view.link)),
  ];
  return `${lines.join('\n')}\n`;
}

function headline(session: Session, { name, phase, since, spec }: BatchDocument, paint: Paint): string {
  const at = since === undefined ? '' : ` since ${sinceText(session, since)}`;
  const to =
    spec === undefined ? '' : `   to ${spec.defaults.placement.target}/${spec.defaults.placement.target_project}`;
  return `${paint.bold(name)}   ${paintStatus(phase, paint)}${at}${to}`;
}

function paintStatus(phase: string, paint: Paint): string {
  if (phase === 'Finished') return paint.green(phase);
  return phase === 'Error' ? paint.red(phase) : phase === 'Stopped' ? paint.yellow(phase) : paint.cyan(phase);
}

/** How members stand, in the order in which they get there. */
const phases: readonly (readonly [MemberPhase, string])[] = [
  ['finished', 'finished'],
  ['committed', 'in their downtime'],
  ['ready', 'ready for their window'],
  ['running', 'being copied'],
  ['queued', 'waiting to be copied'],
  ['waiting', 'waiting'],
  ['blocked', 'blocked'],
  ['conflict', 'in conflict'],
  ['error', 'failed'],
  ['canceled', 'canceled'],
  ['none', 'without an entry'],
];

/** `22: 3 finished, 2 in conflict, 17 waiting`. */
export function countsText({ members, counts }: Pick<BatchDocument, 'members' | 'counts'>): string {
  const told = phases.flatMap(([phase, words]) => {
    const count = counts[phase] ?? 0;
    return count === 0 ? [] : [`${String(count)} ${words}`];
  });
  return `${members === undefined ? '' : `${String(members)}: `}${told.join(', ')}`;
}

/** From measured rates only: nothing before there are some, never a number that stands still. */
export function etaText({ flags, runtime }: Session, { eta }: Pick<BatchDocument, 'eta'>): string | undefined {
  if (eta?.earliest === undefined) return undefined;
  const time = (iso: string): string => formatTime(iso, flags.time, runtime.now());
  return eta.latest === undefined ? `${time(eta.earliest)} or later` : `${time(eta.earliest)} to ${time(eta.latest)}`;
}

function windowLines(session: Session, { windows = [] }: BatchDocument, paint: Paint): string[] {
  return windows.map((window, place) => labelled(place === 0 ? 'windows' : '', windowText(session, window), paint));
}

export function windowText(session: Session, { name, state, start, end, held, capacity }: WindowView): string {
  const time = (iso: string): string => formatTime(iso, session.flags.time, session.runtime.now());
  const when = [
    ...(start === undefined || state !== 'ahead' ? [] : [`begins ${time(start)}`]),
    ...(end === undefined ? [] : [`${state === 'over' ? 'ended' : 'ends'} ${time(end)}`]),
  ];
  const places = capacity === 0 ? `${String(held)} VMs in it` : `${String(held)} of ${String(capacity)} places taken`;
  return `${name}: ${[stateWords[state], ...when, places].join(', ')}`;
}

const stateWords: Readonly<Record<WindowView['state'], string>> = {
  ahead: 'to come',
  open: 'open',
  locked: 'takes nobody any more',
  over: 'over',
};

function constraintLines({ constraints = [] }: BatchDocument, paint: Paint): string[] {
  return constraints.map(({ name, max, held }, place) => {
    const text =
      max === 0 ? `${String(held)} in their downtime` : `${String(held)} of ${String(max)} in their downtime`;
    return labelled(place === 0 ? 'limits' : '', `${name}: ${text}`, paint);
  });
}

/** Who is ready and waits for others of the batch. */
function orderLines({ waitsForOthers = [] }: BatchDocument, paint: Paint): string[] {
  return waitsForOthers.map(({ name, why }, place) => labelled(place === 0 ? 'order' : '', `${name}: ${why}`, paint));
}

const memberColumns: readonly Column<NonNullable<BatchDocument['items']>[number]>[] = [
  { header: 'VM', cell: ({ name }) => name },
  { header: 'SOURCE', cell: ({ source }) => source },
  { header: 'PHASE', cell: ({ phase }) => (phase === 'none' ? 'no entry' : phase) },
  { header: 'WINDOW', cell: ({ window }) => window },
  { header: 'UUID', cell: ({ uuid }) => uuid },
];

function memberLines({ items }: BatchDocument): string[] {
  if (items === undefined || items.length === 0) return [];
  const table = renderTable(items, memberColumns, { headers: true }).trimEnd();
  return ['  members', ...table.split('\n').map((row) => `    ${row}`)];
}
