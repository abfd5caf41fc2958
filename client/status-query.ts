import { messages } from '../workflows/contracts/messages.ts';
import { CliError } from './errors.ts';
import { gatewayReasons, isUnanswered, type ExecutionRef } from './gateway.ts';
import type { Session } from './session.ts';

/** A workflow's own answer to `status`; undefined when it isn't there or no worker answers. Doesn't wait when nobody polls. */
export async function askStatus<Status>(session: Session, ref: ExecutionRef): Promise<Status | undefined> {
  return await ask<Status>(session, ref, messages.status);
}

/** The same for any query. A workflow that has nothing to say yet answers nothing too. */
export async function ask<Answer>(
  session: Session,
  ref: ExecutionRef,
  name: string,
  argument?: unknown,
): Promise<Answer | undefined> {
  const gateway = await session.gateway();
  const { taskQueue } = await session.settings();
  if ((await gateway.pollers(taskQueue.value, 'workflow')).length === 0) return undefined;
  try {
    return ((await gateway.query(ref, name, argument)) ?? undefined) as Answer | undefined;
  } catch (error) {
    const isSilent =
      error instanceof CliError && (isUnanswered(error.reason) || error.reason === gatewayReasons.notFound);
    if (isSilent) return undefined;
    throw error;
  }
}
