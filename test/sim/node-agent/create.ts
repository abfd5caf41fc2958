import { reach, type AgentWork } from './agent-work.ts';
import { announce, download, hold, makeVm, writeId } from './bring-up.ts';
import { AgentFailure, orFailure } from './failure.ts';
import { AgentGone } from './life.ts';
import type { PodView } from './pod-view.ts';
import type { StoredSnapshot } from './snapshots.ts';
import type { Tracked } from './tracked.ts';

const failed = 'CreateBringUpFailed';

/** A Pod without a VM: finds, restores or boots one. Answers when to go on, if it has to be later. */
export async function create(work: AgentWork, tracked: Tracked): Promise<number | undefined> {
  const { pod } = tracked;
  await reach(work, tracked, 'create-1');
  if (pod.vmName === '') throw new AgentFailure(failed, `${pod.name} has no VM name.`);
  if (pod.snapshotClass !== '' && pod.snapshotClass !== work.snapshotClass)
    throw new AgentFailure(
      failed,
      `${pod.name} asks for CPUs of the class ${pod.snapshotClass}, which ${work.node} has not got.`,
    );
  await reach(work, tracked, 'create-3');
  await work.lifecycle.say(tracked, 'creating');
  await reach(work, tracked, 'create-4');
  if (!pod.managed) {
    await adoptForeign(work, tracked);
    return undefined;
  }
  const existing = work.host.named(pod.vmName);
  if (existing !== undefined) {
    hold(tracked, work.host.resume(existing.id));
    return await adopted(work, tracked);
  }
  await bringUp(work, tracked).catch(async (error: unknown) => {
    if (!(error instanceof AgentGone)) await sayPending(work, tracked, error);
    throw error;
  });
  await reach(work, tracked, 'create-9');
  await writeId(work, tracked);
  return await announce(work, tracked);
}

/** Somebody else's VM: only what was written about it beforehand is told. */
async function adoptForeign(work: AgentWork, tracked: Tracked): Promise<void> {
  tracked.stage = 'up';
  tracked.isTold = true;
  await work.write.status(tracked.pod, { phase: 'Running', running: true, ready: true });
  await work.lifecycle.say(tracked, 'ready');
}

async function adopted(work: AgentWork, tracked: Tracked): Promise<number | undefined> {
  await reach(work, tracked, 'create-9');
  await writeId(work, tracked);
  return await announce(work, tracked);
}

async function bringUp(work: AgentWork, tracked: Tracked): Promise<void> {
  const { pod } = tracked;
  await reach(work, tracked, 'create-6');
  const found = await orFailure('HibernateEvidenceUnavailable', 'Whether a snapshot exists is unknown', () =>
    work.snapshots.find(pod.vmName, 'hibernate'),
  );
  const origin = originOf(pod, found);
  if (origin !== undefined && !pod.restore)
    await work.write.event(pod, 'Normal', 'HibernateSnapshotExists', 'A snapshot of this VM exists and is restored.');
  await reach(work, tracked, 'create-7');
  await orFailure(failed, `${pod.vmName} could not be brought up`, async () => {
    if (origin === undefined) {
      await makeVm(work, tracked);
      return;
    }
    const counter = await download(work, tracked, origin);
    await reach(work, tracked, 'create-7-downloaded');
    await makeVm(work, tracked, { digest: origin.digest, counter });
  });
}

/** What the VM is made of; undefined: its image. Fails where neither is safe. */
export function originOf(pod: PodView, found: StoredSnapshot | undefined): StoredSnapshot | undefined {
  if (found === undefined) {
    if (pod.restore) throw new AgentFailure(failed, `${pod.vmName} is to be restored, but there is no snapshot of it.`);
    return undefined;
  }
  const refused = (why: string): AgentFailure =>
    new AgentFailure('HibernateEvidenceFailed', `A snapshot of ${pod.vmName} exists, but ${why}.`);
  if (!pod.restore && pod.hasCloneSource) throw refused('another source is asked for');
  if (found.baseImage !== '' && found.baseImage !== pod.image)
    throw refused(`it was made from ${found.baseImage}, and ${pod.image} is asked for`);
  return found;
}

async function sayPending(work: AgentWork, { pod }: Tracked, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  const status = { phase: 'Pending', running: false, reason: 'ProviderFailed', message } as const;
  await work.write.status(pod, status).catch((failure: unknown) => work.onFailure(failure as Error));
}
