import type { Step, StepState } from '../contracts/status.ts';
import type { TemplateSwapStatus } from '../contracts/template.ts';
import { code, lines, moment, pane, plain, table } from '../domain/markdown.ts';
import type { ObservedVm } from '../domain/template/observation.ts';
import { waitsFor } from '../shared/pane-parts.ts';
import { whatToDo } from './what-to-do.ts';

const mark: Readonly<Record<StepState, string>> = { done: '✓', active: '●', pending: '○', skipped: '–', failed: '✗' };

/** What a deadline brings, by status word. */
const afterDeadline: Readonly<Record<string, string>> = {
  Conflict: 'then the swap fails',
  WaitingForSpace: 'then it tries again by itself',
  Keeping: 'then the previous template is destroyed',
};

/** As many as a person reads; the result has them all. */
const shownWarnings = 20;

/** The Web UI's details pane in Markdown: a person must understand the swap from it alone. What to do comes first. */
export function detailsOf(status: TemplateSwapStatus): string {
  return pane([
    headline(status),
    risk(status),
    why(status),
    whatToDo(status),
    steps(status),
    world(status),
    facts(status),
    warnings(status),
  ]);
}

function headline({ status, waitingFor, progress = 0, since, deadline }: TemplateSwapStatus): string {
  const waiting = waitingFor === undefined ? [] : [waitsFor[waitingFor]];
  return lines([
    [`**${status}**`, ...waiting, `${Math.round(progress * 100)} %`].join(' · '),
    [`since ${moment(since)}`, ...until(status, deadline, waitingFor !== undefined)].join(' · '),
  ]);
}

function until(status: string, deadline: string | undefined, isWaiting: boolean): string[] {
  if (deadline === undefined) return isWaiting ? ['no deadline'] : [];
  const then = afterDeadline[status];
  return [`until ${moment(deadline)}${then === undefined ? '' : `, ${then}`}`];
}

function risk({ prodAbsentSince, names }: TemplateSwapStatus): string {
  if (prodAbsentSince === undefined) return '';
  return `**No object has the name ${code(names.prod)} since ${moment(prodAbsentSince)}.** It is being given back at once, again and again.`;
}

/** Why it stands where it stands. The details of a conflict say so themselves. */
function why({ status, message, failure, conflict }: TemplateSwapStatus): string {
  if (conflict !== undefined) return '';
  if (status === 'Cancelled') return 'Cancelled before the new template was swapped in.';
  if (failure !== undefined) return whyItFailed(failure);
  const progress = status === 'Importing' ? ' How far the upload is: tab *Pending Activities*, heartbeat details.' : '';
  return `${sentence(message)}${progress}`;
}

function whyItFailed({ type, message, details }: NonNullable<TemplateSwapStatus['failure']>): string {
  const found = details?.facts?.['found'];
  const second = details?.secondary?.message;
  return [
    `### Why: ${details?.code ?? type}`,
    sentence(message),
    ...(found === undefined ? [] : [`found: ${plain(String(found))}`]),
    ...(second === undefined ? [] : [`The way back failed too: ${sentence(second)}`]),
  ].join('\n\n');
}

function sentence(text: string): string {
  return `${plain(text).replace(/\.$/, '')}.`;
}

function steps(status: TemplateSwapStatus): string {
  return `### Steps\n\n${lines(status.steps.map(stepLine))}`;
}

/** One line of a step list. */
export function stepLine({ state, title, detail }: Step): string {
  return `${mark[state]} ${plain(title)} (${[state, ...(detail === undefined ? [] : [plain(detail)])].join(': ')})`;
}

/** What stood under the three names when they were last looked at. */
function world({ names, observed }: TemplateSwapStatus): string {
  if (observed === undefined) return '';
  const row = (role: 'prod' | 'temp' | 'rollback', title: string): string[] => [
    title,
    code(names[role]),
    inWords(observed[role]),
  ];
  return `### Names\n\n${table(
    ['', 'name', 'last seen there'],
    [row('prod', 'in use'), row('temp', 'new'), row('rollback', 'previous')],
  )}`;
}

function inWords(vm: ObservedVm | undefined): string {
  if (vm === undefined) return 'nothing';
  const kind = vm.isTemplate ? 'template' : vm.poweredOff ? 'VM' : 'powered-on VM';
  return plain(`${kind} ${vm.ref.value}, ${vm.version === undefined ? 'version unknown' : `version ${vm.version}`}`);
}

function facts(status: TemplateSwapStatus): string {
  const rows = [
    ['wanted', `version ${plain(status.target.version)}, digest ${status.target.sha256.slice(0, 12)}…`],
    ['outcome', status.result?.outcome],
    [
      'before this swap',
      status.previous && `${status.previous.moRef} (${plain(status.previous.version ?? 'version unknown')})`,
    ],
    ['without the name', status.gapMs === undefined ? undefined : `${Math.round(status.gapMs)} ms`],
    ['previous kept until', status.keptUntil && moment(status.keptUntil)],
    ['upload attempts', status.uploadAttempt === undefined ? undefined : `${status.uploadAttempt}`],
    ['row of the state table', status.row],
  ].filter((row): row is [string, string] => row[1] !== undefined);
  return lines(rows.map(([name, value]) => `${name}: ${value}`));
}

function warnings({ warnings: all }: TemplateSwapStatus): string {
  if (all.length === 0) return '';
  const more = all.length > shownWarnings ? [`and ${all.length - shownWarnings} more`] : [];
  return `### Warnings\n\n${[...all.slice(0, shownWarnings).map(plain), ...more].map((text) => `- ${text}`).join('\n')}`;
}
