import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import { folderPath, templateSwapId } from '../../workflows/contracts/ids.ts';
import { CliError } from '../errors.ts';
import type { ExecutionView, Gateway } from '../gateway.ts';
import type { Session } from '../session.ts';
import type { TemplateMemo } from '../../workflows/contracts/template-memo.ts';
import { readMemo } from './memo.ts';

/** How many executions of the past are looked through; more than a year of nightly updates of five templates. */
const searchLimit = 2_000;

/** Flags that say which of several templates with one name is meant. */
export interface Narrowing {
  readonly vcenter?: string;
  readonly datacenter?: string;
  readonly folder?: string;
}

/** A template that vmflow has worked on: its newest execution that wasn't only a plan, if there is one. */
export interface KnownTemplate {
  readonly execution: ExecutionView;
  readonly memo: TemplateMemo;
}

/** All templates that visibility knows, newest first, one per workflow id. */
export async function knownTemplates(gateway: Gateway): Promise<readonly KnownTemplate[]> {
  const kind: OperationKind = 'template-swap';
  const executions = await gateway.list(`${searchKeys.kind.name} = '${kind}'`, searchLimit);
  const byId = new Map<string, KnownTemplate>();
  for (const execution of executions) {
    const memo = readMemo(execution.memo);
    const seen = byId.get(execution.workflowId);
    if (memo === undefined || (seen !== undefined && !isBetter(execution, memo, seen))) continue;
    byId.set(execution.workflowId, { execution, memo });
  }
  return [...byId.values()];
}

/** A running execution is always the one that is meant; a real one before a plan. The list is newest first. */
function isBetter(execution: ExecutionView, memo: TemplateMemo, seen: KnownTemplate): boolean {
  return seen.execution.state !== 'running' && seen.memo.dryRun === true && memo.dryRun !== true;
}

/** The templates with this name that the narrowing flags leave. */
export function matching(all: readonly KnownTemplate[], name: string, narrow: Narrowing): readonly KnownTemplate[] {
  return all.filter(
    ({ memo }) =>
      memo.name === name &&
      (narrow.vcenter === undefined || memo.vcenter === narrow.vcenter) &&
      (narrow.datacenter === undefined || memo.placement.datacenter === narrow.datacenter) &&
      (narrow.folder === undefined ||
        memo.folder === folderPath({ datacenter: memo.placement.datacenter, folder: narrow.folder })),
  );
}

/** The one template that a name or a workflow id means. Rejects with exit 3 when there is none or more than one. */
export async function findTemplate(session: Session, name: string, narrow: Narrowing): Promise<KnownTemplate> {
  const gateway = await session.gateway();
  if (name.startsWith('template-swap/')) return byId(gateway, name);
  const found = matching(await knownTemplates(gateway), name, narrow);
  if (found.length > 1) throw ambiguous(name, found);
  const [only] = found;
  if (only !== undefined) return only;
  if (narrow.vcenter !== undefined && narrow.datacenter !== undefined) {
    const placement = {
      datacenter: narrow.datacenter,
      ...(narrow.folder === undefined ? {} : { folder: narrow.folder }),
    };
    return byId(gateway, templateSwapId({ vcenter: narrow.vcenter, placement, template: { prodName: name } }));
  }
  throw new CliError({
    exit: 'notFound',
    reason: 'TEMPLATE_NOT_FOUND',
    message: `vmflow has no record of a template "${name}"`,
    state: 'closed executions are forgotten after the retention of the namespace; the template itself may well exist',
    next: ['vmflow template list', `vmflow template update ${name} --ova FILE|URL`],
  });
}

async function byId(gateway: Gateway, workflowId: string): Promise<KnownTemplate> {
  const execution = await gateway.describe({ workflowId });
  const memo = readMemo(execution.memo) ?? memoFromId(workflowId);
  return { execution, memo };
}

/** What the id itself says, for an execution without our memo. */
function memoFromId(workflowId: string): TemplateMemo {
  const [, vcenter = '', ...rest] = workflowId.split('/');
  const name = rest.at(-1) ?? workflowId;
  const folder = `/${rest.slice(0, -1).join('/')}`;
  const placement = { datacenter: rest[0] ?? '', cluster: '', datastore: '', network: '', folder };
  return { name, vcenter, folder, version: '', placement, naming: { prodName: name } };
}

export function ambiguous(name: string, found: readonly KnownTemplate[]): CliError {
  return new CliError({
    exit: 'notFound',
    reason: 'NAME_AMBIGUOUS',
    message: `there are ${String(found.length)} templates named "${name}"`,
    why: found.map(({ execution, memo }) => `${execution.workflowId}  (${memo.vcenter} ${memo.folder})`).join('\n'),
    next: 'use an id instead of the name, or add --vcenter, --datacenter or --folder',
  });
}
