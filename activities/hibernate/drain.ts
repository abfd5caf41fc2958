import type { DrainActivities } from '../../workflows/contracts/activities.ts';
import { cocoonKeys } from '../../workflows/contracts/hibernate.ts';
import type { DrainCandidate } from '../../workflows/domain/hibernate/drain.ts';
import { podNameOf } from '../../workflows/domain/hibernate/names.ts';
import { isHeld, isLive } from '../../workflows/domain/hibernate/observation.ts';
import { isLine, optional, shapeProblem } from '../../workflows/domain/shape.ts';
import { OperationError } from '../failures.ts';
import { setKeys } from '../kubernetes/change.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { hibernationFactsOf, podFactsOf, setFactsOf } from './facts.ts';
import { outcomeOf, patchAsSeen } from './guarded.ts';
import { namesakes } from './observe.ts';
import { nodesOf } from './plan-migration.ts';

/** Checks a drain before anything is changed: all the nodes it names exist. */
export function createBeginDrain(deps: HibernateDeps): DrainActivities['beginDrain'] {
  return async (input) => {
    const problem = shapeProblem(input, {
      node: isLine,
      targets: optional((value) => Array.isArray(value) && value.every(isLine)),
      maxParallel: optional((value) => Number.isSafeInteger(value) && Number(value) > 0),
      deadline: optional((value) => typeof value === 'string' && !Number.isNaN(Date.parse(value))),
    });
    if (problem !== undefined)
      throw new OperationError('InvalidRequest', `this is no drain: ${problem}`, { code: 'REQUEST_INVALID' });
    const nodes = await deps.cluster.list(resources.node);
    const known = new Set(nodes.map(({ metadata }) => metadata.name));
    const unknown = [input.node, ...(input.targets ?? [])].find((name) => !known.has(name));
    if (unknown !== undefined)
      throw new OperationError('NotFound', `there is no node "${unknown}"`, {
        code: 'NODE_NOT_FOUND',
        next: 'vmflow node list',
      });
    if (input.targets?.includes(input.node) === true)
      throw new OperationError('InvalidRequest', `node "${input.node}" can't take what leaves it`, {
        code: 'REQUEST_INVALID',
      });
    const node = nodes.find(({ metadata }) => metadata.name === input.node);
    const isCordoned =
      node !== undefined && isUnschedulable(node) && node.metadata.annotations?.[cocoonKeys.drainedBy] === undefined;
    return { wasCordoned: isCordoned, maxParallel: input.maxParallel ?? deps.settings.gate.perSource };
  };
}

function isUnschedulable({ spec }: KubeObject): boolean {
  return (spec as { unschedulable?: boolean } | undefined)?.unschedulable === true;
}

export function createLookAtDrain(deps: HibernateDeps): DrainActivities['lookAtDrain'] {
  return async (node) => {
    const [sets, pods, hibernations, nodes, nodeObject] = await Promise.all([
      deps.cluster.list(resources.set),
      deps.cluster.list(resources.pod),
      deps.cluster.list(resources.hibernation),
      nodesOf(deps),
      deps.cluster.get(resources.node, '', node),
    ]);
    const podOf = new Map(pods.map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]));
    const candidates = await Promise.all(
      sets.map(async (set): Promise<DrainCandidate | undefined> => {
        const { namespace, name, uid } = set.metadata;
        const object = podOf.get(`${namespace}/${podNameOf(name, 0)}`);
        if (object === undefined) return undefined;
        const pod = podFactsOf(object, uid);
        if (!pod.owned || pod.nodeName !== node) return undefined;
        const named = hibernations.filter(
          (one) => one.metadata.namespace === namespace && one.metadata.name === pod.name,
        );
        return {
          set: setFactsOf(set, await namesakes(deps, { namespace, name })),
          requests: pod.requests,
          live: isLive(pod),
          held: isHeld(named.map(hibernationFactsOf)),
        };
      }),
    );
    return seen(deps, {
      cordoned: nodeObject !== undefined && isUnschedulable(nodeObject),
      candidates: candidates.filter((one) => one !== undefined),
      nodes,
    });
  };
}

/** Cordons a node, or takes back the cordon of a drain. A node that is gone needs neither. */
export function createCordon({ cluster }: HibernateDeps): DrainActivities['cordon'] {
  return async ({ node, cordoned, by }) =>
    await outcomeOf(async () => {
      const object = await cluster.get(resources.node, '', node);
      if (object === undefined) return 'done';
      const notes = setKeys(object, 'annotations', { [cocoonKeys.drainedBy]: cordoned ? by : undefined });
      if (isUnschedulable(object) === cordoned && notes.length === 0) return 'done';
      const patch = { op: 'add', path: '/spec/unschedulable', value: cordoned } as const;
      const bare = { ...object, metadata: { ...object.metadata, namespace: '' } };
      await patchAsSeen(cluster, resources.node, bare, [patch, ...notes]);
      return 'done';
    });
}
