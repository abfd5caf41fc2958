import type { NodeFacts, Resources, SetFacts } from './observation.ts';

export type Obstacle =
  | 'TargetInvalid'
  | 'TargetNotFound'
  | 'TargetHostnameMismatch'
  | 'TargetNotReady'
  | 'TargetUnschedulable'
  | 'TargetPoolMismatch'
  | 'TargetClassMismatch'
  | 'TargetTainted'
  | 'TargetNoCapacity'
  | 'GuestCannotHibernate'
  | 'VmNameShared';

export interface Refusal {
  readonly reason: Obstacle;
  readonly message: string;
}

type Wanted = Pick<SetFacts, 'nodeName' | 'nodePool' | 'snapshotClass' | 'os' | 'sharesVmName'>;

/** What VM Pods tolerate. */
const tolerated = [
  { key: 'virtual-kubelet.io/provider' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
] as const;

const repelling = ['NoSchedule', 'NoExecute'];

/** A name that can be the value of a label, as the affinity of a Pod needs it. */
export function isLabelValue(name: string): boolean {
  return name.length <= 63 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name);
}

/** Why this VM can't be hibernated by us at all. */
export function guestObstacle({ os, sharesVmName }: Wanted): Refusal | undefined {
  const other = sharesVmName[0];
  if (other !== undefined)
    return { reason: 'VmNameShared', message: `set "${other}" has a VM of the same name; rename one of the two` };
  if (os === 'macos') return { reason: 'GuestCannotHibernate', message: 'a macOS guest cannot hibernate' };
  return undefined;
}

/**
 * Why the main VM should not be moved to its target now; undefined: nothing is in the way. Asked while the VM still runs, when
 * waiting costs nothing.
 */
export function targetObstacle(set: Wanted, node: NodeFacts | undefined, requests: Resources): Refusal | undefined {
  const name = set.nodeName;
  if (!isLabelValue(name)) return { reason: 'TargetInvalid', message: `"${name}" can't be the name of a node` };
  if (node === undefined) return { reason: 'TargetNotFound', message: `there is no node "${name}"` };
  const failed = checks.find(({ fails }) => fails(node, set, requests));
  return failed === undefined
    ? undefined
    : { reason: failed.reason, message: `node "${name}" ${failed.says(node, set, requests)}` };
}

interface Check {
  readonly reason: Obstacle;
  readonly fails: (node: NodeFacts, set: Wanted, requests: Resources) => boolean;
  readonly says: (node: NodeFacts, set: Wanted, requests: Resources) => string;
}

/** In the order in which people would look. */
const checks: readonly Check[] = [
  {
    reason: 'TargetHostnameMismatch',
    fails: (node) => node.hostname !== node.name,
    says: (node) => `has the label kubernetes.io/hostname=${node.hostname}; Pods are pinned by that label`,
  },
  { reason: 'TargetNotReady', fails: (node) => !node.ready, says: () => 'is not ready' },
  { reason: 'TargetUnschedulable', fails: (node) => node.unschedulable, says: () => 'is cordoned' },
  {
    reason: 'TargetPoolMismatch',
    fails: (node, set) => node.pool !== set.nodePool,
    says: (node, set) => `is in pool "${node.pool}", not in "${set.nodePool}"`,
  },
  {
    reason: 'TargetClassMismatch',
    fails: (node, set) => set.snapshotClass !== '' && node.snapshotClass !== set.snapshotClass,
    says: (node, set) => `has CPU class "${node.snapshotClass}", not "${set.snapshotClass}"`,
  },
  {
    reason: 'TargetTainted',
    fails: (node) => repellingTaint(node) !== undefined,
    says: (node) => `has the taint ${repellingTaint(node) ?? ''}`,
  },
  {
    reason: 'TargetNoCapacity',
    fails: (node, _set, requests) => missing(node.free, requests).length > 0,
    says: (node, _set, requests) => `has too little ${missing(node.free, requests).join(', ')}`,
  },
];

function repellingTaint({ taints }: NodeFacts): string | undefined {
  const taint = taints.find(
    ({ key, effect }) =>
      repelling.includes(effect) &&
      !tolerated.some((one) => one.key === key && (!('effect' in one) || one.effect === effect)),
  );
  return taint === undefined ? undefined : `${taint.key}:${taint.effect}`;
}

const resourceNames: readonly (readonly [keyof Resources, string])[] = [
  ['cpuMilli', 'cpu'],
  ['memory', 'memory'],
  ['storage', 'ephemeral-storage'],
  ['pods', 'room for Pods'],
];

/** Names of what there is too little of. */
export function missing(free: Resources, requests: Resources): string[] {
  return resourceNames.filter(([key]) => free[key] < requests[key]).map(([, name]) => name);
}
