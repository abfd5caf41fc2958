import { randomUUID } from 'node:crypto';
import { change, setKeys } from '../../../activities/kubernetes/change.ts';
import type { Cluster, JsonPatchOperation, KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { Life } from './life.ts';
import type { PodView } from './pod-view.ts';

export interface PodStatusChange {
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly running: boolean;
  readonly ready?: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly ip?: string;
}

/** Undefined: removed. */
export type Notes = Readonly<Record<string, string | undefined>>;

/** What an agent writes about its Pods. A Pod of the same name with another UID is never touched; one that is gone is no failure. */
export interface PodWriter {
  annotate(pod: PodView, notes: Notes | ((object: KubeObject) => Notes)): Promise<void>;
  status(pod: PodView, status: PodStatusChange): Promise<void>;
  event(pod: PodView, type: 'Normal' | 'Warning', reason: string, message: string): Promise<void>;
  /** As a kubelet does at the end: grace 0, this UID. */
  forget(pod: PodView): Promise<void>;
  /** A request like anybody's. */
  remove(pod: PodView): Promise<void>;
}

export function createPodWriter(cluster: Cluster, life: Life, node: string): PodWriter {
  async function write(
    { namespace, name, uid }: PodView,
    status: boolean,
    work: (object: KubeObject) => readonly JsonPatchOperation[],
  ): Promise<void> {
    await life.pass();
    const isSame = (object: KubeObject): boolean => object.metadata.uid === uid;
    await change(cluster, { resource: resources.pod, namespace, name, status }, (object) =>
      isSame(object) ? work(object) : undefined,
    );
  }

  async function remove({ namespace, name, uid }: PodView, grace?: number): Promise<void> {
    await life.pass();
    const isOurs = (await cluster.get(resources.pod, namespace, name))?.metadata.uid === uid;
    if (isOurs) await cluster.remove(resources.pod, namespace, name, { uid }, grace);
  }

  return {
    annotate: (pod, notes) =>
      write(pod, false, (object) =>
        setKeys(object, 'annotations', typeof notes === 'function' ? notes(object) : notes),
      ),
    status: (pod, status) => write(pod, true, (object) => statusOperations(object, status)),
    async event(pod, type, reason, message) {
      await life.pass();
      const body = eventOf(pod, type, reason, message, node);
      await cluster.create(resources.event, pod.namespace, body).catch(() => undefined); // told, not needed
    },
    forget: (pod) => remove(pod, 0),
    remove: (pod) => remove(pod),
  };
}

function statusOperations({ status = {} }: KubeObject, wanted: PodStatusChange): JsonPatchOperation[] {
  const { phase, running, ready = false, reason = '', message = '', ip } = wanted;
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const conditions = (status['conditions'] ?? []) as readonly { type: string }[];
  const after = {
    ...Object.fromEntries(
      Object.entries(status).filter(([key]) => !['reason', 'message', 'podIP', 'podIPs'].includes(key)),
    ),
    phase,
    ...(reason === '' ? {} : { reason }),
    ...(message === '' ? {} : { message }),
    ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] }),
    conditions: [
      ...conditions.filter(({ type }) => type !== 'Ready'),
      { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: now },
    ],
    containerStatuses: running ? [runningContainer(ready, now)] : [],
  };
  return [{ op: 'add', path: '/status', value: after }];
}

function runningContainer(ready: boolean, startedAt: string): object {
  return { name: 'agent', image: '', imageID: '', ready, restartCount: 0, state: { running: { startedAt } } };
}

function eventOf(pod: PodView, type: string, reason: string, message: string, node: string): object {
  const now = new Date().toISOString();
  const { namespace, name, uid } = pod;
  return {
    metadata: { name: `${name}.${randomUUID()}`, namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
    type,
    reason,
    message: message.slice(0, 1_000),
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    source: { component: 'node-agent', host: node },
    reportingComponent: 'node-agent',
  };
}
