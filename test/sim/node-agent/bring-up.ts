import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { mayFail, reach, spend, struck, type AgentWork } from './agent-work.ts';
import { AgentGone } from './life.ts';
import type { Vm } from './node-host.ts';
import type { StoredSnapshot } from './snapshots.ts';
import type { Tracked } from './tracked.ts';

/** The parts of bringing a VM up that creating and waking have in common. */

/** Downloads and checks a snapshot; answers the guest's counter. */
export async function download(work: AgentWork, tracked: Tracked, snapshot: StoredSnapshot): Promise<number> {
  const stale = struck(work, tracked, 'staleRunning');
  if (stale !== undefined) {
    await work.write.status(tracked.pod, { phase: 'Running', running: true });
    await work.life.spend(stale.delayMs);
    await work.write.status(tracked.pod, { phase: 'Pending', running: false });
  }
  await mayFail(work, tracked, 'downloadMissing', 'the registry has not got a blob of the snapshot');
  await mayFail(work, tracked, 'downloadRefused', 'the registry answered 503 to GET of a blob');
  await mayFail(work, tracked, 'downloadSpoilt', 'a blob of the snapshot has another content');
  await spend(work, tracked, work.settings.pullMs);
  return await work.snapshots.pull(tracked.pod.vmName, snapshot);
}

/** Makes the VM and notes it; from a snapshot or, without one, from its image. */
export async function makeVm(
  work: AgentWork,
  tracked: Tracked,
  snapshot?: { readonly digest: string; readonly counter: number },
): Promise<void> {
  const { pod } = tracked;
  await mayFail(work, tracked, 'createFails', 'the hypervisor made no VM');
  if (snapshot === undefined) await spend(work, tracked, work.settings.bootMs);
  else await spend(work, tracked, work.settings.restoreMs, 'restoreStalls');
  await work.life.pass();
  const { vmName: name, owner, isMain } = pod;
  const vm = work.host.start({ name, owner, isMain, ...(snapshot === undefined ? {} : { snapshot }) });
  hold(tracked, vm);
  const death = struck(work, tracked, 'vmDies');
  if (death !== undefined) setTimeout(() => work.host.die(name), death.delayMs).unref();
}

export function hold(tracked: Tracked, vm: Vm): void {
  tracked.stage = 'up';
  tracked.vmId = vm.id;
  tracked.isTold = false;
  tracked.hasRefused = false;
}

/** Some tries; when all fail the VM runs without an id on its Pod until the agent starts anew. */
export async function writeId(work: AgentWork, tracked: Tracked): Promise<void> {
  const vm = work.host.get(tracked.vmId ?? '');
  if (vm === undefined) return;
  for (let tries = 1; tries <= work.settings.writeTries; tries++) {
    try {
      await mayFail(work, tracked, 'idWriteFails', 'the id could not be written');
      await work.write.annotate(tracked.pod, { [cocoonKeys.vmId]: vm.id, [cocoonKeys.ip]: vm.ip });
      return;
    } catch (error) {
      if (error instanceof AgentGone) throw error;
      await work.life.spend(work.settings.writePauseMs);
    }
  }
}

export async function clearId(work: AgentWork, { pod }: Tracked): Promise<void> {
  await work.write.annotate(pod, { [cocoonKeys.vmId]: undefined, [cocoonKeys.ip]: undefined });
}

/** When a container that is not said to run is tried again. */
const laterMs = 100;

/** Says that the VM runs, waits for its network and says that it is ready. Answers when to try again, if it has to. */
export async function announce(work: AgentWork, tracked: Tracked): Promise<number | undefined> {
  const { pod } = tracked;
  const vm = work.host.get(tracked.vmId ?? '');
  if (vm === undefined) return undefined;
  await reach(work, tracked, 'create-10');
  if (struck(work, tracked, 'neverRunning') !== undefined) return laterMs;
  await work.write.status(pod, { phase: 'Running', running: true });
  await reach(work, tracked, 'create-11');
  if (struck(work, tracked, 'networkNeverSettles') !== undefined) {
    await work.life.spend(work.settings.networkBudgetMs);
    tracked.isTold = true;
    await noNetwork(work, tracked);
    return undefined;
  }
  await work.life.spend(work.settings.networkMs);
  await work.write.status(pod, { phase: 'Running', running: true, ready: true, ip: vm.ip });
  tracked.isTold = true;
  await work.lifecycle.say(tracked, 'ready');
  return undefined;
}

/** The VM keeps running, and nothing is tried again: `failed` stays until somebody hibernates it. */
async function noNetwork({ lifecycle, write }: AgentWork, tracked: Tracked): Promise<void> {
  const { pod } = tracked;
  const message = `${pod.vmName} runs, but it got no address within the time.`;
  await lifecycle.say(tracked, 'failed', message);
  await write.event(pod, 'Warning', pod.restore ? 'WakeIPWaitTimeout' : 'PostCloneIPWaitTimeout', message);
}
