import type { TemplateSwapRequest } from '../../workflows/contracts/template.ts';
import type { Action } from '../commands/command.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import { labelled } from '../output/error.ts';
import { quote } from './render.ts';
import type { UpdateFlags } from './draft.ts';
import { buildRequest } from './request.ts';
import { startSwap, type Started } from './start.ts';
import { waitForEnd, type WaitFlags } from './wait.ts';

export interface UpdateCommandFlags extends UpdateFlags, WaitFlags {
  readonly supersede?: boolean;
  readonly reason?: string;
}

/** `template update`: starts or joins; waits only when asked to, or for a plan. */
export const updateTemplate: Action<UpdateCommandFlags> = async (session, [name], flags) => {
  const request = await buildRequest(session, name, flags);
  const started = await startSwap(session, request, {
    supersede: flags.supersede === true,
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
  });
  const isPlan = flags.dryRun === true;
  if (isPlan && started.how !== 'started') throw await cannotPlan(session, request, started);
  if (!isPlan && flags.wait === undefined) return printStarted(session, request, started);
  const ref = { workflowId: started.workflowId, ...(started.runId === '' ? {} : { runId: started.runId }) };
  return waitForEnd(session, ref, flags, {
    goal: 'update',
    // A new target takes effect at the workflow's next step, so until then the old one is no surprise.
    ...(started.how === 'retargeted'
      ? {}
      : { target: { version: request.target.version, sha256: request.source.sha256 } }),
  });
};

async function cannotPlan(session: Session, request: TemplateSwapRequest, started: Started): Promise<CliError> {
  return new CliError({
    exit: 'refused',
    reason: 'SWAP_RUNNING',
    message: `can't plan an update of ${request.template.prodName}: the real one to ${request.target.version} is in progress (${started.phase})`,
    next: `vmflow template watch ${quote(request.template.prodName)}`,
    link: await session.link(started.workflowId, started.runId),
  });
}

async function printStarted(session: Session, request: TemplateSwapRequest, started: Started): Promise<0> {
  const name = request.template.prodName;
  const link = await session.link(started.workflowId, started.runId);
  const { paint } = session;
  const lines = [
    headline(request, started),
    labelled('id', started.workflowId, paint),
    labelled('watch', `vmflow template watch ${quote(name)}`, paint),
    labelled('cancel', `vmflow template cancel ${quote(name)}`, paint),
    labelled('link', session.showLink(link), paint),
  ];
  await session.print({
    kind: 'TemplateUpdate',
    document: {
      id: started.workflowId,
      runId: started.runId,
      name,
      vcenter: request.vcenter,
      how: started.how,
      phase: started.phase,
      version: request.target.version,
      sha256: request.source.sha256,
      link,
    },
    names: [name],
    ids: [started.workflowId],
    text: `${lines.join('\n')}\n`,
  });
  return exitCodes.ok.code;
}

function headline(request: TemplateSwapRequest, { how, phase }: Started): string {
  const what = `${request.template.prodName}: update to ${request.target.version} on ${request.vcenter}`;
  switch (how) {
    case 'started':
      return `${what} started`;
    case 'joined':
      return `${what} is already in progress (${phase})`;
    case 'retargeted':
      return `${what} takes the place of the one in progress`;
  }
}
