import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import { folderPath, targetKey, templateSwapId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { EnsureAnswer, EnsureTarget, Retarget, TemplateSwapRequest } from '../../workflows/contracts/template.ts';
import { CliError } from '../errors.ts';
import type { StartRequest } from '../gateway.ts';
import type { Session } from '../session.ts';
import { memoOf } from '../../workflows/contracts/template-memo.ts';
import { quote } from './render.ts';
import { staticDetails } from './static-details.ts';

/** What became of a start: a run of its own, one that was there, or one that changes its target. */
export interface Started {
  readonly how: EnsureAnswer['how'] | 'retargeted';
  readonly workflowId: string;
  readonly runId: string;
  readonly phase: string;
}

/** Starts the swap or joins an equal one; with `supersede`, a running one for another target changes to this one. */
export async function startSwap(
  session: Session,
  request: TemplateSwapRequest,
  how: { readonly supersede: boolean; readonly reason?: string },
): Promise<Started> {
  const gateway = await session.gateway();
  const start = startRequest(request);
  const target: EnsureTarget = {
    version: request.target.version,
    sha256: request.source.sha256,
    ...(request.by === undefined ? {} : { by: request.by }),
  };
  // The word at the end tells this call from an equal one later in the same run, after another target in between.
  const updateId = `${messages.ensure}/${targetKey(request)}/${session.runtime.random()}`;
  try {
    const { runId, answer } = await gateway.startWithUpdate(start, { name: messages.ensure, updateId, body: target });
    const { how: joined, status } = answer as EnsureAnswer;
    return { how: joined, workflowId: start.workflowId, runId, phase: status };
  } catch (error) {
    if (!(error instanceof CliError) || error.reason !== 'SWAP_RUNNING') throw error;
    if (!how.supersede) throw await swapRunning(session, request, error);
    return retarget(session, request, how.reason);
  }
}

async function swapRunning(session: Session, request: TemplateSwapRequest, error: CliError): Promise<CliError> {
  const name = quote(request.template.prodName);
  return error.with({
    message: `can't update template ${request.template.prodName} to ${request.target.version}: another update of it is in progress`,
    why: causeOf(error),
    state: 'the running update goes on; nothing was changed by this call',
    next: [`vmflow template watch ${name}`, 'or the same command with --supersede to go to this version instead'],
    link: await session.link(templateSwapId(request)),
  });
}

/** The workflow's own words. */
function causeOf(error: CliError): string {
  const words = error.cause instanceof Error ? error.cause.message : error.message;
  return words.replace(/^SWAP_RUNNING: /, '');
}

async function retarget(session: Session, request: TemplateSwapRequest, reason: string | undefined): Promise<Started> {
  const gateway = await session.gateway();
  const workflowId = templateSwapId(request);
  const body: Retarget = {
    source: request.source,
    target: request.target,
    by: request.by ?? session.runtime.user(),
    ...(reason === undefined ? {} : { reason }),
  };
  const { runId } = await gateway.describe({ workflowId });
  const updateId = `${messages.retarget}/${targetKey(request)}/${session.runtime.random()}`;
  await gateway.update({ workflowId, runId }, { name: messages.retarget, updateId, body });
  return { how: 'retargeted', workflowId, runId, phase: 'Observing' };
}

function startRequest(request: TemplateSwapRequest): StartRequest {
  const kind: OperationKind = 'template-swap';
  const { prodName } = request.template;
  const plan = request.options?.dryRun === true ? 'plan ' : '';
  return {
    type: 'templateSwap',
    workflowId: templateSwapId(request),
    args: [request],
    summary: oneLine(`${plan}update template ${prodName} to ${request.target.version} on ${request.vcenter}`),
    details: staticDetails(request),
    memo: { ...memoOf(request) },
    attributes: [
      { key: searchKeys.kind, value: kind },
      { key: searchKeys.vm, value: shortened(`${folderPath(request.placement)}/${prodName}`, 255) },
      { key: searchKeys.target, value: shortened(request.target.version, 255) },
      { key: searchKeys.source, value: request.vcenter },
    ],
  };
}

/** At most 200 bytes, the limit of a summary. */
function oneLine(text: string): string {
  return shortened(text.replaceAll(/\s+/g, ' '), 200);
}

/** Cuts at a character, not within one, and says so. */
export function shortened(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  let kept = text;
  while (Buffer.byteLength(kept) > maxBytes - 3) kept = [...kept].slice(0, -1).join('');
  return `${kept}…`;
}
