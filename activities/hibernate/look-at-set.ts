import type { CocoonSetActivities, SetTurn } from '../../workflows/contracts/activities.ts';
import { cocoonKeys } from '../../workflows/contracts/hibernate.ts';
import { migrateMainId } from '../../workflows/contracts/ids.ts';
import { parseVmNames, podNameOf, vmNameOf } from '../../workflows/domain/hibernate/names.ts';
import type { AgentLook, OwedDrop, SetLook } from '../../workflows/domain/hibernate/set-look.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { isOpen } from '../open-workflow.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { hibernationFactsOf, isControlledBy, podFactsOf, setFactsOf, specOf } from './facts.ts';
import { namesakes, observationOf, observeMain, tagOf, type Sight } from './observe.ts';
import { hasDrifted } from './pod-template.ts';
import { slotOf } from './set-status.ts';

/** A look at a whole set with the objects that it was made from. */
export interface SetSight {
  readonly look: SetLook;
  readonly main: Sight;
  readonly setObject?: KubeObject;
  readonly pods: readonly KubeObject[];
}

export function createLookAtSet(deps: HibernateDeps): CocoonSetActivities['lookAtSet'] {
  return async (turn) => seen(deps, (await lookAtSet(deps, turn)).look);
}

const gone: SetSight = {
  look: {
    main: { hibernations: [], tag: { state: 'unread' } },
    replicas: 0,
    snapshotPolicy: 'always',
    hasFinalizer: false,
    agents: [],
    owedDrops: [],
    isMigrationOpen: false,
  },
  main: { hibernations: [], tag: { state: 'unread' } },
  pods: [],
};

/** Consistent reads of everything that the order of a turn looks at. A set of another UID is gone for this scope. */
export async function lookAtSet(deps: HibernateDeps, { scope, probe }: SetTurn): Promise<SetSight> {
  const { cluster, temporal } = deps;
  const { namespace, name } = scope;
  // Asked first: a migration that closes meanwhile has written all it had to write before what is read next.
  const isMigrationOpen = await isOpen(temporal, migrateMainId(namespace, name));
  const [setObject, labelled, hibernations, sharesVmName] = await Promise.all([
    cluster.get(resources.set, namespace, name),
    cluster.list(resources.pod, namespace, `${cocoonKeys.setName}=${name}`),
    cluster.list(resources.hibernation, namespace),
    namesakes(deps, scope),
  ]);
  if (setObject === undefined || (scope.setUid !== undefined && setObject.metadata.uid !== scope.setUid)) return gone;
  const set = setFactsOf(setObject, sharesVmName);
  const { agent, snapshotPolicy = 'always' } = specOf(setObject);
  const replicas = agent.replicas ?? 0;
  const pods = await withUnlabelled(deps, setObject, replicas, labelled);
  const owedDrops = parseOwed(setObject.metadata.annotations?.[cocoonKeys.owedDrops]);
  const named = (pod: string) => hibernations.filter((one) => one.metadata.name === pod).map(hibernationFactsOf);
  const mainName = podNameOf(name, 0);
  const podObject = pods.find(({ metadata }) => metadata.name === mainName);
  const isDrifted = podObject !== undefined && hasDrifted(setObject, podObject);
  const isOwed = owedDrops.length > 0;
  const main = await observeMain(
    deps,
    { set, setObject, podObject, hibernations: named(mainName) },
    probe || isDrifted || isOwed,
  );
  const slots = [
    ...new Set([...range(replicas + 1), ...pods.flatMap(({ metadata }) => slotOf(name, metadata.name) ?? [])]),
  ];
  const agents = await Promise.all(
    slots
      .sort((a, b) => a - b)
      .map(async (slot): Promise<AgentLook> => {
        const podName = podNameOf(name, slot);
        const pod = pods.find(({ metadata }) => metadata.name === podName);
        const isAsked = set.suspend || owedDrops.some((owed) => owed.slot === slot);
        const tag =
          slot === 0
            ? main.tag
            : isAsked
              ? await tagOf(deps, vmNameOf(namespace, name, slot))
              : { state: 'unread' as const };
        return {
          slot,
          ...(pod === undefined ? {} : { pod: podFactsOf(pod, set.uid) }),
          drifted: pod !== undefined && hasDrifted(setObject, pod),
          unmanaged: pod !== undefined && pod.metadata.annotations?.[cocoonKeys.managed] !== 'true',
          tag,
          hibernations: named(podName),
        };
      }),
  );
  const collecting = setObject.metadata.annotations?.[cocoonKeys.deleteVmNames];
  const suspendingSince = setObject.metadata.annotations?.[cocoonKeys.suspendingSince];
  const look: SetLook = {
    set,
    main: observationOf(main),
    replicas,
    snapshotPolicy,
    hasFinalizer: (setObject.metadata.finalizers ?? []).includes(cocoonKeys.setFinalizer),
    agents,
    ...(collecting === undefined ? {} : { collecting: parseVmNames(collecting) }),
    ...(suspendingSince === undefined ? {} : { suspendingSince }),
    owedDrops,
    isMigrationOpen,
  };
  return { look, main, setObject, pods };
}

/** A Pod whose name a set would use counts even without the label: it may be somebody else's. */
async function withUnlabelled(
  { cluster }: HibernateDeps,
  { metadata: { namespace, name, uid } }: KubeObject,
  replicas: number,
  labelled: readonly KubeObject[],
): Promise<readonly KubeObject[]> {
  const found = labelled.filter(
    (pod) => isControlledBy(pod, uid) || (slotOf(name, pod.metadata.name) ?? Infinity) <= replicas,
  );
  const names = new Set(found.map(({ metadata }) => metadata.name));
  const missing = range(replicas + 1)
    .map((slot) => podNameOf(name, slot))
    .filter((pod) => !names.has(pod));
  const others = await Promise.all(missing.map((pod) => cluster.get(resources.pod, namespace, pod)));
  return [...found, ...others.filter((pod) => pod !== undefined)];
}

/** What can't be read is as good as none: the probe of settled sets finds tags that are left over. */
export function parseOwed(annotation: string | undefined): readonly OwedDrop[] {
  if (annotation === undefined) return [];
  try {
    const value: unknown = JSON.parse(annotation);
    return Array.isArray(value) ? value.filter(isOwedDrop) : [];
  } catch {
    return [];
  }
}

function isOwedDrop(value: unknown): value is OwedDrop {
  const { slot, generation } = (value ?? {}) as Partial<OwedDrop>;
  return Number.isSafeInteger(slot) && Number.isSafeInteger(generation);
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
