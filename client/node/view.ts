import type { NodeInfo } from '../../workflows/contracts/cluster-lookup.ts';
import type { DrainNodeResult, DrainNodeStatus } from '../../workflows/contracts/hibernate.ts';
import { drainId } from '../../workflows/contracts/ids.ts';
import { describeIfThere } from '../execution/wait.ts';
import type { ExecutionOutcome, ExecutionView } from '../gateway.ts';
import { omit } from '../objects.ts';
import type { Session } from '../session.ts';
import { askStatus } from '../status-query.ts';

/** The last drain of a node, as far as it can be told. */
export interface DrainView extends Partial<Omit<DrainNodeStatus, 'kind' | 'id' | 'node' | 'next' | 'steps'>> {
  readonly id: string;
  readonly runId: string;
  readonly execution: ExecutionView['state'];
  readonly startedAt: string;
  readonly closedAt?: string;
  readonly result?: DrainNodeResult;
  readonly failure?: NonNullable<ExecutionOutcome['failure']>;
  readonly link: string;
}

/** What `node status` prints. */
export interface NodeView extends NodeInfo {
  readonly drain?: DrainView;
  readonly next: readonly string[];
}

export async function loadNode(session: Session, node: NodeInfo): Promise<NodeView> {
  const drain = await loadDrain(session, node.name);
  return { ...node, ...(drain === undefined ? {} : { drain }), next: nextCommands(node, drain) };
}

/** Undefined: Temporal remembers none. */
export async function loadDrain(session: Session, node: string): Promise<DrainView | undefined> {
  const execution = await describeIfThere(session, { workflowId: drainId(node) });
  if (execution === undefined) return undefined;
  const { workflowId, runId, state, startedAt, closedAt } = execution;
  const ref = { workflowId, runId };
  const status = await askStatus<DrainNodeStatus>(session, ref);
  const outcome = state === 'running' ? {} : await (await session.gateway()).outcome(ref);
  return {
    ...(status === undefined ? {} : omit(status, 'kind', 'id', 'node', 'next', 'steps')),
    ...{ id: workflowId, runId, execution: state, startedAt },
    ...(closedAt === undefined ? {} : { closedAt }),
    ...(outcome.result === undefined ? {} : { result: outcome.result as DrainNodeResult }),
    ...(outcome.failure === undefined ? {} : { failure: outcome.failure }),
    link: await session.link(workflowId, runId),
  };
}

function nextCommands({ name, cordoned, sets }: NodeInfo, drain: DrainView | undefined): string[] {
  if (drain?.execution === 'running')
    return [`vmflow node drain ${name} --wait`, `vmflow node cancel ${name}`, `vmflow node cancel ${name} --uncordon`];
  if (sets.length > 0) return [`vmflow node drain ${name}`];
  return cordoned ? [`kubectl uncordon ${name}`] : [];
}
