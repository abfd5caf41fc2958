import type { DrainNodeResult } from '../../workflows/contracts/hibernate.ts';
import type { DrainObstacle } from '../../workflows/domain/hibernate/drain.ts';
import { reasons } from '../../workflows/domain/hibernate/reasons.ts';
import { sinceText } from '../op/render.ts';
import type { Paint } from '../output/colors.ts';
import { labelled } from '../output/error.ts';
import { namesText } from '../output/names.ts';
import type { Session } from '../session.ts';
import type { DrainView, NodeView } from './view.ts';

/** One node for people: its state, the sets on it, its drain, what to do next. Ends with a newline. */
export function renderNode(session: Session, view: NodeView, paint: Paint = session.paint): string {
  const line = (label: string, text: string): string => labelled(label, text, paint);
  const { name, ready, cordoned, drainedBy, sets, drain, next } = view;
  const state = [ready ? 'ready' : 'not ready', cordoned ? 'cordoned' : 'open for VMs'].join(', ');
  const lines = [
    `${paint.bold(name)}   ${state}${drainedBy === undefined ? '' : ` (by ${drainedBy})`}`,
    line('sets', sets.length === 0 ? 'no main VM is here' : namesText(sets)),
    ...(drain === undefined ? [] : drainLines(session, drain, paint)),
    ...next.map((command, place) => line(place === 0 ? 'next' : '', command)),
    ...(drain === undefined ? [] : [line('link', session.showLink(drain.link))]),
  ];
  return `${lines.join('\n')}\n`;
}

function drainLines(session: Session, drain: DrainView, paint: Paint): string[] {
  const line = (label: string, text: string): string => labelled(label, text, paint);
  const { result, failure, execution, startedAt, deadline } = drain;
  const blocked = result?.blocked ?? drain.blocked ?? [];
  if (failure !== undefined) return [line('drain', `${paint.red('failed')}: ${failure.message}`)];
  const until = deadline === undefined ? 'no deadline' : `until ${sinceText(session, deadline)}`;
  const head =
    execution === 'running'
      ? `since ${sinceText(session, startedAt)}, ${until}: ${countsText(drain)}`
      : `${result?.outcome ?? execution}, ${String(result?.moved ?? drain.moved ?? 0)} moved`;
  return [line('drain', head), ...blockedTexts(blocked).map((text, place) => line(place === 0 ? 'stays' : '', text))];
}

/** `3 of 12 moved, 2 on their way, 1 can't move`. */
export function countsText({
  moved = 0,
  total,
  inFlight = 0,
  blocked = [],
}: Partial<Pick<DrainView, 'moved' | 'total' | 'inFlight' | 'blocked'>>): string {
  return [
    `${String(moved)}${total === undefined ? '' : ` of ${String(total)}`} moved`,
    `${String(inFlight)} on their way`,
    ...(blocked.length === 0 ? [] : [`${String(blocked.length)} can't move`]),
  ].join(', ');
}

export function blockedTexts(blocked: DrainNodeResult['blocked']): string[] {
  return blocked.map(({ set, reason }) => `${set}: ${reason}, ${obstacleText(reason)}`);
}

function obstacleText(reason: DrainObstacle): string {
  switch (reason) {
    case 'Suspended':
      return 'its VM sleeps and keeps its seat; it wakes elsewhere';
    case 'NotLive':
      return 'its VM does not run, so there is nothing to store';
    case 'NoTarget':
      return 'no other node takes it';
    case 'SetDeleted':
      return 'it is being deleted';
    default:
      return reasons[reason].says;
  }
}
