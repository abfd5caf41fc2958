import { pause } from '../deadline.ts';
import { VimFault } from '../faults.ts';
import type { MoRef, VSphereSession } from '../port.ts';
import { isFault } from '../session-core.ts';
import type { SourceCallOptions } from '../source-port.ts';
import { textOf } from './fields.ts';
import { readEach } from './read-each.ts';
import { callOptions } from './ticking.ts';
import { idOf, refOf } from './vm-ref.ts';

const limits = {
  /** How long tasks of others on the VM (a backup, a vMotion) are waited for, and how often they are looked at. */
  busyMs: 30 * 60_000,
  busyPauseMs: 2_000,
  /** Budget of one task that is read alone, and how many are at a time. */
  taskMs: 10_000,
  tasks: 4,
} as const;

/** Tells the caller of the task, for an attempt after this one, and waits for its end. */
export async function waitForTask(session: VSphereSession, task: MoRef, options: SourceCallOptions): Promise<void> {
  options.onTask?.(idOf(task));
  await session.waitForTask(task, callOptions(options));
}

/** Lets the task of an earlier attempt come to its end; how it ended shows in the state of its VM. */
export async function settleTask(session: VSphereSession, options: SourceCallOptions): Promise<void> {
  if (options.taskRef === undefined) return;
  try {
    await session.waitForTask(refOf(options.taskRef), callOptions(options));
  } catch (error) {
    // Failed, or so long ago that the server has forgotten it.
    const isAnswer = error instanceof VimFault && error.kind === 'task-error';
    if (!isAnswer && !isFault(error, 'ManagedObjectNotFound')) throw error;
  }
}

/**
 * Runs work again while the server says that another task holds the VM. `work` must look again at what it wants to change each
 * time. After half an hour the server's refusal stands.
 */
export async function whileBusy<T>(options: SourceCallOptions, work: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isFault(error, 'TaskInProgress') || performance.now() - begun > limits.busyMs) throw error;
      await pause(limits.busyPauseMs, options.signal);
    }
  }
}

/** Waits for those tasks of a VM that are about its snapshots: one of an attempt whose answer was lost is among them. */
export async function awaitSnapshotTasks(
  session: VSphereSession,
  vm: MoRef,
  options: SourceCallOptions,
): Promise<void> {
  const [content] = await session.retrieve([vm], ['recentTask'], callOptions(options));
  const tasks = (content?.props.get('recentTask') ?? []) as readonly MoRef[];
  // The server forgets tasks after some minutes: some may be gone by now.
  const alone = { ...callOptions(options), eachMs: limits.taskMs, parallel: limits.tasks };
  const { found } = await readEach(session, tasks, ['info.state', 'info.descriptionId'], alone);
  for (const { ref, props } of found) {
    if (isRunningSnapshotTask(props)) await settleTask(session, { ...options, taskRef: idOf(ref) });
  }
}

function isRunningSnapshotTask(props: ReadonlyMap<string, unknown>): boolean {
  const state = textOf(props.get('info.state'));
  return (
    (state === 'running' || state === 'queued') && /snapshot|consolidate/i.test(textOf(props.get('info.descriptionId')))
  );
}
