import { CliError } from '../errors.ts';
import type { Session } from '../session.ts';

/** A source that the workers know. Exit 3 when there is none of that name: nothing is to be started for it. */
export async function requireSource(session: Session, name: string): Promise<void> {
  const { answer } = await (await session.gateway()).lookup({ what: 'endpoints' });
  const sources = answer.endpoints.filter(({ kind }) => kind === 'vcenter').map((endpoint) => endpoint.name);
  if (sources.includes(name)) return;
  throw new CliError({
    exit: 'notFound',
    reason: 'SOURCE_NOT_FOUND',
    message: `the workers know no source "${name}"`,
    why: `known: ${sources.join(', ') || 'none'}`,
    next: 'vmflow source list',
  });
}
