import type { CoordinatorStatus } from '../../workflows/contracts/vmop.ts';
import { CliError } from '../errors.ts';
import type { Session } from '../session.ts';
import { askStatus } from '../status-query.ts';

/** An answer takes less than this when all is well. */
const quietMs = 5_000;

/** Says once, on standard error, what a coordinator waits for that doesn't answer soon. Ends with the signal. */
export async function explainSilence(session: Session, workflowId: string, answered: AbortSignal): Promise<void> {
  await session.runtime.sleep(quietMs, answered);
  const why = answered.aborted ? undefined : await whatHoldsUp(session, workflowId);
  if (why !== undefined && !isOver(answered)) session.note(`accepted, not answered yet: ${why}`);
}

/** What keeps a coordinator from answering: its own words, else the failure of the call that it tries again. */
export async function whatHoldsUp(session: Session, workflowId: string): Promise<string | undefined> {
  try {
    const status = await askStatus<CoordinatorStatus>(session, { workflowId });
    if (status?.reason === 'Trouble') return status.message;
    const { pending } = await (await session.gateway()).describe({ workflowId });
    return pending.find(({ lastFailure }) => lastFailure !== undefined)?.lastFailure;
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

function isOver({ aborted }: AbortSignal): boolean {
  return aborted;
}
