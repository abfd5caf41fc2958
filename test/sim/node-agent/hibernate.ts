import { mayFail, reach, spend, struck, type AgentWork } from './agent-work.ts';
import { clearId, writeId } from './bring-up.ts';
import { AgentFailure, orFailure } from './failure.ts';
import { AgentGone } from './life.ts';
import type { Tracked } from './tracked.ts';

const tag = 'hibernate';

/** Stores the VM in the registry and removes it here. Whatever fails leaves the VM running. */
export async function hibernate(work: AgentWork, tracked: Tracked): Promise<void> {
  const { pod, vmId: id } = tracked;
  if (id === undefined) return;
  if (pod.os === 'macos') {
    await refuse(work, tracked);
    return;
  }
  await reach(work, tracked, 'hibernate-1');
  await work.lifecycle.say(tracked, 'hibernating');
  const digest = await stored(work, tracked, id).catch((error: unknown) => {
    if (!(error instanceof AgentGone) && work.host.get(id) !== undefined) work.host.resume(id);
    throw error;
  });
  const delay = struck(work, tracked, 'removalDelay');
  if (delay !== undefined) await work.life.spend(delay.delayMs);
  await reach(work, tracked, 'hibernate-4');
  await takeOffId(work, tracked);
  await reach(work, tracked, 'hibernate-5');
  await removed(work, tracked, id, digest);
  await settle(work, tracked);
}

/** Saves and uploads; answers the digest. */
async function stored(work: AgentWork, tracked: Tracked, id: string): Promise<string> {
  const { host, settings } = work;
  const { pod } = tracked;
  await reach(work, tracked, 'hibernate-2');
  const counter = await orFailure('HibernateSnapshotFailed', `${pod.vmName} could not be saved`, async () => {
    host.resume(id); // a killed save may have left it paused
    await spend(work, tracked, 0, 'saveStalls');
    const atPause = host.pause(id).counter;
    await reach(work, tracked, 'hibernate-2-paused');
    await mayFail(work, tracked, 'saveFails', 'no snapshot came of it');
    await work.life.spend(settings.saveMs);
    if (!settings.holdPaused) host.resume(id);
    return atPause;
  });
  await reach(work, tracked, 'hibernate-3');
  return await orFailure('HibernatePushFailed', `The snapshot of ${pod.vmName} could not be stored`, async () => {
    await spend(work, tracked, settings.pushMs, 'pushStalls');
    return await push(work, tracked, tag, counter);
  });
}

export async function push(work: AgentWork, tracked: Tracked, under: string, counter: number): Promise<string> {
  const { vmName: vm, owner, image } = tracked.pod;
  const digest = await work.snapshots.push({ vm, owner, image, counter }, under, async () => {
    if (under !== tag) return;
    await mayFail(work, tracked, 'pushFails', 'the upload broke off');
    await reach(work, tracked, 'hibernate-3-blobs');
  });
  work.timeline.add({ what: 'tag-put', vm, tag: under, digest, counter, owner, by: work.node });
  return digest;
}

async function takeOffId(work: AgentWork, tracked: Tracked): Promise<void> {
  try {
    await mayFail(work, tracked, 'clearIdFails', 'the id could not be taken off');
    await clearId(work, tracked);
  } catch (error) {
    if (error instanceof AgentGone) throw error; // else again once the VM is removed
  }
}

/** Removes the VM, or takes the tag back. */
async function removed(work: AgentWork, tracked: Tracked, id: string, digest: string): Promise<void> {
  try {
    await mayFail(work, tracked, 'removalFails', 'the hypervisor did not remove it');
    await work.life.spend(work.settings.removeMs);
    work.host.destroy(id, 'hibernated', digest);
    tracked.vmId = undefined;
    tracked.stage = 'asleep';
    tracked.isTold = false;
  } catch (error) {
    if (error instanceof AgentGone || work.host.get(id) === undefined) throw error;
    await takeBack(work, tracked);
    work.host.resume(id);
    await writeId(work, tracked);
    throw new AgentFailure('HibernateRemoveFailed', `${tracked.pod.vmName} is stored but still runs.`, error);
  }
}

/** When this fails the tag stays although the VM lives. */
async function takeBack(work: AgentWork, tracked: Tracked): Promise<void> {
  const { vmName: vm } = tracked.pod;
  try {
    await mayFail(work, tracked, 'rollbackFails', 'the registry answered 503 to DELETE of the tag');
    await work.snapshots.remove(vm, tag);
    work.timeline.add({ what: 'tag-deleted', vm, reference: tag, by: work.node });
  } catch (error) {
    if (error instanceof AgentGone) throw error;
    work.onFailure(error as Error);
  }
}

/** Says that the VM is asleep. */
export async function settle(work: AgentWork, tracked: Tracked): Promise<void> {
  const { pod } = tracked;
  await clearId(work, tracked);
  await reach(work, tracked, 'hibernate-6');
  await work.lifecycle.say(tracked, 'hibernated');
  await work.write.event(pod, 'Normal', 'Hibernated', `${pod.vmName} is stored and removed here.`);
  await reach(work, tracked, 'hibernate-7');
  await work.write.status(pod, { phase: 'Pending', running: false });
  tracked.isTold = true;
}

async function refuse(work: AgentWork, tracked: Tracked): Promise<void> {
  tracked.hasRefused = true;
  const message = `${tracked.pod.vmName} runs macOS, which can't be hibernated.`;
  await work.lifecycle.say(tracked, 'failed', message);
  await work.write.event(tracked.pod, 'Warning', 'HibernateUnsupported', message);
}
