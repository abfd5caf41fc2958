import { searchKeys } from '../../workflows/contracts/attributes.ts';
import type { MigrateMainResult, MigrateMainStatus } from '../../workflows/contracts/hibernate.ts';
import { migrateMainId } from '../../workflows/contracts/ids.ts';
import { describeIfThere } from '../execution/wait.ts';
import type { ExecutionOutcome, ExecutionView } from '../gateway.ts';
import { omit } from '../objects.ts';
import type { Session } from '../session.ts';
import type { SetRef } from '../set/find.ts';
import { askStatus } from '../status-query.ts';

/** What `migrate get` prints: the workflow's own status and what the server knows. */
export interface MigrationView extends Partial<Omit<MigrateMainStatus, 'kind' | 'set' | 'status' | 'id'>> {
  readonly id: string;
  readonly runId: string;
  readonly namespace: string;
  readonly set: string;
  /** Step it is at; how it ended once it is over. */
  readonly step: string;
  readonly execution: ExecutionView['state'];
  /** `server`: no worker answered, so this is what Temporal itself recorded last. */
  readonly answeredBy: 'worker' | 'server';
  readonly startedAt: string;
  readonly closedAt?: string;
  readonly steps: MigrateMainStatus['steps'];
  readonly next: readonly string[];
  readonly result?: MigrateMainResult;
  readonly failure?: NonNullable<ExecutionOutcome['failure']>;
  readonly link: string;
}

/** The last migration of a set; undefined: Temporal remembers none. */
export async function loadMigration(session: Session, set: SetRef): Promise<MigrationView | undefined> {
  const execution = await describeIfThere(session, { workflowId: migrateMainId(set.namespace, set.name) });
  return execution === undefined ? undefined : await viewOf(session, execution);
}

async function viewOf(session: Session, execution: ExecutionView): Promise<MigrationView> {
  const ref = { workflowId: execution.workflowId, runId: execution.runId };
  const status = await askStatus<MigrateMainStatus>(session, ref);
  const hasResult = ['completed', 'failed', 'terminated', 'timed-out', 'cancelled'].includes(execution.state);
  const outcome = hasResult ? await (await session.gateway()).outcome(ref) : {};
  return mergeMigration(execution, status, outcome, await session.link(ref.workflowId, ref.runId));
}

/** Pure: puts status, description and result together. */
export function mergeMigration(
  execution: ExecutionView,
  status: MigrateMainStatus | undefined,
  { result, failure }: ExecutionOutcome,
  link: string,
): MigrationView {
  const { workflowId, runId, state, startedAt, closedAt } = execution;
  const [, namespace = '', name = ''] = workflowId.split('/');
  const end = result as MigrateMainResult | undefined;
  const own = status === undefined ? recorded(execution) : omit(status, 'kind', 'id', 'set', 'status');
  return {
    ...{ id: workflowId, runId, namespace, set: name, execution: state, startedAt },
    ...(closedAt === undefined ? {} : { closedAt }),
    answeredBy: status === undefined ? 'server' : 'worker',
    ...own,
    ...(state === 'running' ? {} : { next: [] }),
    step: end?.outcome ?? endings[state] ?? status?.status ?? textOf(execution, 'status') ?? 'Started',
    ...(end === undefined ? {} : { result: end }),
    ...(failure === undefined ? {} : { failure }),
    link,
  };
}

/** How an execution ended that has no result. */
const endings: Partial<Record<ExecutionView['state'], string>> = {
  failed: 'Failed',
  cancelled: 'Cancelled',
  terminated: 'Terminated',
  'timed-out': 'TimedOut',
};

/** What the server recorded last. Good enough to see where it is, not why. */
function recorded(execution: ExecutionView): Pick<MigrationView, 'steps' | 'next'> & Partial<MigrationView> {
  const [source, target] = [textOf(execution, 'source'), textOf(execution, 'target')];
  const waitingFor = textOf(execution, 'waitingFor') as MigrationView['waitingFor'];
  return {
    ...(source === undefined ? {} : { source }),
    ...(target === undefined ? {} : { target }),
    ...(waitingFor === undefined ? {} : { waitingFor }),
    steps: [],
    next: [],
  };
}

export function textOf({ attributes }: ExecutionView, key: keyof typeof searchKeys): string | undefined {
  const value = attributes[searchKeys[key].name];
  return typeof value === 'string' ? value : undefined;
}
