import { vmCoordinatorId, vmOperationId } from '../../workflows/contracts/ids.ts';
import type { OperationName, RequestAnswer } from '../../workflows/contracts/vmop.ts';
import { inWords, type VmopType } from '../../workflows/domain/vmop/matrix.ts';
import type { CliError } from '../errors.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { omit } from '../objects.ts';
import { endInWords, type OperationEnd } from '../op/end.ts';
import { labelled } from '../output/error.ts';
import type { Column } from '../output/table.ts';
import type { Session } from '../session.ts';
import type { Job } from './act.ts';

/** What came of one request: the answer, then, where it was waited for, the end. */
export interface RequestItem {
  readonly namespace: string;
  readonly vm: string;
  readonly type: VmopType;
  readonly force?: boolean;
  readonly result: RequestAnswer['outcome'] | OperationEnd['result'] | 'refused';
  readonly operation?: OperationName;
  readonly supersedes: readonly OperationName[];
  /** Of the VM, when it is so already. */
  readonly vmPhase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly supersededBy?: OperationName;
  readonly id: string;
  readonly link?: string;
  readonly exit: ExitCode;
}

export async function itemOf(session: Session, job: Job, answer: RequestAnswer): Promise<RequestItem> {
  const base = baseOf(job);
  const supersedes = 'supersedes' in answer ? answer.supersedes : [];
  const id = 'uid' in answer ? vmOperationId(base.namespace, answer.uid) : base.id;
  return {
    ...base,
    result: answer.outcome,
    supersedes,
    ...('uid' in answer ? { operation: { name: answer.name, uid: answer.uid } } : {}),
    ...('phase' in answer ? { vmPhase: answer.phase } : {}),
    id,
    link: await session.link(id),
    exit: exitCodes.ok.code,
  };
}

/** One of many that couldn't be asked for. */
export function failedItem(job: Job, { reason, message, exit }: CliError): RequestItem {
  return { ...baseOf(job), result: 'refused', supersedes: [], reason, message, exit };
}

function baseOf({
  vm: { namespace, name },
  request: { spec },
}: Job): Pick<RequestItem, 'namespace' | 'vm' | 'type' | 'id'> {
  return {
    namespace,
    vm: name,
    type: spec.type,
    ...(spec.force === undefined ? {} : { force: spec.force }),
    id: vmCoordinatorId(namespace, name),
  };
}

export async function printItems(session: Session, items: readonly RequestItem[]): Promise<void> {
  const [only] = items;
  await session.print<RequestItem>({
    kind: 'OperationRequestList',
    document: { items: items.map((item) => omit(item, 'exit')) },
    ...(items.length === 1 && only !== undefined ? { text: textOf(session, only) } : { rows: items, columns: columns }),
    names: items.flatMap(({ operation, namespace }) =>
      operation === undefined ? [] : `${namespace}/${operation.name}`,
    ),
    ids: items.flatMap(({ operation, id }) => (operation === undefined ? [] : id)),
  });
}

const columns: readonly Column<RequestItem>[] = [
  { header: 'VM', cell: ({ namespace, vm }) => `${namespace}/${vm}` },
  { header: 'TYPE', cell: (item) => inWords(item) },
  { header: 'RESULT', cell: ({ result }) => result },
  { header: 'OPERATION', cell: ({ operation }) => operation?.name },
  { header: 'MESSAGE', cell: (item) => remark(item), cut: true },
  { header: 'LINK', cell: ({ link }) => link, wide: true },
];

function remark({ result, message, vmPhase, supersedes, supersededBy }: RequestItem): string | undefined {
  if (result === 'already-so') return `it is ${vmPhase ?? 'so'}`;
  if (supersededBy !== undefined) return `superseded by ${supersededBy.name}`;
  if (message !== undefined) return message;
  return supersedes.length === 0 ? undefined : `supersedes ${supersedes.map(({ name }) => name).join(', ')}`;
}

/** One request for people: what came of it, what to do next. Ends with a newline. */
function textOf(session: Session, item: RequestItem): string {
  const { namespace, vm, operation, supersedes, result } = item;
  const line = (label: string, text: string): string => labelled(label, text, session.paint);
  const isOpen = ['created', 'in-progress', 'timeout', 'interrupted', 'reached'].includes(result);
  return [
    `${namespace}/${vm}: ${headline(item)}`,
    ...(supersedes.length === 0 || result !== 'created'
      ? []
      : [line('takes', `over from ${supersedes.map(({ name }) => name).join(', ')}`)]),
    ...(isOpen && operation !== undefined ? [line('watch', `vmflow op watch ${operation.name} -n ${namespace}`)] : []),
    ...(item.supersededBy === undefined
      ? []
      : [line('next', `vmflow op get ${item.supersededBy.name} -n ${namespace}`)]),
    ...(item.link === undefined || operation === undefined ? [] : [line('link', session.showLink(item.link))]),
    '',
  ].join('\n');
}

function headline(item: RequestItem): string {
  const { result, operation, vmPhase, supersedes } = item;
  const name = operation?.name ?? '';
  switch (result) {
    case 'created':
      return `${inWords(item)} requested (${name})`;
    case 'in-progress':
      return `${inWords(item)} is already in progress (${name})`;
    case 'already-so':
      return `already so, it is ${vmPhase ?? ''}`;
    case 'would-create': {
      const over = supersedes.length === 0 ? '' : `, taking over from ${supersedes.map((op) => op.name).join(', ')}`;
      return `${inWords(item)} would be requested${over} (dry run, nothing was created)`;
    }
    case 'refused':
      return item.message ?? '';
    default:
      return `${name} ${endInWords({ ...item, result })}`;
  }
}
