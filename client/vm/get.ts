import type { VmInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { vmCoordinatorId } from '../../workflows/contracts/ids.ts';
import { inWords } from '../../workflows/domain/vmop/matrix.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { operationColumns, operationRow, type OperationRow } from '../op/list.ts';
import { paintPhase, sinceText } from '../op/render.ts';
import { loadOperation, type OperationView } from '../op/view.ts';
import { labelled } from '../output/error.ts';
import { renderSteps } from '../output/steps.ts';
import { renderTable } from '../output/table.ts';
import type { Session } from '../session.ts';
import type { PlaceFlags } from './place.ts';
import { noVm, resolveVm } from './targets.ts';

/** What `vm get` prints: the VM, what is active on it, what was. */
export interface VmView extends VmInfo {
  /** Of its coordinator. */
  readonly id: string;
  /** In the order of their acceptance, oldest first. */
  readonly active: readonly OperationView[];
  /** The newest, active ones among them. */
  readonly operations: readonly OperationRow[];
  readonly next: readonly string[];
  readonly link: string;
}

/** `vm get VM`. */
export const getVm: Action<PlaceFlags> = async (session, [text = ''], flags) => {
  const { namespace, name } = await resolveVm(session, text, flags);
  const { answer } = await (await session.gateway()).lookup({ what: 'vm', namespace, name });
  const { vm, operations } = answer;
  if (vm === undefined) throw noVm(`no VM "${name}"`, namespace);
  const open = operations.filter(({ endedAt }) => endedAt === undefined).reverse();
  const active = await Promise.all(open.map((info) => loadOperation(session, info)));
  const id = vmCoordinatorId(namespace, name);
  const view: VmView = {
    ...vm,
    id,
    active,
    operations: await Promise.all(operations.map((info) => operationRow(session, info))),
    next: nextCommands(vm, active),
    link: await session.link(id),
  };
  await session.print({
    kind: 'VirtualMachine',
    document: view,
    names: [`${namespace}/${name}`],
    ids: [`${namespace}/${name}`],
    text: render(session, view),
  });
  return exitCodes.ok.code;
};

function nextCommands({ name, namespace, phase }: VmInfo, active: readonly OperationView[]): string[] {
  const newest = active.at(-1);
  if (newest !== undefined) return [...newest.next];
  return [`vmflow ${phase === 'Stopped' ? 'start' : 'stop'} ${name} -n ${namespace}`];
}

function render(session: Session, view: VmView): string {
  const { paint } = session;
  const line = (label: string, text: string): string => labelled(label, text, paint);
  const lines = [
    headline(session, view),
    ...(view.restartPending === true ? [line('pending', 'changes that the next restart applies')] : []),
    ...(view.active.length === 0 ? [line('active', 'no operation')] : []),
    ...view.active.flatMap((op) => activeLines(session, op)),
    ...recentLines(session, view),
    ...view.next.map((command, place) => line(place === 0 ? 'next' : '', command)),
    line('link', session.showLink(view.link)),
  ];
  return `${lines.join('\n')}\n`;
}

function headline({ paint }: Session, { namespace, name, phase, nodeName, ipAddress, runPolicy }: VmView): string {
  const where = nodeName === undefined ? '' : ` on ${nodeName}`;
  const address = ipAddress === undefined ? '' : `   ${ipAddress}`;
  return `${paint.bold(`${namespace}/${name}`)}   ${phase}${where}   run policy ${runPolicy}${address}`;
}

/** What is active, where it stands, and the commands that would take it over. */
function activeLines(session: Session, op: OperationView): string[] {
  const { paint } = session;
  const line = (label: string, text: string): string => labelled(label, text, paint);
  const since = sinceText(session, op.since ?? op.createdAt);
  const by = op.by === undefined ? '' : `, asked by ${op.by}`;
  return [
    line('active', `${op.name} (${inWords(op)}) ${paintPhase(op.phase, paint)} since ${since}${by}`),
    ...renderSteps(op.steps, paint, op.progress).map((step) => `  ${step}`),
    ...(op.supersedableBy.length === 0
      ? [line('yields', 'to nothing: it has to finish, or vmflow op abandon ends it')]
      : op.supersedableBy.map((command, place) => line(place === 0 ? 'yields' : '', `to ${command}`))),
  ];
}

function recentLines(session: Session, { operations }: VmView): string[] {
  if (operations.length === 0) return [];
  const shown = operationColumns(session, false).filter(({ header, wide }) => wide !== true && header !== 'VM');
  const table = renderTable(operations, shown, { headers: true });
  return [
    '  recent',
    ...table
      .trimEnd()
      .split('\n')
      .map((row) => `    ${row}`),
  ];
}
