import type { LifecycleState } from '../../../workflows/domain/hibernate/observation.ts';
import type { PodView } from './pod-view.ts';

/** What the process of an agent remembers of a Pod: nothing that a restart couldn't do without. */
export interface Tracked {
  /** As it was last seen. */
  pod: PodView;
  /** `new`: no VM was made or found yet; `asleep`: its VM is in the registry. */
  stage: 'new' | 'up' | 'asleep';
  vmId: string | undefined;
  /** Of `up`: the Pod says that it runs, and the network was waited for. Of `asleep`: the Pod says so. */
  isTold: boolean;
  /** It was asked to hibernate and never will. */
  hasRefused: boolean;
  said: { readonly state: LifecycleState; readonly message: string; readonly generation: number } | undefined;
}

export function track(pod: PodView): Tracked {
  return { pod, stage: 'new', vmId: undefined, isTold: false, hasRefused: false, said: undefined };
}

export type Task =
  | 'create'
  /** Say that a VM runs. */
  | 'announce'
  | 'hibernate'
  /** Say that a VM is asleep. */
  | 'settle'
  | 'wake'
  | 'remove'
  /** The Pod went without the agent's doing. */
  | 'vanished'
  | 'vm-gone'
  /** The same lifecycle for a newer stamp. */
  | 'publish';

/** What there is to do for a Pod; undefined: nothing. */
export function taskFor(
  pod: PodView | undefined,
  tracked: Tracked | undefined,
  hasVm: (id: string) => boolean,
): Task | undefined {
  if (tracked !== undefined && tracked.pod.uid !== pod?.uid) return 'vanished';
  if (pod === undefined) return undefined;
  if (pod.isDeleting) return 'remove';
  if (pod.isOver) return undefined;
  if (tracked === undefined || tracked.stage === 'new') return 'create';
  const moved = tracked.stage === 'up' ? whenUp(pod, tracked, hasVm) : whenAsleep(pod, tracked);
  if (moved !== undefined) return moved;
  return pod.stamp > (tracked.said?.generation ?? 0) ? 'publish' : undefined;
}

function whenUp(pod: PodView, { vmId, isTold, hasRefused }: Tracked, hasVm: (id: string) => boolean): Task | undefined {
  if (vmId !== undefined && !hasVm(vmId)) return 'vm-gone';
  if (pod.hibernate && pod.managed && !hasRefused) return 'hibernate';
  return isTold ? undefined : 'announce';
}

function whenAsleep(pod: PodView, { isTold }: Tracked): Task | undefined {
  if (!isTold) return 'settle';
  return pod.hibernate ? undefined : 'wake';
}
