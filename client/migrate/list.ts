import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExecutionView } from '../gateway.ts';
import { defined } from '../objects.ts';
import { ageOf } from '../op/list.ts';
import type { Session } from '../session.ts';
import { kubeNamespace, type PlaceFlags } from '../vm/place.ts';
import { textOf } from './view.ts';

export interface ListFlags extends PlaceFlags {
  readonly active?: boolean;
  readonly allNamespaces?: boolean;
}

/** One row of `migrate list`. */
export interface MigrationRow {
  readonly id: string;
  readonly runId: string;
  readonly namespace: string;
  readonly set: string;
  readonly step: string;
  readonly execution: ExecutionView['state'];
  readonly source?: string;
  readonly target?: string;
  readonly waitingFor?: string;
  readonly conflict?: string;
  /** The VM doesn't run: it is in its snapshot, or on its way into or out of it. */
  readonly atRisk?: boolean;
  readonly startedAt: string;
  readonly closedAt?: string;
  readonly link: string;
}

const mostListed = 1_000;

/** `migrate list`: migrations as Temporal has recorded them, newest first. Needs no worker. */
export const listMigrations: Action<ListFlags> = async (session, _args, flags) => {
  const namespace = flags.allNamespaces === true ? undefined : kubeNamespace(session, flags);
  const kind: OperationKind = 'hibernate-migration';
  const active = flags.active === true ? " AND ExecutionStatus = 'Running'" : '';
  const gateway = await session.gateway();
  const executions = await gateway.list(`${searchKeys.kind.name} = '${kind}'${active}`, mostListed);
  // A long migration is several runs: the last one tells.
  const runs = executions.filter(({ state }) => state !== 'continued');
  const rows = (await Promise.all(runs.map((execution) => rowOf(session, execution))))
    .filter((row) => namespace === undefined || row.namespace === namespace)
    .sort((a, b) => b.startedAt.localeCompare(a.startedAt));
  await session.print<MigrationRow>({
    kind: 'SetMigrationList',
    document: { items: rows },
    rows,
    columns: [
      { header: 'SET', cell: (row) => (namespace === undefined ? `${row.namespace}/${row.set}` : row.set) },
      { header: 'STEP', cell: ({ step }) => step },
      { header: 'FROM', cell: ({ source }) => source },
      { header: 'TO', cell: ({ target }) => target },
      { header: 'WAITING-FOR', cell: ({ conflict, waitingFor }) => conflict ?? waitingFor },
      { header: 'AGE', cell: ({ startedAt }) => ageOf(session, startedAt) },
      { header: 'AT-RISK', cell: ({ atRisk }) => (atRisk === true ? 'yes' : undefined), wide: true },
      { header: 'ID', cell: ({ id }) => id, wide: true },
      { header: 'LINK', cell: ({ link }) => link, wide: true },
    ],
    names: rows.map((row) => `${row.namespace}/${row.set}`),
    ids: rows.map(({ id }) => id),
  });
  if (rows.length === 0) session.note('no such migrations; vmflow move SET --to NODE begins one');
  return exitCodes.ok.code;
};

async function rowOf(session: Session, execution: ExecutionView): Promise<MigrationRow> {
  const { workflowId, runId, state, startedAt, closedAt, attributes } = execution;
  const [, namespace = '', set = ''] = workflowId.split('/');
  const isOpen = state === 'running';
  return {
    ...{ id: workflowId, runId, namespace, set, execution: state, startedAt },
    step: textOf(execution, 'status') ?? state,
    ...defined({
      source: textOf(execution, 'source'),
      target: textOf(execution, 'target'),
      waitingFor: isOpen ? textOf(execution, 'waitingFor') : undefined,
      conflict: isOpen ? textOf(execution, 'conflict') : undefined,
      atRisk: isOpen && attributes[searchKeys.atRisk.name] === true ? true : undefined,
      closedAt,
    }),
    link: await session.link(workflowId, runId),
  };
}
