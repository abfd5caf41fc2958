import type { AgentInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { migrationLines, paintStep, routeText } from '../migrate/render.ts';
import { sinceText } from '../op/render.ts';
import type { Paint } from '../output/colors.ts';
import { labelled } from '../output/error.ts';
import { renderTable, type Column } from '../output/table.ts';
import type { Session } from '../session.ts';
import { shownPhase } from './list.ts';
import type { SetView } from './view.ts';

/** One set for people: where it is and should be, its VMs, conditions, what is under way, what to do next. Ends with a newline. */
export function renderSet(session: Session, view: SetView, paint: Paint = session.paint): string {
  const line = (label: string, text: string | undefined): string[] =>
    text === undefined || text === '' ? [] : [labelled(label, text, paint)];
  const lines = [
    headline(view, paint),
    ...line('image', view.image),
    ...agentLines(view.agents),
    ...conditionLines(session, view, paint),
    ...line('sleep', hibernationText(view)),
    ...line('record', recordText(session, view)),
    ...openLines(session, view, paint),
    ...view.next.flatMap((command, place) => line(place === 0 ? 'next' : '', command)),
    ...line('link', session.showLink(view.migration?.link ?? view.link)),
  ];
  return `${lines.join('\n')}\n`;
}

function headline(view: SetView, paint: Paint): string {
  const { namespace, name, node, target, readyAgents, desiredAgents, suspend } = view;
  const at = node === undefined ? '' : ` on ${node}`;
  const wanted = target === undefined ? 'wanted anywhere' : target === node ? 'wanted there' : `wanted on ${target}`;
  const ready = `${String(readyAgents)}/${String(desiredAgents)} ready`;
  const sleep = suspend === true ? '   suspended' : '';
  return `${paint.bold(`${namespace}/${name}`)}   ${paintPhase(shownPhase(view), paint)}${at}, ${wanted}   ${ready}${sleep}`;
}

function paintPhase(phase: string, paint: Paint): string {
  if (phase === 'Failed') return paint.red(phase);
  return phase === 'Running' ? paint.green(phase) : paint.cyan(phase);
}

const agentColumns: readonly Column<AgentInfo>[] = [
  { header: 'SLOT', cell: ({ slot }) => String(slot) },
  { header: 'ROLE', cell: ({ role }) => role },
  { header: 'POD', cell: ({ podName }) => podName },
  { header: 'VM', cell: ({ vmName }) => vmName },
  { header: 'VM-ID', cell: ({ vmId }) => vmId },
  { header: 'IP', cell: ({ ip }) => ip },
  { header: 'PHASE', cell: ({ phase }) => phase },
];

function agentLines(agents: readonly AgentInfo[]): string[] {
  if (agents.length === 0) return [];
  const table = renderTable(agents, agentColumns, { headers: true });
  return [
    '  agents',
    ...table
      .trimEnd()
      .split('\n')
      .map((row) => `    ${row}`),
  ];
}

function conditionLines(session: Session, { conditions }: SetView, paint: Paint): string[] {
  return conditions.map(({ type, status, reason, message, lastTransitionTime }, place) => {
    const said = message === '' ? '' : `: ${message}`;
    const text = `${type}=${status} ${reason}${said} (since ${sinceText(session, lastTransitionTime)})`;
    return labelled(place === 0 ? 'says' : '', text, paint);
  });
}

function hibernationText({ hibernation }: SetView): string | undefined {
  if (hibernation === undefined) return undefined;
  return `a CocoonHibernation wants its main VM to ${hibernation.desire === 'Wake' ? 'run' : 'sleep'}: ${hibernation.phase ?? 'New'}`;
}

function recordText(session: Session, { record }: SetView): string | undefined {
  if (record === undefined) return undefined;
  const { from, to, sourceVMID, stage, stageAt, snapshotDigest } = record;
  const digest = snapshotDigest === undefined ? '' : `, snapshot ${snapshotDigest}`;
  const vm = sourceVMID === '' ? '' : `, VM ${sourceVMID}`;
  return `${from} → ${to || 'any node'}, ${stage} since ${sinceText(session, stageAt)}${vm}${digest}`;
}

function openLines(session: Session, { migration }: SetView, paint: Paint): string[] {
  if (migration === undefined) return [];
  const since = sinceText(session, migration.since ?? migration.startedAt);
  return [
    labelled('moving', `${paintStep(migration, paint)} since ${since}   ${routeText(migration)}`.trimEnd(), paint),
    ...migrationLines(session, migration, paint),
  ];
}
