import { searchKeys } from '../../workflows/contracts/attributes.ts';
import type { TemplateInfo } from '../../workflows/contracts/lookup.ts';
import type { TemplateNaming } from '../../workflows/contracts/template.ts';
import { swapNames, type SwapNames } from '../../workflows/domain/template/names.ts';
import type { Action } from '../commands/command.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Gateway } from '../gateway.ts';
import type { Column } from '../output/table.ts';
import { formatTime } from '../output/units.ts';
import type { Session } from '../session.ts';
import { knownTemplates, type KnownTemplate, type Narrowing } from './find.ts';

export interface ListFlags extends Narrowing {
  readonly phase?: string;
  /** False with `--no-lookup`. */
  readonly lookup?: boolean;
}

/** One row of `template list`. */
export interface TemplateRow {
  readonly name: string;
  readonly vcenter: string;
  readonly folder: string;
  /** What vCenter says; absent when it wasn't asked or can't tell. */
  readonly version?: string;
  readonly previous?: string;
  /** What the last update wanted. */
  readonly target?: string;
  readonly phase?: string;
  readonly waitingFor?: string;
  readonly conflict?: string;
  readonly updatedAt?: string;
  readonly id?: string;
  readonly runId?: string;
  readonly link?: string;
}

/** A row with what is needed to find its other templates. */
interface OwnRow extends TemplateRow {
  readonly naming: TemplateNaming;
}

/** `template list`: what vmflow has worked on, with the versions that vCenter reports now. */
export const listTemplates: Action<ListFlags> = async (session, _args, flags) => {
  const gateway = await session.gateway();
  const known = (await knownTemplates(gateway)).filter(({ memo }) => isWanted(memo, flags));
  const own = await Promise.all(known.map((template) => rowOf(session, template)));
  const folders = foldersOf(known, flags);
  const found =
    flags.lookup === false ? new Map<string, readonly TemplateInfo[]>() : await lookUp(session, gateway, folders);
  const rows = mergeRows(own, found)
    .filter((row) => flags.phase === undefined || row.phase?.toLowerCase() === flags.phase.toLowerCase())
    .sort((a, b) => [a.name, a.vcenter, a.folder].join('\0').localeCompare([b.name, b.vcenter, b.folder].join('\0')));
  await session.print({
    kind: 'TemplateList',
    document: { items: rows },
    rows,
    columns: columnsFor(session),
    names: rows.map((row) => (rows.filter(({ name }) => name === row.name).length > 1 && row.id ? row.id : row.name)),
    ids: rows.flatMap((row) => row.id ?? []),
  });
  if (rows.length === 0) session.note('no templates yet; vmflow template update NAME --ova FILE|URL starts one');
  return exitCodes.ok.code;
};

function isWanted(memo: KnownTemplate['memo'], { vcenter, datacenter, folder }: ListFlags): boolean {
  return (
    (vcenter === undefined || memo.vcenter === vcenter) &&
    (datacenter === undefined || memo.placement.datacenter === datacenter) &&
    (folder === undefined || memo.folder === folder || memo.placement.folder === folder)
  );
}

async function rowOf(session: Session, { execution, memo }: KnownTemplate): Promise<OwnRow> {
  const text = (key: string): string | undefined => {
    const value = execution.attributes[key];
    return typeof value === 'string' ? value : undefined;
  };
  const waitingFor = execution.state === 'running' ? text(searchKeys.waitingFor.name) : undefined;
  const conflict = execution.state === 'running' ? text(searchKeys.conflict.name) : undefined;
  return {
    name: memo.name,
    vcenter: memo.vcenter,
    folder: memo.folder,
    target: text(searchKeys.target.name) ?? memo.version,
    phase: text(searchKeys.status.name) ?? execution.state,
    ...(waitingFor === undefined ? {} : { waitingFor }),
    ...(conflict === undefined ? {} : { conflict }),
    updatedAt: execution.closedAt ?? execution.startedAt,
    id: execution.workflowId,
    runId: execution.runId,
    link: await session.link(execution.workflowId, execution.runId),
    naming: memo.naming,
  };
}

interface Folder {
  readonly vcenter: string;
  readonly datacenter: string;
  readonly folder: string;
}

function foldersOf(known: readonly KnownTemplate[], flags: ListFlags): readonly Folder[] {
  const folders = known.map(({ memo }) => ({
    vcenter: memo.vcenter,
    datacenter: memo.placement.datacenter,
    folder: memo.folder,
  }));
  const { vcenter, datacenter, folder = '' } = flags;
  if (vcenter !== undefined && datacenter !== undefined) folders.push({ vcenter, datacenter, folder });
  return [...new Map(folders.map((entry) => [keyOf(entry.vcenter, entry.folder), entry])).values()];
}

function keyOf(vcenter: string, folder: string): string {
  return `${vcenter} ${folder}`;
}

/** Asks the workers for every folder at once. What can't be asked is said and left out. */
async function lookUp(
  session: Session,
  gateway: Gateway,
  folders: readonly Folder[],
): Promise<ReadonlyMap<string, readonly TemplateInfo[]>> {
  const { taskQueue } = await session.settings();
  if (folders.length === 0) return new Map();
  if ((await gateway.pollers(taskQueue.value, 'workflow')).length === 0) {
    session.note(`no worker polls task queue "${taskQueue.value}": versions in use are not known`);
    return new Map();
  }
  const answers = await Promise.all(folders.map((folder) => lookUpFolder(session, gateway, folder)));
  return new Map(answers.flat());
}

async function lookUpFolder(
  session: Session,
  gateway: Gateway,
  where: Folder,
): Promise<[string, readonly TemplateInfo[]][]> {
  const { vcenter, datacenter, folder } = where;
  try {
    const { answer } = await gateway.lookup({
      what: 'templates',
      vcenter,
      datacenter,
      ...(folder === '' ? {} : { folder }),
    });
    if (answer.truncated) session.note(`${vcenter} ${folder}: more templates than are shown`);
    return [[keyOf(vcenter, folder), answer.templates]];
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    session.note(`${vcenter} ${folder}: versions in use are not known: ${error.message}`);
    return [];
  }
}

/**
 * Rows of vmflow with what vCenter says, then the templates of those folders that vmflow hasn't touched. What stands under the
 * temporary names of a template belongs to its row.
 */
function mergeRows(own: readonly OwnRow[], found: ReadonlyMap<string, readonly TemplateInfo[]>): TemplateRow[] {
  return [
    ...own.map(({ naming, ...row }) => {
      const infos = found.get(keyOf(row.vcenter, row.folder)) ?? [];
      return { ...row, ...versionsOf(infos, namesOf(naming)) };
    }),
    ...[...found].flatMap(([key, infos]) => {
      const rows = own.filter((row) => keyOf(row.vcenter, row.folder) === key);
      return othersIn(key.split(' ')[0] ?? '', infos, rows);
    }),
  ];
}

function othersIn(vcenter: string, infos: readonly TemplateInfo[], own: readonly OwnRow[]): TemplateRow[] {
  const all = [...own.map(({ naming }) => namesOf(naming)), ...infos.map(({ name }) => swapNames(name))];
  const isTaken = ({ name }: TemplateInfo): boolean =>
    own.some((row) => row.name === name) || all.some(({ temp, rollback }) => temp === name || rollback === name);
  return infos
    .filter((info) => info.isTemplate && !isTaken(info))
    .map(({ name, folder }) => ({ name, vcenter, folder, ...versionsOf(infos, swapNames(name)) }));
}

function namesOf({ prodName, tempPrefix, rollbackPrefix }: TemplateNaming): SwapNames {
  return swapNames(prodName, tempPrefix, rollbackPrefix);
}

function versionsOf(infos: readonly TemplateInfo[], names: SwapNames): { version?: string; previous?: string } {
  const info = infos.find(({ name }) => name === names.prod);
  const previous = infos.find(({ name }) => name === names.rollback)?.version ?? info?.previous;
  return {
    ...(info?.version === undefined ? {} : { version: info.version }),
    ...(previous === undefined ? {} : { previous }),
  };
}

function columnsFor(session: Session): readonly Column<TemplateRow>[] {
  const { time } = session.flags;
  const now = session.runtime.now();
  return [
    { header: 'NAME', cell: (row) => row.name },
    { header: 'VCENTER', cell: (row) => row.vcenter },
    { header: 'VERSION', cell: (row) => row.version, cut: true },
    { header: 'PREVIOUS', cell: (row) => row.previous, cut: true },
    {
      header: 'PHASE',
      cell: (row) => (row.conflict === undefined ? row.phase : `${row.phase ?? ''} (${row.conflict})`),
    },
    { header: 'UPDATED', cell: (row) => formatTime(row.updatedAt, time, now) },
    { header: 'TARGET', cell: (row) => row.target, wide: true },
    { header: 'FOLDER', cell: (row) => row.folder, wide: true },
    { header: 'WAITING-FOR', cell: (row) => row.waitingFor, wide: true },
    { header: 'ID', cell: (row) => row.id, wide: true },
    { header: 'LINK', cell: (row) => row.link, wide: true },
  ];
}
