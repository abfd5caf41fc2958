import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import { templateSwapFleetId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type {
  FleetItemResult,
  TemplateSwapFleetRequest,
  TemplateSwapFleetResult,
  TemplateSwapFleetStatus,
  TemplateSwapRequest,
} from '../../workflows/contracts/template.ts';
import { codeBlock, pane, plain } from '../../workflows/domain/markdown.ts';
import type { Action } from '../commands/command.ts';
import { readDocument } from '../documents.ts';
import { parseDuration } from '../durations.ts';
import { CliError, usageError } from '../errors.ts';
import { combineExits, exitCodes, exitOfFailureType, type ExitCode } from '../exit-codes.ts';
import { isUnanswered, type ExecutionRef, type ExecutionView, type Gateway } from '../gateway.ts';
import { omit } from '../objects.ts';
import type { Column } from '../output/table.ts';
import type { Session } from '../session.ts';
import { invalidRequest } from './request.ts';
import type { WaitFlags } from './wait.ts';

export interface FleetFlags extends WaitFlags {
  readonly file?: string;
  readonly dryRun?: boolean;
}

/** Milliseconds between two looks at a fleet. */
const lookEveryMs = 2_000;

/** `template fleet -f FILE` starts or joins; `template fleet ID` shows. Both follow with `--wait`. */
export const templateFleet: Action<FleetFlags> = async (session, [id], flags) => {
  if ((id === undefined) === (flags.file === undefined)) {
    throw usageError('a fleet is either started from a file or shown by its id', [
      'vmflow template fleet -f fleet.yaml',
      'vmflow template fleet template-swap-fleet/ID',
    ]);
  }
  const isPlan = flags.dryRun === true;
  const ref = id === undefined ? await startFleet(session, flags.file ?? '', isPlan) : { workflowId: fleetId(id) };
  const isFollowed = flags.wait !== undefined || isPlan;
  return isFollowed ? followFleet(session, ref, flags) : showFleet(session, await loadFleet(session, ref));
};

function fleetId(id: string): string {
  return id.startsWith('template-swap-fleet/') ? id : `template-swap-fleet/${id}`;
}

async function startFleet(session: Session, file: string, isPlan: boolean): Promise<ExecutionRef> {
  const request = await checkedFleet(session, file, isPlan);
  const gateway = await session.gateway();
  const kind: OperationKind = 'template-swap-fleet';
  const workflowId = templateSwapFleetId(request);
  const count = String(request.templates.length);
  const { runId, joined } = await gateway.start({
    type: 'templateSwapFleet',
    workflowId,
    args: [request],
    summary: `${isPlan ? 'plan ' : ''}update ${count} templates`,
    details: pane([
      `**${plain(request.by ?? 'somebody')}** asked to update ${count} templates.`,
      codeBlock(`vmflow template fleet ${workflowId} --wait`),
    ]),
    memo: { by: request.by ?? '', templates: request.templates.length },
    attributes: [{ key: searchKeys.kind, value: kind }],
  });
  session.note(`${workflowId}: ${joined ? 'already in progress' : 'started'}`);
  return { workflowId, runId };
}

async function checkedFleet(session: Session, file: string, isPlan: boolean): Promise<TemplateSwapFleetRequest> {
  const { templateSwapFleetRequestSchema } = await import('../../activities/schemas/template.ts');
  const document = await readDocument(session, file);
  const by = session.runtime.user();
  const parsed = templateSwapFleetRequestSchema.safeParse({ ...document, by });
  if (!parsed.success) throw invalidRequest(parsed.error.issues);
  const templates = (document.templates as TemplateSwapRequest[]).map((template) => ({
    ...template,
    by,
    ...(isPlan ? { options: { ...template.options, dryRun: true } } : {}),
  }));
  // A plan is another operation than the real one, so that neither joins the other.
  const plan = isPlan ? { requestId: `plan-${session.runtime.random()}` } : {};
  return { ...(document as Partial<TemplateSwapFleetRequest>), ...plan, templates, by };
}

/** What `template fleet` prints. */
interface FleetView extends Partial<Omit<TemplateSwapFleetStatus, 'status' | 'id' | 'kind'>> {
  readonly id: string;
  readonly runId: string;
  readonly phase: string;
  readonly execution: ExecutionView['state'];
  readonly link: string;
  readonly items: readonly FleetItemResult[];
  readonly steps: TemplateSwapFleetStatus['steps'];
}

async function loadFleet(session: Session, target: ExecutionRef): Promise<FleetView> {
  const gateway = await session.gateway();
  const { workflowId, runId, state, taskQueue } = await gateway.describe(target);
  const ref = { workflowId, runId };
  const base = { id: workflowId, runId, execution: state, link: await session.link(workflowId, runId) };
  const status = await fleetStatus(gateway, ref, taskQueue);
  if (status !== undefined) {
    const phase = state === 'running' ? status.status : state;
    return { ...base, ...omit(status, 'status', 'id', 'kind'), phase };
  }
  session.note('no worker answers; this is what Temporal itself knows');
  const { result } = state === 'running' ? {} : await gateway.outcome(ref);
  return { ...base, phase: state, steps: [], items: (result as TemplateSwapFleetResult | undefined)?.items ?? [] };
}

async function fleetStatus(
  gateway: Gateway,
  ref: ExecutionRef,
  queue: string,
): Promise<TemplateSwapFleetStatus | undefined> {
  if ((await gateway.pollers(queue, 'workflow')).length === 0) return undefined;
  try {
    return (await gateway.query(ref, messages.status)) as TemplateSwapFleetStatus;
  } catch (error) {
    if (error instanceof CliError && isUnanswered(error.reason)) return undefined;
    throw error;
  }
}

async function followFleet(session: Session, ref: ExecutionRef, flags: WaitFlags): Promise<ExitCode> {
  const { runtime } = session;
  const deadline =
    flags.timeout === undefined ? Infinity : runtime.now().getTime() + parseDuration(flags.timeout, '--timeout');
  const interrupt = runtime.onInterrupt();
  const said = new Set<string>();
  try {
    for (;;) {
      const view = await loadFleet(session, ref);
      for (const line of newLines(view, said)) session.note(line);
      if (view.execution !== 'running') return await showFleet(session, view);
      if (runtime.now().getTime() >= deadline) return leave(session, view, 'timeout');
      await runtime.sleep(lookEveryMs, interrupt.signal);
      if (interrupt.signal.aborted) return leave(session, view, 'interrupted');
    }
  } finally {
    interrupt.dispose();
  }
}

function leave(session: Session, view: FleetView, why: 'timeout' | 'interrupted'): ExitCode {
  session.note(`${view.id}: the work goes on; vmflow template fleet ${view.id} --wait`);
  return exitCodes[why].code;
}

function newLines(view: FleetView, said: Set<string>): string[] {
  const lines = view.steps
    .filter((step) => step.state !== 'pending')
    .map((step) => `${step.title}: ${step.state}${step.detail === undefined ? '' : ` (${step.detail})`}`)
    .filter((line) => !said.has(line));
  for (const line of lines) said.add(line);
  return lines;
}

interface FleetRow {
  readonly template: string;
  readonly outcome: string;
  readonly version?: string | undefined;
  readonly error?: string | undefined;
  readonly id: string;
}

async function showFleet(session: Session, view: FleetView): Promise<ExitCode> {
  const rows = rowsOf(view);
  await session.print<FleetRow>({
    kind: 'TemplateFleet',
    document: view,
    rows,
    columns: fleetColumns,
    names: [view.id],
    ids: [view.id],
  });
  if (!session.isMachineReadable) {
    session.note(`${view.id}: ${view.phase}${view.message === undefined ? '' : `, ${view.message}`}`);
    session.note(view.link);
  }
  return view.execution === 'running' ? exitCodes.ok.code : exitOfFleet(view);
}

/** Finished ones with their outcome, then those that are running or to come. */
function rowsOf(view: FleetView): FleetRow[] {
  const done = view.items.map((item) => ({
    template: item.template,
    outcome: item.outcome,
    version: item.result?.prod?.version,
    error: item.error?.message ?? item.result?.plan?.problem,
    id: item.id,
  }));
  const known = new Set(done.map((row) => row.id));
  const rest = view.steps
    .filter((step) => !known.has(step.id))
    .map((step) => ({ template: step.title, outcome: step.state, id: step.id }));
  return [...done, ...rest];
}

const fleetColumns: readonly Column<FleetRow>[] = [
  { header: 'TEMPLATE', cell: (row) => row.template },
  { header: 'OUTCOME', cell: (row) => row.outcome },
  { header: 'VERSION', cell: (row) => row.version },
  { header: 'ERROR', cell: (row) => row.error, cut: true },
  { header: 'ID', cell: (row) => row.id, wide: true },
];

/** One code when all ended alike, 9 when some failed. */
function exitOfFleet(view: FleetView): ExitCode {
  if (view.items.length === 0)
    return view.execution === 'completed'
      ? exitCodes.ok.code
      : view.execution === 'cancelled'
        ? exitCodes.cancelled.code
        : exitCodes.failed.code;
  return combineExits(view.items.map(exitOfItem));
}

function exitOfItem(item: FleetItemResult): ExitCode {
  switch (item.outcome) {
    case 'failed':
      return item.error === undefined ? exitCodes.failed.code : exitOfFailureType(item.error.type);
    case 'cancelled':
    case 'skipped':
      return exitCodes.cancelled.code;
    case 'planned':
      return item.result?.plan?.problem === undefined ? exitCodes.ok.code : exitCodes.refused.code;
    default:
      return exitCodes.ok.code;
  }
}
