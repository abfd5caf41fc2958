import type { RequestMigrationResult } from '../../workflows/contracts/hibernate.ts';
import type { ConflictOption } from '../../workflows/contracts/conflict.ts';
import type { WaitEnd } from '../execution/wait.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { handoverLines, handoverOf, pauseText, type Handover } from '../migrate/handover.ts';
import { optionTexts } from '../migrate/render.ts';
import { omit } from '../objects.ts';
import { labelled } from '../output/error.ts';
import type { Column } from '../output/table.ts';
import type { Session } from '../session.ts';

/** What came of one request to move a set: that it is under way, or how it ended. */
export interface MoveItem {
  readonly namespace: string;
  readonly set: string;
  readonly from?: string;
  readonly to?: string;
  readonly result:
    | 'requested'
    | 'in-progress'
    | RequestMigrationResult['outcome']
    | 'conflict'
    | 'reached'
    | 'timeout'
    | 'interrupted';
  readonly handover?: Handover;
  readonly reason?: string;
  readonly message?: string;
  readonly options?: readonly ConflictOption[];
  /** Of the migration. */
  readonly id: string;
  readonly link?: string;
  readonly exit: ExitCode;
}

type Base = Omit<MoveItem, 'result' | 'exit'>;

const exits: Readonly<Record<RequestMigrationResult['outcome'], ExitCode>> = {
  migrated: exitCodes.ok.code,
  'already-there': exitCodes.ok.code,
  'would-migrate': exitCodes.ok.code,
  refused: exitCodes.refused.code,
  changed: exitCodes.cancelled.code,
  aborted: exitCodes.cancelled.code,
  setDeleted: exitCodes.cancelled.code,
  parked: exitCodes.cancelled.code,
};

/** `seen`: digest that the migration showed while it ran. */
export function itemOfResult(base: Base, result: RequestMigrationResult, seen?: string): MoveItem {
  const { outcome, from, to, message, migration } = result;
  const handover = outcome === 'migrated' ? handoverOf(migration, seen) : undefined;
  return {
    ...base,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(handover === undefined ? {} : { handover }),
    ...{ result: outcome, message, exit: exits[outcome] },
  };
}

/** For a wait that is over before the request is. */
export function itemOfEnd(base: Base, end: WaitEnd): MoveItem {
  switch (end.kind) {
    case 'conflict': {
      const { code, what, options } = end.conflict;
      return { ...base, result: 'conflict', reason: code, message: what, options, exit: exitCodes.refused.code };
    }
    case 'timeout':
      return {
        ...base,
        result: 'timeout',
        message: '--timeout reached, the work goes on',
        exit: exitCodes.timeout.code,
      };
    case 'interrupted':
      return { ...base, result: 'interrupted', message: 'the work goes on', exit: exitCodes.interrupted.code };
    case 'reached':
    case 'ended':
      return { ...base, result: 'reached', exit: exitCodes.ok.code };
  }
}

export async function printMoves(session: Session, items: readonly MoveItem[]): Promise<void> {
  const [only] = items;
  await session.print<MoveItem>({
    kind: 'MigrationRequestList',
    document: { items: items.map((item) => omit(item, 'exit')) },
    ...(items.length === 1 && only !== undefined ? { text: textOf(session, only) } : { rows: items, columns }),
    names: items.map(({ namespace, set }) => `${namespace}/${set}`),
    ids: items.map(({ id }) => id),
  });
}

const columns: readonly Column<MoveItem>[] = [
  { header: 'SET', cell: ({ namespace, set }) => `${namespace}/${set}` },
  { header: 'RESULT', cell: ({ result }) => result },
  { header: 'FROM', cell: ({ from }) => from },
  { header: 'TO', cell: ({ to }) => to },
  {
    header: 'PAUSED',
    cell: ({ handover }) => (handover?.downtimeMs === undefined ? undefined : pauseText(handover.downtimeMs)),
  },
  { header: 'MESSAGE', cell: ({ message }) => message, cut: true },
  { header: 'LINK', cell: ({ link }) => link, wide: true },
];

/** One request for people: what came of it, the hand-over, what to do next. Ends with a newline. */
function textOf(session: Session, item: MoveItem): string {
  const { namespace, set, result, handover, options = [], link } = item;
  const line = (label: string, text: string): string => labelled(label, text, session.paint);
  const where = `${set} -n ${namespace}`;
  const isOpen = ['requested', 'in-progress', 'conflict', 'reached', 'timeout', 'interrupted', 'parked'].includes(
    result,
  );
  return [
    `${namespace}/${set}: ${headline(item)}`,
    ...(handover === undefined ? [] : handoverLines(handover, item, session.paint)),
    ...optionTexts(options, { namespace, name: set }).map((text, place) => line(place === 0 ? 'options' : '', text)),
    ...(isOpen ? [line('watch', `vmflow set watch ${where}`)] : []),
    ...(link === undefined || result === 'would-migrate' || result === 'already-there'
      ? []
      : [line('link', session.showLink(link))]),
    '',
  ].join('\n');
}

function headline({ result, from, to, message = '', reason }: MoveItem): string {
  const route = `${from === undefined ? '' : ` from ${from}`}${to === undefined ? '' : ` to ${to === '' ? 'any node' : to}`}`;
  switch (result) {
    case 'requested':
      return `move${route} requested`;
    case 'in-progress':
      return `a move${to === undefined ? '' : ` to ${to}`} is already in progress`;
    case 'migrated':
      return `moved${route}`;
    case 'would-migrate':
      return `would move${route} (dry run, nothing was changed)${message === '' ? '' : `: ${message}`}`;
    case 'reached':
      return `move${route}: reached`;
    case 'conflict':
      return `needs a person, ${reason ?? ''}: ${message}`;
    default:
      return `${result}${message === '' ? '' : `: ${message}`}`;
  }
}
