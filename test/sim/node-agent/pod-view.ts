import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';

/** A Pod, as much of it as an agent looks at. */
export interface PodView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly isDeleting: boolean;
  /** Phase Succeeded or Failed. */
  readonly isOver: boolean;
  readonly containerRunning: boolean;
  readonly stamp: number;
  /** Absent: empty. */
  readonly vmName: string;
  readonly vmId: string;
  readonly ip: string;
  readonly hibernate: boolean;
  readonly restore: boolean;
  readonly managed: boolean;
  readonly isMain: boolean;
  /** UID of its controller. */
  readonly owner: string;
  readonly image: string;
  readonly os: string;
  /** `fork-from` or `clone-from-dir` is given. */
  readonly hasCloneSource: boolean;
  readonly snapshotPolicy: string;
  /** What it asks for; empty: any. */
  readonly snapshotClass: string;
  readonly lifecycle: string;
  readonly lifecycleGeneration: number;
  readonly lifecycleMessage: string;
  readonly object: KubeObject;
}

export function viewOf(object: KubeObject): PodView {
  const { metadata } = object;
  const note = (key: string): string => metadata.annotations?.[key] ?? '';
  const is = (key: string): boolean => note(key) === 'true';
  const spec = (object.spec ?? {}) as PodSpec;
  const { phase, containerStatuses = [] } = (object.status ?? {}) as PodStatus;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    nodeName: spec.nodeName ?? '',
    isDeleting: metadata.deletionTimestamp !== undefined,
    isOver: phase === 'Succeeded' || phase === 'Failed',
    containerRunning: containerStatuses.some(({ state }) => state?.running !== undefined && state.running !== null),
    stamp: countOf(note(cocoonKeys.generation)),
    vmName: note(cocoonKeys.vmName),
    vmId: note(cocoonKeys.vmId),
    ip: note(cocoonKeys.ip),
    hibernate: is(cocoonKeys.hibernate),
    restore: is(cocoonKeys.restore),
    managed: is(cocoonKeys.managed),
    isMain: metadata.labels?.[cocoonKeys.role] === 'main',
    owner: (metadata.ownerReferences ?? []).find(({ controller }) => controller === true)?.uid ?? '',
    image: note(cocoonKeys.image),
    os: note(cocoonKeys.os),
    hasCloneSource: note(cocoonKeys.forkFrom) !== '' || note(cloneFromDir) !== '',
    snapshotPolicy: note(cocoonKeys.snapshotPolicy) || 'always',
    snapshotClass: spec.nodeSelector?.[cocoonKeys.snapshotClass] ?? '',
    lifecycle: note(cocoonKeys.lifecycleState),
    lifecycleGeneration: countOf(note(cocoonKeys.lifecycleGeneration)),
    lifecycleMessage: note(cocoonKeys.lifecycleMessage),
    object,
  };
}

const cloneFromDir = 'vm.cocoonstack.io/clone-from-dir';

interface PodSpec {
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

interface PodStatus {
  readonly phase?: string;
  readonly containerStatuses?: readonly { readonly state?: { readonly running?: unknown } }[];
}

function countOf(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : 0;
}

export const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

/** What somebody else than the agent decides about a Pod: only when this changes is there something new to try. */
export function wishOf(pod: PodView): string {
  return JSON.stringify([pod.uid, pod.isDeleting, pod.hibernate, pod.stamp, pod.vmName, pod.image, pod.hasCloneSource]);
}
