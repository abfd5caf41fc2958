import { randomUUID } from 'node:crypto';
import { change, setKeys } from '../../../activities/kubernetes/change.ts';
import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { cocoonGroup, cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { viewOf, type PodView } from '../../sim/node-agent/pod-view.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { AgentRig } from './rig.ts';

export interface PodChoice {
  /** Pinned to it. */
  readonly node?: string;
  /** Bound to it, past the scheduler. */
  readonly boundTo?: string;
  readonly restore?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly owner?: string;
  readonly role?: string;
  readonly snapshotClass?: string;
  readonly storage?: string;
}

/** One set's main VM and its Pod, made by hand. */
export interface OneVm {
  readonly pod: string;
  readonly vm: string;
  create(choice?: PodChoice): Promise<PodView>;
  read(): Promise<PodView | undefined>;
  /** Resolves with the Pod once it is so. */
  until(what: string, isSo: (pod: PodView) => boolean): Promise<PodView>;
  untilGone(): Promise<void>;
  ready(): Promise<PodView>;
  asleep(): Promise<PodView>;
  note(notes: Readonly<Record<string, string | undefined>>): Promise<void>;
  remove(): Promise<void>;
}

export function oneVm({ cluster, namespace }: AgentRig, set: string): OneVm {
  const pod = `${set}-0`;
  const vm = `vk-${namespace}-${set}-0`;
  const owner = randomUUID();
  const read = async (): Promise<PodView | undefined> => {
    const object = await cluster.get(resources.pod, namespace, pod);
    return object === undefined ? undefined : viewOf(object);
  };
  const until = (what: string, isSo: (view: PodView) => boolean): Promise<PodView> =>
    waitFor(`${pod} to be ${what}`, async () => {
      const view = await read();
      return view !== undefined && isSo(view) ? view : undefined;
    });
  return {
    pod,
    vm,
    read,
    until,
    create: async (choice = {}) =>
      viewOf(await cluster.create(resources.pod, namespace, podBody(set, vm, { owner, ...choice }))),
    untilGone: async () => {
      await waitFor(`${pod} to be gone`, async () => (await read()) === undefined);
    },
    ready: () => until('ready', (view) => view.lifecycle === 'ready' && isCurrent(view) && view.containerRunning),
    asleep: () =>
      until('asleep', (view) => view.lifecycle === 'hibernated' && isCurrent(view) && !view.containerRunning),
    async note(notes) {
      await change(cluster, { resource: resources.pod, namespace, name: pod }, (object: KubeObject) =>
        setKeys(object, 'annotations', notes),
      );
    },
    async remove() {
      await cluster.remove(resources.pod, namespace, pod);
    },
  };
}

const isCurrent = (view: PodView): boolean => view.lifecycleGeneration >= view.stamp;

export const hibernate = { [cocoonKeys.hibernate]: 'true' };
export const wake = { [cocoonKeys.hibernate]: undefined };

type Notes = Readonly<Record<string, string>>;

/** A VM that is ready on node a. */
export async function runningVm(rig: AgentRig, set: string, annotations: Notes = {}): Promise<OneVm> {
  const one = oneVm(rig, set);
  await one.create({ node: 'node-a', annotations });
  await one.ready();
  return one;
}

/** One that has been hibernated there. */
export async function sleepingVm(rig: AgentRig, set: string): Promise<OneVm> {
  const one = await runningVm(rig, set);
  await one.note(hibernate);
  await one.asleep();
  return one;
}

/** Reasons of the events on its Pod. */
export async function eventsOf(rig: AgentRig, one: OneVm): Promise<readonly string[]> {
  const events = await rig.kubernetes.admin.send('GET', `/api/v1/namespaces/${rig.namespace}/events`);
  const { items } = events.body as { items: readonly { reason: string; involvedObject: { name: string } }[] };
  return items.filter(({ involvedObject }) => involvedObject.name === one.pod).map(({ reason }) => reason);
}

function podBody(set: string, vm: string, choice: PodChoice): object {
  const {
    node,
    boundTo,
    restore,
    annotations,
    image = 'base:1',
    owner = '',
    role = 'main',
    snapshotClass,
    storage,
  } = choice;
  const disk = storage === undefined ? {} : { 'ephemeral-storage': storage };
  const pin = { matchExpressions: [{ key: cocoonKeys.hostname, operator: 'In', values: [node] }] };
  return {
    metadata: {
      name: `${set}-0`,
      labels: { [cocoonKeys.setName]: set, [cocoonKeys.role]: role, [cocoonKeys.slot]: '0', [cocoonKeys.appName]: set },
      annotations: {
        [cocoonKeys.generation]: '1',
        [cocoonKeys.vmName]: vm,
        [cocoonKeys.image]: image,
        [cocoonKeys.os]: 'linux',
        [cocoonKeys.managed]: 'true',
        [cocoonKeys.snapshotPolicy]: 'never',
        ...(restore === true ? { [cocoonKeys.restore]: 'true' } : {}),
        ...annotations,
      },
      ownerReferences: [
        { apiVersion: `${cocoonGroup}/v1`, kind: 'CocoonSet', name: set, uid: owner, controller: true },
      ],
    },
    spec: {
      terminationGracePeriodSeconds: 1,
      ...(boundTo === undefined ? {} : { nodeName: boundTo }),
      containers: [{ name: 'agent', image: 'none', resources: { requests: disk, limits: disk } }],
      nodeSelector: {
        [cocoonKeys.pool]: 'default',
        ...(snapshotClass === undefined ? {} : { [cocoonKeys.snapshotClass]: snapshotClass }),
      },
      tolerations: [
        { key: 'virtual-kubelet.io/provider', operator: 'Exists' },
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
      ],
      ...(node === undefined
        ? {}
        : {
            affinity: {
              nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [pin] } },
            },
          }),
    },
  };
}
