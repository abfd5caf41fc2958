import type { BatchView, MemberPhase } from '../../workflows/contracts/batch.ts';
import { batchId } from '../../workflows/contracts/ids.ts';
import { isApiName } from '../../workflows/domain/batch/effective.ts';
import { CliError } from '../errors.ts';
import { describeIfThere } from '../execution/wait.ts';
import type { ExecutionView } from '../gateway.ts';
import type { Session } from '../session.ts';

/** The workflow of a batch that is there. Exit 3 when there is none. */
export async function findBatch(session: Session, name: string): Promise<ExecutionView> {
  const execution = isApiName(name) ? await describeIfThere(session, { workflowId: batchId(name) }) : undefined;
  if (execution?.state === 'running') return execution;
  throw new CliError({
    exit: 'notFound',
    reason: 'BATCH_NOT_FOUND',
    message: `there is no batch "${name}"`,
    ...(execution === undefined ? {} : { state: 'one of that name was deleted' }),
    next: ['vmflow batch list', 'vmflow batch apply -f FILE'],
  });
}

/** Members that need a person before they go on. */
export function needingOf({ counts }: Pick<BatchView, 'counts'>): number {
  return (counts.conflict ?? 0) + (counts.error ?? 0);
}

/** Members in these get on by themselves. */
const moving: readonly MemberPhase[] = ['waiting', 'blocked', 'queued', 'running', 'ready', 'committed'];

/** It is over, or nothing goes on without a person. */
export function isSettled({
  phase,
  counts,
}: {
  readonly phase: string;
  readonly counts: BatchView['counts'];
}): boolean {
  if (phase === 'Finished' || phase === 'Defined') return true;
  if (phase === 'Stopped' || phase === 'Error') return (counts.committed ?? 0) === 0;
  return needingOf({ counts }) > 0 && moving.every((one) => (counts[one] ?? 0) === 0);
}
