import { Context } from '@temporalio/activity';
import { toWireName } from '../../workflows/domain/template/names.ts';
import { OperationError } from '../failures.ts';
import { pause } from '../heartbeat.ts';
import { VSphereError, VimFault } from '../vsphere/faults.ts';
import type { MoRef, ObjectContent, VSphereSession } from '../vsphere/port.ts';
import { asRef, field, list } from './read-vm.ts';

/** A rename may have to wait for clones that hold the VM; giving it up would let it happen later with nobody at hand. */
const renameTimeoutMs = 30 * 60_000;

/** Pauses between two looks at a VM's tasks: the name may be absent meanwhile, or a clone may take hours. */
const settlePauses = { firstMs: 5, longestMs: 500 } as const;

/** Renames and waits for the task. */
export async function rename(session: VSphereSession, vm: MoRef, newName: string): Promise<void> {
  const task = await session.startRename(vm, toWireName(newName), { timeoutMs: renameTimeoutMs });
  await session.waitForTask(task, { timeoutMs: renameTimeoutMs });
}

/** The VM's name in wire form; undefined when it is gone. */
export async function nameOf(session: VSphereSession, vm: MoRef): Promise<string | undefined> {
  try {
    const [content] = await session.retrieve([vm], ['name']);
    return field({ name: content?.props.get('name') }, 'name');
  } catch (err) {
    if (err instanceof VimFault && err.faultType === 'ManagedObjectNotFound') return undefined;
    throw err;
  }
}

/** Waits until none of the VM's recent tasks is queued or running: only then its name says what will be. */
export async function settled(session: VSphereSession, vm: MoRef, signal: AbortSignal): Promise<void> {
  const { firstMs, longestMs } = settlePauses;
  for (let waitMs: number = firstMs; await hasOpenTask(session, vm); waitMs = Math.min(waitMs * 2, longestMs))
    await pause(waitMs, signal);
}

async function hasOpenTask(session: VSphereSession, vm: MoRef): Promise<boolean> {
  const tasks = await recentTasks(session, vm, ['info.state']);
  return tasks.some(({ props }) => ['queued', 'running'].includes(String(props.get('info.state'))));
}

/** When the VM got its present name, by the server's clock in epoch milliseconds; undefined where no task tells any more. */
export async function renamedAt(session: VSphereSession, vm: MoRef): Promise<number | undefined> {
  const tasks = await recentTasks(session, vm, ['info.descriptionId', 'info.state', 'info.completeTime']);
  const times = tasks
    .filter(({ props }) => props.get('info.state') === 'success')
    .filter(({ props }) => String(props.get('info.descriptionId')).endsWith('.rename'))
    .map(({ props }) => Date.parse(String(props.get('info.completeTime'))))
    .filter((time) => !Number.isNaN(time));
  return times.length === 0 ? undefined : Math.max(...times);
}

async function recentTasks(
  session: VSphereSession,
  vm: MoRef,
  paths: readonly string[],
): Promise<readonly ObjectContent[]> {
  try {
    const [content] = await session.retrieve([vm], ['recentTask']);
    const tasks = list(content?.props.get('recentTask'))
      .map(asRef)
      .filter((ref) => ref !== undefined);
    return tasks.length === 0 ? [] : await session.retrieve(tasks, paths);
  } catch (err) {
    // The VM or one of its tasks is gone: what is gone doesn't run.
    if (err instanceof VimFault && err.faultType === 'ManagedObjectNotFound') return [];
    throw err;
  }
}

/** True when the server may have done it although no answer came: the names have to be read again. */
export function isOutcomeUnknown(err: unknown): boolean {
  return err instanceof VSphereError && err.outcomeUnknown;
}

/** The names are not as they were when this step was planned: nothing was changed, plan again. */
export function reobserve(message: string): OperationError {
  return new OperationError('Conflict', `${message}; nothing was changed by this step`, {
    code: 'REOBSERVE',
    retryable: false,
  });
}

/** The signal that tells this attempt to stop before it begins something. */
export function stopSignal(): AbortSignal {
  return Context.current().cancellationSignal;
}
