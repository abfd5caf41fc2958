import { VSphereError } from '../faults.ts';
import type { MoRef, VSphereSession } from '../port.ts';
import type { SourceCallOptions } from '../source-port.ts';
import { fieldsOf, listOf, textOf } from './fields.ts';
import { awaitSnapshotTasks, settleTask, waitForTask, whileBusy } from './source-tasks.ts';
import { callOptions } from './ticking.ts';
import { idOf, isGone } from './vm-ref.ts';

export interface SourceSnapshot {
  readonly name: string;
  readonly ref: MoRef;
}

/** All snapshots of a VM, parents before their children. */
export async function listSnapshots(
  session: VSphereSession,
  vm: MoRef,
  options: SourceCallOptions,
): Promise<readonly SourceSnapshot[]> {
  const [content] = await session.retrieve([vm], ['snapshot'], callOptions(options));
  return flatten(fieldsOf(content?.props.get('snapshot'))['rootSnapshotList']);
}

function flatten(tree: unknown): readonly SourceSnapshot[] {
  return listOf(tree).flatMap((node) => [
    { name: textOf(node['name']), ref: node['snapshot'] as MoRef },
    ...flatten(node['childSnapshotList']),
  ]);
}

/** The snapshot of this name, made where there is none. */
export async function createSnapshot(
  session: VSphereSession,
  vm: MoRef,
  name: string,
  options: SourceCallOptions,
): Promise<MoRef> {
  await settleTask(session, options);
  return await whileBusy(options, async () => {
    // One that is still being made is in no tree yet.
    await awaitSnapshotTasks(session, vm, options);
    const existing = await snapshotNamed(session, vm, name, options);
    if (existing !== undefined) return existing;
    await waitForTask(session, await session.vms.startCreateSnapshot(vm, name, callOptions(options)), options);
    const made = await snapshotNamed(session, vm, name, options);
    if (made === undefined) throw removedAtOnce(vm, name);
    return made;
  });
}

function removedAtOnce(vm: MoRef, name: string): VSphereError {
  const message = `The snapshot ${name} of ${idOf(vm)} was made and is not there: somebody has removed it.`;
  return new VSphereError('PROTOCOL', message, { kind: 'lookup', method: 'CreateSnapshot_Task', message });
}

/** Of several the last one made. */
async function snapshotNamed(
  session: VSphereSession,
  vm: MoRef,
  name: string,
  options: SourceCallOptions,
): Promise<MoRef | undefined> {
  return (await listSnapshots(session, vm, options)).findLast((snapshot) => snapshot.name === name)?.ref;
}

/**
 * Removes what has such a name, one after the other, and consolidates what a removal has left behind. A VM that is gone has no
 * snapshots.
 */
export async function removeSnapshots(
  session: VSphereSession,
  vm: MoRef,
  prefix: string,
  options: SourceCallOptions,
): Promise<void> {
  await settleTask(session, options);
  try {
    while (await whileBusy(options, () => removeNext(session, vm, prefix, options)));
    await whileBusy(options, () => consolidate(session, vm, options));
  } catch (error) {
    if (!isGone(error, vm)) throw error;
  }
}

/** False: none is left. */
async function removeNext(
  session: VSphereSession,
  vm: MoRef,
  prefix: string,
  options: SourceCallOptions,
): Promise<boolean> {
  // Two removals of one snapshot at a time would be one too many.
  await awaitSnapshotTasks(session, vm, options);
  const next = (await listSnapshots(session, vm, options)).find(({ name }) => name.startsWith(prefix));
  if (next !== undefined) await removeOne(session, next.ref, options);
  return next !== undefined;
}

async function removeOne(session: VSphereSession, snapshot: MoRef, options: SourceCallOptions): Promise<void> {
  try {
    await waitForTask(session, await session.vms.startRemoveSnapshot(snapshot, callOptions(options)), options);
  } catch (error) {
    if (!isGone(error, snapshot)) throw error;
  }
}

async function consolidate(session: VSphereSession, vm: MoRef, options: SourceCallOptions): Promise<void> {
  const path = 'runtime.consolidationNeeded';
  const [content] = await session.retrieve([vm], [path], callOptions(options));
  if (content?.props.get(path) !== true) return;
  await waitForTask(session, await session.vms.startConsolidate(vm, callOptions(options)), options);
}
