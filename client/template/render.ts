import type { Conflict } from '../../workflows/contracts/conflict.ts';
import type { WaitingFor } from '../../workflows/contracts/status.ts';
import { whyOf } from '../causes.ts';
import { formatDuration } from '../durations.ts';
import type { Paint } from '../output/colors.ts';
import { labelled } from '../output/error.ts';
import { renderSteps } from '../output/steps.ts';
import { formatBytes, formatSince, formatTime, type TimeStyle } from '../output/units.ts';
import { isOver } from './outcome.ts';
import type { TemplateView, TransferView } from './view.ts';

export interface RenderOptions {
  readonly paint: Paint;
  readonly time: TimeStyle;
  readonly now: Date;
  readonly showLink: (url: string) => string;
}

const waitingWords: Readonly<Record<WaitingFor, string>> = {
  person: 'a decision by a person',
  window: 'its window',
  slot: 'a free slot',
  capacity: 'space or capacity',
  'far-side': 'the far side',
  superseded: 'the operation it replaces',
};

/** One template for people: headline, steps, what is waited for, what to do next, link. Ends with a newline. */
export function renderTemplate(view: TemplateView, options: RenderOptions): string {
  const { paint } = options;
  const line = (label: string, text: string | undefined): string[] =>
    text === undefined || text === '' ? [] : [labelled(label, text, paint)];
  const lines = [
    headline(view, options),
    ...(view.conflict === undefined ? reasonLines(view, line) : conflictLines(view.conflict, line)),
    ...renderSteps(view.steps, paint, view.transfer === undefined ? undefined : transferText(view.transfer, options)),
    ...(view.steps.length === 0 && view.transfer !== undefined
      ? line('transfer', transferText(view.transfer, options))
      : []),
    ...line('waiting', waitingText(view, options)),
    ...line('risk', absentText(view, options)),
    ...line('kept', keptText(view, options)),
    ...(view.warnings ?? []).flatMap((warning) => line('warning', warning)),
    ...resultLines(view, line),
    ...line(
      'note',
      view.answeredBy === 'server' ? 'no worker can answer; this is what Temporal recorded last' : undefined,
    ),
    ...nextCommands(view).flatMap((command, i) => line(i === 0 ? 'next' : '', command)),
    ...line('link', options.showLink(view.link)),
  ];
  return `${lines.join('\n')}\n`;
}

function headline(view: TemplateView, options: RenderOptions): string {
  const since = view.since ?? view.closedAt ?? view.startedAt;
  // After a way back the version in use is no longer the one that was wanted.
  const version = view.phase === 'Undone' ? view.result?.prod?.version : view.target?.version;
  const target = version === undefined ? '' : `${version} `;
  const where = view.vcenter === '' ? '' : `on ${view.vcenter} ${view.folder}`;
  const phase = paintPhase(view.phase, options.paint);
  return `${options.paint.bold(view.name)}   ${phase} since ${formatSince(since, options.time, options.now)}   ${target}${where}`.trimEnd();
}

/** Phases in the look of states: what needs a person stands out. */
export function paintPhase(phase: string, paint: Paint): string {
  if (phase === 'Conflict') return paint.yellow(phase.toUpperCase());
  if (['Failed', 'Terminated', 'TimedOut'].includes(phase)) return paint.red(phase);
  return ['Completed', 'Keeping', 'Undone'].includes(phase) ? paint.green(phase) : paint.cyan(phase);
}

type Line = (label: string, text: string | undefined) => string[];

function reasonLines(view: TemplateView, line: Line): string[] {
  const reason = view.reason === view.phase ? undefined : view.reason;
  const failure = view.failure?.message;
  const details = view.failure?.details;
  return [
    ...line(reason === undefined ? 'now' : 'reason', [reason, view.message ?? failure].filter(hasText).join(': ')),
    ...line('failure', view.message === undefined || view.message === failure ? undefined : failure),
    ...line('why', whyOf(details)),
    ...line('remedy', details?.next),
  ];
}

function hasText(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}

function conflictLines(conflict: Conflict, line: Line): string[] {
  const width = Math.max(0, ...conflict.options.map((option) => option.decision.length));
  return [
    ...line('reason', conflict.what.startsWith(conflict.code) ? conflict.what : `${conflict.code}: ${conflict.what}`),
    ...line('wanted', conflict.expected),
    ...line('found', conflict.found),
    ...conflict.options.flatMap((option, i) =>
      line(i === 0 ? 'options' : '', `--decision ${option.decision.padEnd(width)}   ${option.effect}`),
    ),
  ];
}

/** Phases of a transfer in words; those of other steps are words already. */
const phaseWords: Readonly<Record<string, string>> = {
  source: 'reading the OVA',
  cleanup: 'removing what an interrupted attempt left',
  spec: 'asking vCenter how to import it',
  lease: 'waiting until vCenter is ready for the upload',
  completing: 'completing the import',
  completed: 'imported',
  'waiting-for-lease': 'waiting for the lease of an interrupted attempt to end',
};

/** Bytes, rate, time left; or what is waited for between two attempts. */
export function transferText(transfer: TransferView, options: Pick<RenderOptions, 'time' | 'now'>): string {
  const { sentBytes, totalBytes, rate, secondsLeft, stalledMs } = transfer;
  const percent =
    sentBytes !== undefined && totalBytes ? ` (${String(Math.floor((sentBytes / totalBytes) * 100))} %)` : '';
  const parts = [
    ...(transfer.waitingFor === 'vcenter' ? ["vCenter doesn't answer, trying again"] : phaseText(transfer)),
    ...(sentBytes === undefined
      ? []
      : [`${formatBytes(sentBytes)}${totalBytes === undefined ? '' : ` of ${formatBytes(totalBytes)}`}${percent}`]),
    ...(stalledMs !== undefined
      ? [`stalled for ${formatDuration(stalledMs)}, lease kept alive`]
      : rate === undefined
        ? []
        : [`${formatBytes(rate)}/s`]),
    ...(secondsLeft === undefined || stalledMs !== undefined ? [] : [`${formatDuration(secondsLeft * 1000)} left`]),
    ...(transfer.attempt > 1 ? [attemptText(transfer)] : []),
    ...(transfer.nextAttemptAt === undefined
      ? []
      : [`next attempt ${formatTime(transfer.nextAttemptAt, options.time, options.now)}`]),
    ...(transfer.attempt > 1 && transfer.lastFailure !== undefined ? [`last failure: ${transfer.lastFailure}`] : []),
  ];
  return parts.join(', ');
}

function phaseText({ phase }: TransferView): string[] {
  return phase === undefined || phase === 'uploading' ? [] : [phaseWords[phase] ?? phase];
}

function attemptText({ activity, attempt, maxAttempts }: TransferView): string {
  const of = maxAttempts === undefined ? '' : ` of ${String(maxAttempts)}`;
  return `attempt ${String(attempt)}${of}${activity === 'importToTemp' ? ", starts over (NFC can't resume)" : ''}`;
}

/** For what, since when, until when. What ends it stands under `next`. */
function waitingText(view: TemplateView, { time, now }: RenderOptions): string | undefined {
  if (view.waitingFor === undefined) return undefined;
  const since = view.since === undefined ? '' : ` since ${formatSince(view.since, time, now)}`;
  const until = view.deadline === undefined ? 'no deadline' : `until ${formatSince(view.deadline, time, now)}`;
  const command = endingCommand(view);
  return `for ${waitingWords[view.waitingFor]}${since}, ${until}${command === undefined ? '' : `; ends with: ${command}`}`;
}

/** The command that ends the current wait. */
function endingCommand(view: TemplateView): string | undefined {
  const commands = nextCommands(view);
  return commands.find((command) => /\b(?:resolve|retry|prune)\b/.test(command)) ?? commands.at(-1);
}

function absentText(view: TemplateView, { time, now }: RenderOptions): string | undefined {
  return view.prodAbsentSince === undefined
    ? undefined
    : `no template has the name "${view.name}" since ${formatSince(view.prodAbsentSince, time, now)}`;
}

function keptText(view: TemplateView, { time, now }: RenderOptions): string | undefined {
  if (view.keptUntil === undefined || view.phase !== 'Keeping') return undefined;
  const version = view.previous?.version ?? 'the previous version';
  return `${version} can be brought back until ${formatSince(view.keptUntil, time, now)}`;
}

function resultLines(view: TemplateView, line: Line): string[] {
  const { result } = view;
  if (result === undefined) return [];
  const plan = result.plan;
  if (plan !== undefined) return planLines(plan, line);
  const facts = [
    result.outcome,
    ...(result.prod === undefined ? [] : [`in use ${result.prod.version ?? 'unknown version'} (${result.prod.moRef})`]),
    ...(result.previous === undefined ? [] : [`before ${result.previous.version ?? 'unknown version'}`]),
    ...(result.gapMs === undefined ? [] : [`without the name for ${String(result.gapMs)} ms`]),
    ...(result.uploadedBytes === 0 ? [] : [`${formatBytes(result.uploadedBytes)} uploaded`]),
  ];
  return line('result', facts.join(', '));
}

function planLines(plan: NonNullable<NonNullable<TemplateView['result']>['plan']>, line: Line): string[] {
  return [
    ...line('row', plan.row),
    ...plan.actions.flatMap((action, i) => line(i === 0 ? 'plan' : '', `${String(i + 1)}. ${action}`)),
    ...(plan.actions.length === 0 && plan.problem === undefined ? line('plan', 'nothing to do') : []),
    ...line('problem', plan.problem),
  ];
}

/** Commands to paste: the workflow's own, else those that always work. */
export function nextCommands(view: TemplateView): readonly string[] {
  if (view.next.length > 0) return view.next;
  const { conflict } = view;
  if (conflict !== undefined && conflict.options.length > 0) {
    return conflict.options.map(
      ({ decision }) => `vmflow template resolve ${quote(view.name)} --decision ${decision} --reason "..."`,
    );
  }
  return !isOver(view)
    ? [`vmflow template watch ${quote(view.name)}`, `vmflow template cancel ${quote(view.name)}`]
    : [];
}

/** A name as one word of a shell command. */
export function quote(name: string): string {
  return /^[\w@%+=:,./-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}
