import type { StepState } from '../contracts/status.ts';
import type { TemplateSwapStatus } from '../contracts/template.ts';

const mark: Readonly<Record<StepState, string>> = { done: '✓', active: '●', pending: '○', skipped: '–', failed: '✗' };

/** The Web UI's details pane in Markdown: a person must understand the swap from it alone. */
export function detailsOf(status: TemplateSwapStatus): string {
  return [
    headline(status),
    risk(status),
    conflict(status),
    steps(status),
    facts(status),
    warnings(status),
    next(status),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function headline(status: TemplateSwapStatus): string {
  const until = status.deadline === undefined ? '' : ` · until ${status.deadline}`;
  const percent = Math.round((status.progress ?? 0) * 100);
  const why = status.failure === undefined ? status.message : status.failure.message;
  return `**${status.status}** · ${percent} % · since ${status.since}${until}\n\n${why}`;
}

function risk(status: TemplateSwapStatus): string {
  if (status.prodAbsentSince === undefined) return '';
  return `**No object has the name \`${status.names.prod}\` since ${status.prodAbsentSince}.** It is being given back at once, again and again.`;
}

function conflict(status: TemplateSwapStatus): string {
  const open = status.conflict;
  if (open === undefined) return '';
  const rows = open.options.map(({ decision, effect }) => `| \`${decision}\` | ${effect} |`);
  const body = `{ "conflictId": "${open.id}", "decision": "${open.options[0]?.decision ?? 'retry'}", "by": "your name" }`;
  return [
    `### Conflict ${open.code}`,
    open.what,
    `expected: ${open.expected}\n\nfound: ${open.found}`,
    ['| decision | effect |', '| --- | --- |', ...rows].join('\n'),
    `Decide here with *Send an Update* (or *Signal*), name \`resolve\`, input:\n\n\`\`\`json\n${body}\n\`\`\``,
  ].join('\n\n');
}

function steps(status: TemplateSwapStatus): string {
  return status.steps.map((step) => `- ${mark[step.state]} ${step.title} (${step.state})`).join('\n');
}

function facts(status: TemplateSwapStatus): string {
  const rows = [
    ['wanted', `version ${status.target.version}, digest ${status.target.sha256.slice(0, 12)}…`],
    ['names', `\`${status.names.prod}\` ← \`${status.names.temp}\`, old one to \`${status.names.rollback}\``],
    ['state table row', status.row],
    [
      'previous',
      status.previous === undefined
        ? undefined
        : `${status.previous.moRef} (${status.previous.version ?? 'version unknown'})`,
    ],
    ['without the name', status.gapMs === undefined ? undefined : `${Math.round(status.gapMs)} ms`],
    ['previous kept until', status.keptUntil],
  ].filter((row): row is [string, string] => row[1] !== undefined);
  return rows.map(([name, value]) => `- ${name}: ${value}`).join('\n');
}

function warnings(status: TemplateSwapStatus): string {
  return status.warnings.length === 0 ? '' : `### Warnings\n\n${status.warnings.map((text) => `- ${text}`).join('\n')}`;
}

function next(status: TemplateSwapStatus): string {
  return status.next.length === 0 ? '' : `### Next\n\n\`\`\`\n${status.next.join('\n')}\n\`\`\``;
}
