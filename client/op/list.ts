import { searchKeys } from '../../workflows/contracts/attributes.ts';
import type { VmopInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { vmOperationId } from '../../workflows/contracts/ids.ts';
import type { VmOperationMemo } from '../../workflows/contracts/vmop.ts';
import { inWords, type OperationKind } from '../../workflows/domain/vmop/matrix.ts';
import type { Action } from '../commands/command.ts';
import { formatDuration } from '../durations.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { isUnanswered, type ExecutionView, type Gateway } from '../gateway.ts';
import { defined } from '../objects.ts';
import type { Column } from '../output/table.ts';
import type { Session } from '../session.ts';
import { pagesOf } from '../vm/pages.ts';
import { kubeNamespace, type PlaceFlags } from '../vm/place.ts';

export interface ListFlags extends PlaceFlags {
  readonly vm?: string;
  readonly phase?: string;
  readonly active?: boolean;
  readonly allNamespaces?: boolean;
}

/** One row of `op list`. */
export interface OperationRow extends Omit<VmopInfo, 'vmName' | 'phase' | 'supersedes'> {
  readonly id: string;
  readonly vm: string;
  readonly phase: string;
  readonly link: string;
}

/** Executions that are asked for when no worker can look into the cluster. */
const mostRecorded = 1_000;

/** `op list`: operations as the cluster has them now, newest first. */
export const listOperations: Action<ListFlags> = async (session, _args, flags) => {
  const namespace = flags.allNamespaces === true ? undefined : kubeNamespace(session, flags);
  const found = await operationsIn(session, namespace, flags.vm);
  const rows = found
    .filter(({ phase }) => flags.phase === undefined || phase.toLowerCase() === flags.phase.toLowerCase())
    .filter(({ phase }) => flags.active !== true || !['Completed', 'Failed', 'Superseded'].includes(phase))
    .sort((a, b) => b.createdAt.localeCompare(a.createdAt) || (b.seq ?? 0) - (a.seq ?? 0));
  await session.print({
    kind: 'OperationList',
    document: { items: rows },
    rows,
    columns: operationColumns(session, namespace === undefined),
    names: rows.map((row) => `${row.namespace}/${row.name}`),
    ids: rows.map(({ id }) => id),
  });
  if (rows.length === 0) session.note('no such operations; vmflow stop|start|restart|move|evict VM makes one');
  return exitCodes.ok.code;
};

async function operationsIn(session: Session, namespace?: string, vmName?: string): Promise<OperationRow[]> {
  const gateway = await session.gateway();
  const wanted = defined({ namespace, vmName });
  try {
    const { items, isComplete } = await pagesOf(
      async (after) => (await gateway.lookup({ what: 'vmops', ...wanted, ...after })).answer,
    );
    if (!isComplete) session.note('there are more operations than are shown; narrow it with -n or --vm');
    return await Promise.all(items.map((info) => operationRow(session, info)));
  } catch (error) {
    if (!(error instanceof CliError) || !isUnanswered(error.reason)) throw error;
    session.note('no worker can look into the cluster; this is what Temporal recorded');
    return await recorded(session, gateway, wanted);
  }
}

export async function operationRow(session: Session, info: VmopInfo): Promise<OperationRow> {
  const id = vmOperationId(info.namespace, info.uid);
  const { vmName, phase = 'New', supersedes, ...rest } = info;
  const others = supersedes.length === 0 ? {} : { supersedes };
  return { ...rest, ...others, id, vm: vmName, phase, link: await session.link(id) };
}

/** What the executions themselves say; their objects may be gone. */
async function recorded(
  session: Session,
  gateway: Gateway,
  wanted: { readonly namespace?: string; readonly vmName?: string },
): Promise<OperationRow[]> {
  const executions = await gateway.list(`${searchKeys.kind.name} = 'vm-operation'`, mostRecorded);
  const rows = await Promise.all(executions.map((execution) => recordedRow(session, execution)));
  return rows.filter(
    ({ namespace, vm }) =>
      (wanted.namespace === undefined || namespace === wanted.namespace) &&
      (wanted.vmName === undefined || vm === wanted.vmName),
  );
}

async function recordedRow(session: Session, execution: ExecutionView): Promise<OperationRow> {
  const { workflowId, runId, attributes, startedAt, closedAt } = execution;
  const memo = execution.memo as Partial<VmOperationMemo>;
  const [, namespace = '', uid = ''] = workflowId.split('/');
  const status = attributes[searchKeys.status.name];
  const vm = attributes[searchKeys.vm.name];
  return {
    ...{ id: workflowId, namespace, uid, name: memo.name ?? uid, type: memo.type ?? 'Start' },
    ...(memo.force === true ? { force: true } : {}),
    ...(memo.seq === undefined ? {} : { seq: memo.seq }),
    vm: typeof vm === 'string' ? vm.slice(namespace.length + 1) : '',
    phase: memo.supersededBy !== undefined ? 'Superseded' : typeof status === 'string' ? status : execution.state,
    createdAt: startedAt,
    ...(closedAt === undefined ? {} : { endedAt: closedAt }),
    link: await session.link(workflowId, runId),
  };
}

/** `across`: of more than one namespace. */
export function operationColumns(session: Session, across: boolean): readonly Column<OperationRow>[] {
  return [
    { header: 'NAME', cell: ({ name }) => name },
    { header: 'TYPE', cell: (row) => inWords(row) },
    { header: 'VM', cell: ({ vm, namespace }) => (across ? `${namespace}/${vm}` : vm) },
    { header: 'PHASE', cell: ({ phase }) => phase },
    { header: 'PROGRESS', cell: ({ progress }) => progress },
    { header: 'REASON', cell: reasonOf },
    { header: 'AGE', cell: ({ createdAt }) => ageOf(session, createdAt) },
    { header: 'NAMESPACE', cell: ({ namespace }) => namespace, wide: true },
    { header: 'BY', cell: ({ by }) => by, wide: true },
    { header: 'ID', cell: ({ id }) => id, wide: true },
    { header: 'LINK', cell: ({ link }) => link, wide: true },
  ];
}

function reasonOf({ reason, supersededBy }: OperationRow & OperationKind): string | undefined {
  return supersededBy === undefined ? reason : `by ${supersededBy.name}`;
}

export function ageOf({ flags, runtime }: Session, iso: string): string {
  return flags.time === 'iso' ? iso : formatDuration(runtime.now().getTime() - Date.parse(iso));
}
