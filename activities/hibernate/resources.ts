import { cocoonKeys } from '../../workflows/contracts/hibernate.ts';
import type { NodeFacts, Resources } from '../../workflows/domain/hibernate/observation.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { quantityOf } from '../kubernetes/quantity.ts';
import { timeOf } from '../kubernetes/time.ts';

type Quantities = Readonly<Record<string, unknown>>;

interface Containers {
  readonly containers?: readonly { readonly resources?: { readonly requests?: Quantities } }[];
  readonly nodeName?: string;
}

/** What the scheduler counts for a Pod. */
export function requestsOf(pod: KubeObject): Resources {
  const { containers = [] } = (pod.spec ?? {}) as Containers;
  const sum = (name: string): number =>
    containers.reduce((total, { resources }) => total + quantityOf(resources?.requests?.[name]), 0);
  return {
    cpuMilli: Math.round(sum('cpu') * 1_000),
    memory: Math.round(sum('memory')),
    storage: Math.round(sum('ephemeral-storage')),
    pods: 1,
  };
}

interface NodeStatus {
  readonly allocatable?: Quantities;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly lastTransitionTime?: string;
  }[];
}

interface NodeSpec {
  readonly unschedulable?: boolean;
  readonly taints?: readonly { readonly key: string; readonly effect: string }[];
}

/** @param pods all of the cluster; those that are over don't count */
export function nodeFactsOf(node: KubeObject, pods: readonly KubeObject[]): NodeFacts {
  const { allocatable = {}, conditions = [] } = (node.status ?? {}) as NodeStatus;
  const { unschedulable = false, taints = [] } = (node.spec ?? {}) as NodeSpec;
  const label = (key: string): string => node.metadata.labels?.[key] ?? '';
  const ready = conditions.find(({ type }) => type === 'Ready');
  const isReady = ready?.status === 'True';
  return {
    name: node.metadata.name,
    ready: isReady,
    ...(isReady ? {} : { notReadySince: timeOf(ready?.lastTransitionTime ?? node.metadata.creationTimestamp) }),
    unschedulable,
    hostname: label(cocoonKeys.hostname),
    pool: label(cocoonKeys.pool),
    snapshotClass: label(cocoonKeys.snapshotClass),
    taints: taints.map(({ key, effect }) => ({ key, effect })),
    free: freeOf(allocatable, node.metadata.name, pods),
  };
}

function freeOf(allocatable: Quantities, name: string, pods: readonly KubeObject[]): Resources {
  const room: Resources = {
    cpuMilli: Math.round(quantityOf(allocatable['cpu']) * 1_000),
    memory: quantityOf(allocatable['memory']),
    storage: quantityOf(allocatable['ephemeral-storage']),
    pods: quantityOf(allocatable['pods']),
  };
  const here = pods.filter((pod) => (pod.spec as Containers | undefined)?.nodeName === name && !isOver(pod));
  return here.map(requestsOf).reduce(
    (left, taken) => ({
      cpuMilli: left.cpuMilli - taken.cpuMilli,
      memory: left.memory - taken.memory,
      storage: left.storage - taken.storage,
      pods: left.pods - taken.pods,
    }),
    room,
  );
}

function isOver({ status }: KubeObject): boolean {
  return status?.['phase'] === 'Succeeded' || status?.['phase'] === 'Failed';
}
