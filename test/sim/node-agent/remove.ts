import { mayFail, placeOf, reach, type AgentWork } from './agent-work.ts';
import { orFailure } from './failure.ts';
import { push } from './hibernate.ts';
import { AgentGone } from './life.ts';
import type { PodView } from './pod-view.ts';
import type { Tracked } from './tracked.ts';

/** When a deletion that hangs is looked at again. */
const laterMs = 100;

/** A Pod that is being deleted. Answers when to look again, if it isn't gone yet. */
export async function remove(work: AgentWork, tracked: Tracked): Promise<number | undefined> {
  const { pod } = tracked;
  if (work.faults.has('deletionHangs', placeOf(work, pod))) return laterMs;
  if (!pod.containerRunning) {
    await reach(work, tracked, 'delete-4');
    await work.write.forget(pod);
    await destroy(work, tracked);
    return undefined;
  }
  await vanish(work, tracked);
  await reach(work, tracked, 'delete-3');
  await work.write.status(pod, { phase: 'Succeeded', running: false });
  await reach(work, tracked, 'delete-4');
  await work.write.forget(pod);
  return undefined;
}

/** What is left of a VM whose Pod goes or is gone. */
export async function vanish(work: AgentWork, tracked: Tracked): Promise<void> {
  await keepLatest(work, tracked);
  await destroy(work, tracked);
}

async function keepLatest(work: AgentWork, tracked: Tracked): Promise<void> {
  const { pod, vmId = '' } = tracked;
  if (!pod.managed || work.host.get(vmId) === undefined || !isKept(pod)) return;
  await reach(work, tracked, 'delete-1');
  try {
    const { counter } = work.host.pause(vmId);
    await work.life.spend(work.settings.saveMs + work.settings.pushMs);
    await push(work, tracked, 'latest', counter);
  } catch (error) {
    if (error instanceof AgentGone) throw error;
    work.onFailure(error as Error); // the VM goes nevertheless
  }
}

function isKept({ snapshotPolicy, isMain }: PodView): boolean {
  return snapshotPolicy === 'always' || (snapshotPolicy === 'main-only' && isMain);
}

async function destroy(work: AgentWork, tracked: Tracked): Promise<void> {
  const { pod, vmId = '' } = tracked;
  if (!pod.managed || work.host.get(vmId) === undefined) return;
  await reach(work, tracked, 'delete-2');
  await orFailure('DeleteFailed', `${pod.vmName} could not be removed`, () =>
    mayFail(work, tracked, 'destroyFails', 'the hypervisor did not remove it'),
  );
  await work.life.spend(work.settings.removeMs);
  if (work.host.get(vmId) !== undefined) work.host.destroy(vmId, 'deleted');
  tracked.vmId = undefined;
}

/** The VM died: its Pod is told so and deleted. */
export async function vmGone(work: AgentWork, { pod }: Tracked): Promise<void> {
  const message = `${pod.vmName} is gone.`;
  await work.write.status(pod, { phase: 'Failed', running: false, reason: 'VMGone', message });
  await work.write.event(pod, 'Warning', 'VMGone', message);
  await work.write.remove(pod);
}
