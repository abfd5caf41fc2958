import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import type { MigrationView } from '../../workflows/contracts/batch.ts';
import { isApiName } from '../../workflows/domain/batch/effective.ts';
import type { EntryStatus } from '../../workflows/domain/batch/records.ts';
import { usageError } from '../errors.ts';
import type { ExecutionView } from '../gateway.ts';
import { defined } from '../objects.ts';
import { naturally } from '../output/names.ts';
import type { Session } from '../session.ts';

/** One VM of a batch as Temporal has recorded it. */
export interface EntryRow {
  readonly id: string;
  readonly runId: string;
  readonly vm: string;
  /** Instance uuid of the source VM. */
  readonly uuid: string;
  readonly batch: string;
  /** Status of the entry. */
  readonly phase: string;
  readonly execution: ExecutionView['state'];
  readonly progress?: number;
  readonly waitingFor?: string;
  readonly conflict?: string;
  /** Its source is switched off, or about to be. */
  readonly atRisk?: boolean;
  /** End of its window, while it is at risk. */
  readonly deadline?: string;
  readonly source?: string;
  /** `target/project` */
  readonly target?: string;
  /** Only where the workflow was asked. */
  readonly window?: string;
  readonly message?: string;
  readonly since?: string;
  readonly link: string;
}

export interface EntryFilter {
  readonly batch?: string | undefined;
  /** Of the VM. */
  readonly name?: string | undefined;
  /** Those that are over too. */
  readonly isClosedToo?: boolean;
  /** Only those that move or need a person. */
  readonly isMoving?: boolean;
}

/** Entries that are asked for at most. */
const mostListed = 10_000;
/** The same for a screen. */
const mostMoving = 200;

/** Statuses in which something is done, or somebody has to do something. */
const moving: readonly EntryStatus[] = [
  'Conflict',
  'Error',
  'Creating new VM',
  'Performing background import tasks',
  'Performing final import tasks',
  'Performing post-import tasks',
  'Worker tasks complete',
];

/** Entries by what Temporal has recorded of them. Needs no worker. */
export async function entriesIn(session: Session, filter: EntryFilter): Promise<readonly EntryRow[]> {
  const kind: OperationKind = 'migration';
  const conditions = [
    `${searchKeys.kind.name} = '${kind}'`,
    ...(filter.batch === undefined ? [] : [`${searchKeys.batch.name} = '${quotable(filter.batch, 'batch')}'`]),
    ...(filter.name === undefined ? [] : [`${searchKeys.vm.name} = '${quotable(filter.name, 'VM')}'`]),
    ...(filter.isClosedToo === true ? [] : ["ExecutionStatus = 'Running'"]),
    ...(filter.isMoving === true
      ? [`(${searchKeys.status.name} IN (${moving.map(quoted).join(', ')}) OR ${searchKeys.atRisk.name} = true)`]
      : []),
  ];
  const most = filter.isMoving === true ? mostMoving : mostListed;
  const executions = await (await session.gateway()).list(conditions.join(' AND '), most);
  // A long migration is several runs: the last one tells.
  const last = executions.filter(({ state }) => state !== 'continued');
  return await Promise.all(last.map((execution) => entryOf(session, execution)));
}

function quoted(text: string): string {
  return `'${text}'`;
}

/** A name that can't break out of the quotes of a list filter. */
function quotable(name: string, what: string): string {
  if (isApiName(name)) return name;
  throw usageError(`"${name}" is no name of a ${what}`);
}

/** One of them. */
export async function entryOf(session: Session, execution: ExecutionView): Promise<EntryRow> {
  const { workflowId, runId, state, attributes } = execution;
  const text = (key: keyof typeof searchKeys): string | undefined => {
    const value = attributes[searchKeys[key].name];
    return typeof value === 'string' ? value : undefined;
  };
  const progress = attributes[searchKeys.progress.name];
  const deadline = attributes[searchKeys.deadline.name];
  const uuid = workflowId.split('/')[1] ?? '';
  return {
    ...{ id: workflowId, runId, uuid, execution: state },
    vm: text('vm') ?? uuid,
    batch: text('batch') ?? '',
    phase: text('status') ?? 'Started',
    ...defined({
      progress: typeof progress === 'number' ? progress : undefined,
      waitingFor: text('waitingFor'),
      conflict: text('conflict'),
      atRisk: attributes[searchKeys.atRisk.name] === true ? true : undefined,
      deadline: deadline instanceof Date ? deadline.toISOString() : text('deadline'),
      source: text('source'),
      target: text('target'),
    }),
    link: await session.link(workflowId, runId),
  };
}

/** Conflicts first, then what has its source off, then by batch and name. */
export function sortEntries(rows: readonly EntryRow[]): EntryRow[] {
  const rank = ({ conflict, atRisk, phase }: EntryRow): number => {
    if (conflict !== undefined) return 0;
    if (phase === 'Error') return 1;
    return atRisk === true ? 2 : 3;
  };
  return [...rows].sort(
    (a, b) =>
      rank(a) - rank(b) ||
      naturally.compare(a.batch, b.batch) ||
      naturally.compare(a.vm, b.vm) ||
      (a.uuid < b.uuid ? -1 : 1),
  );
}

/** What the workflow itself says of the row. */
export function withView(row: EntryRow, view: MigrationView | undefined): EntryRow {
  if (view === undefined) return row;
  const { entryStatus, message, since, window } = view;
  return { ...row, phase: entryStatus, message, since, ...defined({ window }) };
}
