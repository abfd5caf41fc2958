import type {
  Desire,
  HibernationAnswer,
  RequestHibernationResult,
} from '../../workflows/contracts/hibernation-request.ts';
import type { ExitCode } from '../exit-codes.ts';
import { omit } from '../objects.ts';
import { labelled } from '../output/error.ts';
import type { Column } from '../output/table.ts';
import type { Session } from '../session.ts';

/** What came of one request: the answer, then, where it was waited for, the end. */
export interface HibernationItem {
  readonly namespace: string;
  readonly pod: string;
  readonly desire: Desire;
  readonly result:
    | HibernationAnswer['outcome']
    | RequestHibernationResult['outcome']
    | 'refused'
    | 'reached'
    | 'timeout'
    | 'interrupted';
  /** What the object had reached before. */
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly id: string;
  readonly link?: string;
  readonly exit: ExitCode;
}

export async function printItems(session: Session, items: readonly HibernationItem[]): Promise<void> {
  const [only] = items;
  await session.print<HibernationItem>({
    kind: 'HibernationRequestList',
    document: { items: items.map((item) => omit(item, 'exit')) },
    ...(items.length === 1 && only !== undefined ? { text: textOf(session, only) } : { rows: items, columns }),
    names: items.map(({ namespace, pod }) => `${namespace}/${pod}`),
    ids: items.map(({ id }) => id),
  });
}

const columns: readonly Column<HibernationItem>[] = [
  { header: 'POD', cell: ({ namespace, pod }) => `${namespace}/${pod}` },
  { header: 'DESIRE', cell: ({ desire }) => desire },
  { header: 'RESULT', cell: ({ result }) => result },
  { header: 'MESSAGE', cell: ({ message }) => message, cut: true },
  { header: 'LINK', cell: ({ link }) => link, wide: true },
];

function textOf(session: Session, item: HibernationItem): string {
  const { namespace, pod, desire, result, link } = item;
  const line = (label: string, text: string): string => labelled(label, text, session.paint);
  const isOpen = ['created', 'changed', 'in-progress', 'timeout', 'interrupted'].includes(result);
  const verb = desire.toLowerCase();
  const undo = desire === 'Wake' ? 'hibernate' : 'wake';
  return [
    `${namespace}/${pod}: ${headline(item)}`,
    ...(isOpen ? [line('wait', `vmflow ${verb} pod/${pod} -n ${namespace} --wait`)] : []),
    ...(isOpen || result === 'Hibernated' ? [line('undo', `vmflow ${undo} pod/${pod} -n ${namespace}`)] : []),
    ...(link === undefined || result === 'already-so' || result.startsWith('would-')
      ? []
      : [line('link', session.showLink(link))]),
    '',
  ].join('\n');
}

function headline({ desire, result, phase, message = '' }: HibernationItem): string {
  const before = phase === undefined ? '' : `, it was ${phase}`;
  const dryRun = '(dry run, nothing was changed)';
  switch (result) {
    case 'created':
      return `${desire} requested`;
    case 'in-progress':
      return `${desire} is already in progress${phase === undefined ? '' : ` (${phase})`}`;
    case 'already-so':
      return `already so${phase === undefined ? '' : `, it is ${phase}`}`;
    case 'would-create':
      return `a CocoonHibernation would be created ${dryRun}`;
    case 'would-change':
      return `its CocoonHibernation would be changed to ${desire}${before} ${dryRun}`;
    case 'timeout':
      return '--timeout reached, the work goes on';
    case 'interrupted':
      return 'not waited for any more, the work goes on';
    case 'reached':
      return `${desire}: reached`;
    case 'changed':
      return `${desire} requested${before}`;
    default:
      return message === '' ? result : `${result}: ${message}`;
  }
}
