import type { Cluster, KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { placeOf, type AgentWork } from './agent-work.ts';
import { announce } from './bring-up.ts';
import { create } from './create.ts';
import { AgentFailure } from './failure.ts';
import { hibernate, settle } from './hibernate.ts';
import { AgentGone } from './life.ts';
import { keyOf, viewOf, wishOf, type PodView } from './pod-view.ts';
import { createQueue } from './queue.ts';
import { remove, vanish, vmGone } from './remove.ts';
import { takeStock } from './restart.ts';
import { taskFor, track, type Task, type Tracked } from './tracked.ts';
import { wake } from './wake.ts';

/** One run of the agent of a node, until its life ends. Resolves when it has taken stock of what is there. */
export async function runAgent(cluster: Cluster, work: AgentWork): Promise<void> {
  const { node, life, host, settings } = work;
  const watch = cluster.watch(resources.pod);
  let tracked = new Map<string, Tracked>();
  /** UIDs of Pods that are done with: a watch may still show them. */
  const forgotten = new Set<string>();

  const isOurs = (object: KubeObject): boolean => viewOf(object).nodeName === node;
  function podAt(key: string): PodView | undefined {
    const [namespace = '', name = ''] = key.split('/');
    const object = watch.get(namespace, name);
    return object !== undefined && isOurs(object) && !forgotten.has(object.metadata.uid) ? viewOf(object) : undefined;
  }

  async function workOn(key: string): Promise<'idle' | 'again' | number> {
    const pod = podAt(key);
    const known = tracked.get(key);
    const task = taskFor(pod, known, (id) => host.get(id) !== undefined);
    const subject = known ?? (pod === undefined ? undefined : track(pod));
    if (subject === undefined) return 'idle';
    if (pod !== undefined && pod.uid === subject.pod.uid) subject.pod = pod;
    if (task === undefined) return 'idle';
    tracked.set(key, subject);
    const laterMs = await carryOut(work, task, subject);
    if (laterMs !== undefined) return laterMs;
    if (task === 'remove' || task === 'vanished' || task === 'vm-gone') {
      forgotten.add(subject.pod.uid);
      tracked.delete(key);
    }
    return 'again';
  }

  async function tellFailure(key: string, error: Error): Promise<void> {
    work.onFailure(error);
    const subject = tracked.get(key);
    if (!(error instanceof AgentFailure) || subject === undefined) return;
    await work.lifecycle.say(subject, 'failed', error.message);
    await work.write.event(subject.pod, 'Warning', error.reason, error.message);
  }

  const queue = createQueue({
    life,
    settings,
    work: workOn,
    wishOf: (key) => {
      const pod = podAt(key);
      return pod === undefined ? '' : wishOf(pod);
    },
    onFailure: tellFailure,
  });

  /** A Pod that nothing runs for goes at once, also while its VM is being restored: that is removed afterwards. */
  function forgetAtOnce(pod: PodView): void {
    const isHanging = work.faults.has('deletionHangs', placeOf(work, pod));
    if (!pod.isDeleting || pod.containerRunning || isHanging || !queue.isBusy(keyOf(pod))) return;
    work.write.forget(pod).catch((error: unknown) => {
      if (!(error instanceof AgentGone)) work.onFailure(error as Error);
    });
  }

  function resyncLater(): void {
    life.after(settings.resyncMs, () => {
      for (const key of new Set([
        ...tracked.keys(),
        ...watch
          .items()
          .filter(isOurs)
          .map((pod) => keyOf(pod.metadata)),
      ]))
        queue.look(key, true);
      resyncLater();
    });
  }

  await watch.ready;
  const pods = (await cluster.list(resources.pod)).filter(isOurs).map(viewOf);
  tracked = await takeStock(work, pods);
  const stopWatching = watch.subscribe(({ object }) => {
    if (life.isOver) {
      stopWatching();
      return;
    }
    if (!isOurs(object)) return;
    forgetAtOnce(viewOf(object));
    queue.look(keyOf(object.metadata));
  });
  host.onDeath((id) => {
    for (const [key, { vmId }] of tracked) if (vmId === id && !life.isOver) queue.look(key, true);
  });
  for (const key of new Set([
    ...tracked.keys(),
    ...watch
      .items()
      .filter(isOurs)
      .map((pod) => keyOf(pod.metadata)),
  ]))
    queue.look(key);
  resyncLater();
}

/** Answers when to go on, if it has to be later. */
async function carryOut(work: AgentWork, task: Task, subject: Tracked): Promise<number | undefined> {
  switch (task) {
    case 'create':
      return await create(work, subject);
    case 'announce':
      return await announce(work, subject);
    case 'wake':
      return await wake(work, subject);
    case 'remove':
      return await remove(work, subject);
    case 'hibernate':
      await hibernate(work, subject);
      return undefined;
    case 'settle':
      await settle(work, subject);
      return undefined;
    case 'vanished':
      await vanish(work, subject);
      return undefined;
    case 'vm-gone':
      await vmGone(work, subject);
      return undefined;
    case 'publish':
      await work.lifecycle.repeat(subject);
      return undefined;
  }
}
