import type { NodeInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { CliError } from '../errors.ts';
import type { Session } from '../session.ts';

/** The node as the cluster has it now. Exit 3 when there is none. */
export async function findNode(session: Session, name: string): Promise<NodeInfo> {
  const { answer } = await (await session.gateway()).lookup({ what: 'node', name });
  if (answer.node !== undefined) return answer.node;
  throw new CliError({
    exit: 'notFound',
    reason: 'NODE_NOT_FOUND',
    message: `there is no node "${name}"`,
    next: 'vmflow node list',
  });
}
