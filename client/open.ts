import {
  cocoonSetId,
  drainId,
  migrateMainId,
  sourceId,
  vmCoordinatorId,
  vmOperationId,
} from '../workflows/contracts/ids.ts';
import { findBatch } from './batch/find.ts';
import type { Action } from './commands/command.ts';
import { CliError, usageError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { gatewayReasons, type ExecutionRef } from './gateway.ts';
import { describeIfThere } from './execution/wait.ts';
import { findOperation } from './op/find.ts';
import { findEntry } from './queue/find.ts';
import type { Session } from './session.ts';
import { resolveSet } from './set/find.ts';
import { findTemplate } from './template/find.ts';
import type { PlaceFlags } from './vm/place.ts';
import { resolveVm } from './vm/targets.ts';

/** How a name of each kind becomes an execution. A new kind is one more entry. */
const kinds: Readonly<Record<string, (session: Session, name: string, flags: PlaceFlags) => Promise<ExecutionRef>>> = {
  vm: coordinatorOf,
  op: async (session, name, flags) => {
    const { namespace, uid } = await findOperation(session, name, flags);
    return describe(session, vmOperationId(namespace, uid));
  },
  set: ofSet,
  migration: async (session, name, flags) => {
    const set = await resolveSet(session, name, flags);
    return describe(session, migrateMainId(set.namespace, set.name));
  },
  drain: (session, name) => describe(session, drainId(name)),
  template: async (session, name) => (await findTemplate(session, name, {})).execution,
  fleet: async (session, name) => describe(session, name.includes('/') ? name : `template-swap-fleet/${name}`),
  batch: findBatch,
  entry: (session, name) => findEntry(session, name, {}),
  source: (session, name) => describe(session, sourceId(name)),
  workflow: describe,
};

/** The coordinator of the VM; its page shows what is active and leads to it. */
async function coordinatorOf(session: Session, name: string, flags: PlaceFlags): Promise<ExecutionRef> {
  const vm = await resolveVm(session, name, flags);
  try {
    return await describe(session, vmCoordinatorId(vm.namespace, vm.name));
  } catch (error) {
    if (!(error instanceof CliError) || error.reason !== gatewayReasons.notFound) throw error;
    throw error.with({
      message: `nothing has been done to ${vm.namespace}/${vm.name} lately that Temporal remembers`,
      next: `vmflow vm get ${vm.name} -n ${vm.namespace}`,
    });
  }
}

/** What happens to its main VM while something does, else who decided for it last. */
async function ofSet(session: Session, name: string, flags: PlaceFlags): Promise<ExecutionRef> {
  const set = await resolveSet(session, name, flags);
  const [migration, entity] = await Promise.all([
    describeIfThere(session, { workflowId: migrateMainId(set.namespace, set.name) }),
    describeIfThere(session, { workflowId: cocoonSetId(set.namespace, set.name) }),
  ]);
  const found = migration?.state === 'running' ? migration : (entity ?? migration);
  if (found !== undefined) return found;
  throw new CliError({
    exit: 'notFound',
    reason: gatewayReasons.notFound,
    message: `nothing has been done to set ${set.namespace}/${set.name} lately that Temporal remembers`,
    next: `vmflow set get ${set.name} -n ${set.namespace}`,
  });
}

async function describe(session: Session, workflowId: string): Promise<ExecutionRef> {
  return (await session.gateway()).describe({ workflowId });
}

export interface OpenFlags extends PlaceFlags {
  readonly print?: boolean;
}

/** `open KIND NAME`: shows the link, and opens it unless only the link is wanted. */
export const openInBrowser: Action<OpenFlags> = async (session, [kind = '', name = ''], flags) => {
  const find = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (find === undefined)
    throw usageError(`there is no kind "${kind}" to open`, `kinds: ${Object.keys(kinds).join(', ')}`);
  const { workflowId, runId } = await find(session, name, flags);
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
