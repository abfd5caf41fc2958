import { namesakesOf, podNameOf, vmNameOf } from '../../workflows/domain/hibernate/names.ts';
import {
  isLive,
  isReady,
  type HibernationFacts,
  type NodeFacts,
  type Observation,
  type PodFacts,
  type SetFacts,
  type TagFacts,
} from '../../workflows/domain/hibernate/observation.ts';
import type { SetName } from '../../workflows/contracts/hibernate.ts';
import { snapshotTags } from '../../workflows/contracts/hibernate.ts';
import { OperationError } from '../failures.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { readTag } from '../registry/snapshot.ts';
import type { HibernateDeps } from './deps.ts';
import { hibernationFactsOf, podFactsOf, setFactsOf } from './facts.ts';
import { nodeFactsOf } from './resources.ts';

/** An observation with the objects that it was made from. */
export interface Sight extends Observation {
  readonly setObject?: KubeObject;
  readonly podObject?: KubeObject;
}

const nothing: Sight = { hibernations: [], tag: { state: 'unread' } };

/**
 * One consistent look at what the migration of a set's main VM depends on. Only what is free on nodes comes from a cache: the
 * scheduler has the last word there. `probe`: ask the registry also where nothing says that there is something to find.
 */
export async function observe(deps: HibernateDeps, scope: SetName, probe: boolean): Promise<Sight> {
  const { cluster } = deps;
  const { namespace, name } = scope;
  const podName = podNameOf(name, 0);
  const [setObject, podObject, hibernation, sharesVmName] = await Promise.all([
    cluster.get(resources.set, namespace, name),
    cluster.get(resources.pod, namespace, podName),
    cluster.get(resources.hibernation, namespace, podName),
    namesakes(deps, scope),
  ]);
  if (setObject === undefined) return nothing;
  const set = setFactsOf(setObject, sharesVmName);
  const hibernations = hibernation === undefined ? [] : [hibernationFactsOf(hibernation)];
  return await observeMain(deps, { set, setObject, podObject, hibernations }, probe);
}

interface Parts {
  readonly set: SetFacts;
  readonly setObject: KubeObject;
  readonly podObject: KubeObject | undefined;
  readonly hibernations: readonly HibernationFacts[];
}

/** The rest of the look, from objects that were read already. */
export async function observeMain(
  deps: HibernateDeps,
  { set, setObject, podObject, hibernations }: Parts,
  probe: boolean,
): Promise<Sight> {
  const pod = podObject === undefined ? undefined : podFactsOf(podObject, set.uid);
  const isAsked = probe || !looksSettled(set, pod);
  const [source, target, tag] = await Promise.all([
    nodeNamed(deps, pod?.nodeName ?? ''),
    nodeNamed(deps, set.nodeName),
    isAsked ? tagOf(deps, vmNameOf(set.namespace, set.name, 0)) : ({ state: 'unread' } as const),
  ]);
  return {
    set,
    setObject,
    ...(podObject === undefined || pod === undefined ? {} : { pod, podObject }),
    hibernations,
    ...(source === undefined ? {} : { source }),
    ...(target === undefined ? {} : { target }),
    tag,
  };
}

/** Without the objects: what a workflow is given. */
export function observationOf({ set, pod, hibernations, source, target, tag }: Sight): Observation {
  return {
    ...(set === undefined ? {} : { set }),
    ...(pod === undefined ? {} : { pod }),
    hibernations,
    ...(source === undefined ? {} : { source }),
    ...(target === undefined ? {} : { target }),
    tag,
  };
}

/** The registry isn't asked on every turn about a VM that runs where it should. */
function looksSettled(set: SetFacts, pod: PodFacts | undefined): boolean {
  if (pod === undefined || set.record !== undefined || set.phase === 'Migrating' || set.suspend) return false;
  const isPlaced = pod.nodeName !== '' && (set.nodeName === '' || set.nodeName === pod.nodeName);
  return isPlaced && pod.owned && pod.deletedAt === undefined && isLive(pod) && isReady(pod) && !pod.hibernate;
}

/** Other sets whose main VM is called the same: their snapshots can't be told from this one's. */
export async function namesakes({ cluster }: HibernateDeps, set: SetName): Promise<string[]> {
  const found = await Promise.all(
    namesakesOf(set).map(async ({ namespace, name }) =>
      (await cluster.get(resources.set, namespace, name)) === undefined ? [] : [`${namespace}/${name}`],
    ),
  );
  return found.flat();
}

export async function nodeNamed(deps: HibernateDeps, name: string): Promise<NodeFacts | undefined> {
  // What is no name of an object would be another path of the API.
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) return undefined;
  const pods = deps.cluster.watch(resources.pod);
  const [node] = await Promise.all([deps.cluster.get(resources.node, '', name), pods.ready]);
  return node === undefined ? undefined : nodeFactsOf(node, pods.items());
}

/** A configuration that names no registry is no reason to fail a set that may never need one. */
export async function tagOf(
  deps: HibernateDeps,
  vmName: string,
  tag: string = snapshotTags.hibernate,
): Promise<TagFacts> {
  try {
    return await readTag(await deps.registry(), vmName, tag);
  } catch (err) {
    if (err instanceof OperationError) return { state: 'unknown', reason: err.message };
    throw err;
  }
}
