import pLimit from 'p-limit';
import type { Cluster, Resource } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';

/** The API's own question "may I?"; everybody who is logged in may ask it. */
const accessReview: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
};

const reading = ['get', 'list', 'watch'] as const;

/** A kind, and what is done with its objects. */
export interface Need {
  readonly resource: Resource;
  readonly subresource?: string;
  readonly verbs: readonly string[];
}

/**
 * What control workers do in the cluster, in all namespaces. The bridge can have an account of its own: whether that may enough
 * shows in its webhook.
 */
export const needs: readonly Need[] = [
  { resource: resources.vmop, verbs: [...reading, 'create', 'patch', 'delete'] },
  { resource: resources.vmop, subresource: 'status', verbs: ['patch'] },
  // The API server asks for it when a migration names its operation as the owner that blocks deletion.
  { resource: resources.vmop, subresource: 'finalizers', verbs: ['update'] },
  { resource: resources.vm, verbs: reading },
  { resource: resources.machine, verbs: [...reading, 'patch'] },
  { resource: resources.machine, subresource: 'status', verbs: ['patch'] },
  { resource: resources.instance, verbs: [...reading, 'patch', 'delete'] },
  { resource: resources.migration, verbs: [...reading, 'create', 'delete'] },
  { resource: resources.event, verbs: ['create'] },
];

/** What sets need besides: they, their hibernations, the Pods that stand for their VMs, and the nodes where those run. */
export const setNeeds: readonly Need[] = [
  { resource: resources.set, verbs: [...reading, 'patch'] },
  { resource: resources.set, subresource: 'status', verbs: ['patch'] },
  // The API server asks for it when a Pod names its set as the owner that blocks deletion.
  { resource: resources.set, subresource: 'finalizers', verbs: ['update'] },
  { resource: resources.hibernation, verbs: [...reading, 'create', 'patch'] },
  { resource: resources.hibernation, subresource: 'status', verbs: ['patch'] },
  { resource: resources.pod, verbs: [...reading, 'create', 'patch', 'delete'] },
  // A drain cordons its node.
  { resource: resources.node, verbs: [...reading, 'patch'] },
  // A warning that lasts is counted in its event.
  { resource: resources.event, verbs: ['patch'] },
];

/** Requests at the same time. */
const sideBySide = 8;

/** What of the configuration needs rights of its own. */
export interface ClusterUse {
  readonly hasSets: boolean;
}

/** What may not be done, as `patch virtualmachineoperations/status`. Fails when the API server can't be asked. */
export async function missingAccess(cluster: Cluster, { hasSets }: ClusterUse): Promise<readonly string[]> {
  const limit = pLimit(sideBySide);
  const all = [...needs, ...(hasSets ? setNeeds : [])];
  const asked = all.flatMap((need) => need.verbs.map((verb) => ({ need, verb })));
  const [first, ...others] = asked;
  if (first === undefined) return [];
  // Alone: a server that doesn't know us ends the connection under whatever else is asked on it.
  const isFirstAllowed = await isAllowed(cluster, first.need, first.verb);
  const isAllowedToo = others.map(({ need, verb }) => limit(() => isAllowed(cluster, need, verb)));
  const answers = [isFirstAllowed, ...(await Promise.all(isAllowedToo))];
  return asked.filter((_, place) => answers[place] === false).map(({ need, verb }) => `${verb} ${pluralOf(need)}`);
}

async function isAllowed(cluster: Cluster, { resource, subresource }: Need, verb: string): Promise<boolean> {
  const { group, version, plural } = resource;
  const narrower = subresource === undefined ? {} : { subresource };
  const resourceAttributes = { group, version, resource: plural, verb, ...narrower };
  const { status } = await cluster.create(accessReview, undefined, { spec: { resourceAttributes } });
  return status?.['allowed'] === true;
}

function pluralOf({ resource, subresource }: Need): string {
  return subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
}
