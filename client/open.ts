import type { Action } from './commands/command.ts';
import { CliError, usageError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import type { ExecutionRef } from './gateway.ts';
import type { Session } from './session.ts';
import { findTemplate } from './template/find.ts';

/** How a name of each kind becomes an execution. A new kind is one more entry. */
const kinds: Readonly<Record<string, (session: Session, name: string) => Promise<ExecutionRef>>> = {
  template: async (session, name) => (await findTemplate(session, name, {})).execution,
  fleet: async (session, name) => describe(session, name.includes('/') ? name : `template-swap-fleet/${name}`),
  workflow: describe,
};

async function describe(session: Session, workflowId: string): Promise<ExecutionRef> {
  return (await session.gateway()).describe({ workflowId });
}

export interface OpenFlags {
  readonly print?: boolean;
}

/** `open KIND NAME`: shows the link, and opens it unless only the link is wanted. */
export const openInBrowser: Action<OpenFlags> = async (session, [kind = '', name = ''], flags) => {
  const find = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (find === undefined)
    throw usageError(`there is no kind "${kind}" to open`, `kinds: ${Object.keys(kinds).join(', ')}`);
  const { workflowId, runId } = await find(session, name);
  const link = await session.link(workflowId, runId);
  await session.print({
    kind: 'Link',
    document: { id: workflowId, link },
    names: [link],
    ids: [workflowId],
    text: `${link}\n`,
  });
  if (flags.print === true || session.isMachineReadable) return exitCodes.ok.code;
  await session.runtime.openBrowser(link).catch((error: unknown) => {
    throw new CliError({
      exit: 'failed',
      reason: 'NO_BROWSER',
      message: "can't start a browser here",
      why: error instanceof Error ? error.message : String(error),
      next: `vmflow open ${kind} ${name} --print`,
      link,
    });
  });
  return exitCodes.ok.code;
};
