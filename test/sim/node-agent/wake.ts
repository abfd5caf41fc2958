import { reach, type AgentWork } from './agent-work.ts';
import { announce, clearId, download, makeVm, writeId } from './bring-up.ts';
import { AgentFailure, orFailure } from './failure.ts';
import type { Tracked } from './tracked.ts';

/** Brings a hibernated VM up again on its Pod, under a new id. Its tag stays: that is for others to drop. */
export async function wake(work: AgentWork, tracked: Tracked): Promise<number | undefined> {
  const { pod } = tracked;
  await reach(work, tracked, 'wake-1');
  await work.lifecycle.say(tracked, 'creating');
  await reach(work, tracked, 'wake-2');
  await clearId(work, tracked);
  await reach(work, tracked, 'wake-3');
  const snapshot = await orFailure('WakePullFailed', `${pod.vmName} could not be fetched`, async () => {
    const found = await work.snapshots.find(pod.vmName, 'hibernate');
    if (found === undefined) throw new AgentFailure('WakePullFailed', `There is no snapshot of ${pod.vmName}.`);
    return { digest: found.digest, counter: await download(work, tracked, found) };
  });
  await reach(work, tracked, 'wake-4');
  await orFailure('WakeCloneFailed', `${pod.vmName} could not be brought up`, () => makeVm(work, tracked, snapshot));
  await reach(work, tracked, 'create-9');
  await writeId(work, tracked);
  const later = await announce(work, tracked);
  await work.write.event(pod, 'Normal', 'Woken', `${pod.vmName} runs again.`);
  return later;
}
