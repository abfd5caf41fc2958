import type { MigrationActivities } from '../../workflows/contracts/activities.ts';
import type { RequestMigrationInput } from '../../workflows/contracts/hibernate.ts';
import { isLive, type NodeFacts, type Observation } from '../../workflows/domain/hibernate/observation.ts';
import { guestObstacle, isLabelValue, targetObstacle } from '../../workflows/domain/hibernate/preflight.ts';
import { isText, optional, shapeProblem } from '../../workflows/domain/shape.ts';
import { OperationError } from '../failures.ts';
import { resources } from '../kubernetes/resources.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { observationOf, observe } from './observe.ts';
import { nodeFactsOf } from './resources.ts';

/** What a person's request comes down to. What can never be is refused before anything is changed. */
export function createPlanMigration(deps: HibernateDeps): MigrationActivities['planMigration'] {
  return async (request) => {
    checkShape(request);
    const { namespace, name } = request;
    const observation = observationOf(await observe(deps, { namespace, name }, false));
    const { set, pod } = observation;
    if (set === undefined) {
      throw new OperationError('NotFound', `there is no set "${name}" in namespace ${namespace}`, {
        code: 'SET_NOT_FOUND',
        next: `vmflow set list -n ${namespace}`,
      });
    }
    if (set.deleting) throw refused(`set "${name}" is being deleted`, 'SET_DELETED');
    if (set.suspend) throw refused(`set "${name}" is suspended: its VM doesn't run and is not moved`, 'SUSPENDED');
    const guest = guestObstacle(set);
    if (guest !== undefined) throw refused(`the VM of set "${name}" can't be moved: ${guest.message}`, guest.reason);
    const nodes = await nodesOf(deps);
    const target = request.to ?? choose(observation, nodes);
    const node = nodes.find((one) => one.name === target);
    const requests = pod?.requests ?? { cpuMilli: 0, memory: 0, storage: 0, pods: 1 };
    const isThere = pod?.nodeName === target && set.nodeName === target && isLive(pod) && set.record === undefined;
    const obstacle =
      pod?.nodeName === target ? undefined : targetObstacle({ ...set, nodeName: target }, node, requests);
    if (obstacle?.reason === 'TargetNotFound' || obstacle?.reason === 'TargetInvalid') throw unknownNode(target, nodes);
    return {
      seen: seen(deps, observation),
      target,
      isThere,
      ...(obstacle === undefined ? {} : { obstacle: `${obstacle.reason}: ${obstacle.message}` }),
    };
  };
}

function checkShape(request: RequestMigrationInput): void {
  const problem = shapeProblem(request, { namespace: isText, name: isText, requestId: isText, to: optional(isText) });
  if (problem !== undefined)
    throw new OperationError('InvalidRequest', `this is no request to move a set: ${problem}`, {
      code: 'REQUEST_INVALID',
    });
  if (request.to !== undefined && !isLabelValue(request.to))
    throw new OperationError('InvalidRequest', `"${request.to}" can't be the name of a node`, {
      code: 'TargetInvalid',
    });
}

export async function nodesOf({ cluster }: HibernateDeps): Promise<NodeFacts[]> {
  const pods = cluster.watch(resources.pod);
  const [nodes] = await Promise.all([cluster.list(resources.node), pods.ready]);
  return nodes.map((node) => nodeFactsOf(node, pods.items()));
}

/** Another node than the present one, the one with most room. */
function choose({ set, pod }: Observation, nodes: readonly NodeFacts[]): string {
  if (set === undefined || pod === undefined || pod.nodeName === '')
    throw refused('the VM runs nowhere yet: say where it should go', 'NOT_RUNNING');
  const others = nodes.filter(({ name }) => name !== pod.nodeName);
  const fitting = others
    .filter((node) => targetObstacle({ ...set, nodeName: node.name }, node, pod.requests) === undefined)
    .sort((a, b) => b.free.memory - a.free.memory);
  const [best] = fitting;
  if (best !== undefined) return best.name;
  const why = others
    .map((node) => targetObstacle({ ...set, nodeName: node.name }, node, pod.requests)?.message)
    .filter((message) => message !== undefined);
  throw refused(`no other node takes the VM of set "${set.name}": ${why.join('; ')}`, 'NO_TARGET');
}

function refused(text: string, code: string): OperationError {
  return new OperationError('Refused', text, { code });
}

function unknownNode(target: string, nodes: readonly NodeFacts[]): OperationError {
  const known = nodes.map(({ name }) => name).sort();
  const names = known.length > 8 ? `${known.slice(0, 8).join(', ')}, …` : known.join(', ');
  return new OperationError('NotFound', `there is no node "${target}" (${names})`, { code: 'TargetNotFound' });
}
