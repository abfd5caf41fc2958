import type { NodeFacts, Resources, SetFacts } from './observation.ts';
import { guestObstacle, targetObstacle, type Obstacle } from './preflight.ts';

/** A set whose main VM runs on the node that is drained. */
export interface DrainCandidate {
  readonly set: SetFacts;
  readonly requests: Resources;
  readonly live: boolean;
  /** A CocoonHibernation decides about it. */
  readonly held: boolean;
}

export interface DrainPlanInput {
  readonly node: string;
  readonly candidates: readonly DrainCandidate[];
  readonly nodes: readonly NodeFacts[];
  /** Only these; absent: any. */
  readonly targets?: readonly string[];
  /** Migrations under way: `set` is `<namespace>/<name>`. `arriving`: not yet in what is free on the target. */
  readonly inFlight: readonly {
    readonly set: string;
    readonly target: string;
    readonly requests: Resources;
    readonly arriving: boolean;
  }[];
  readonly maxParallel: number;
}

export type DrainObstacle = Obstacle | 'Suspended' | 'HibernationOwnsPod' | 'NotLive' | 'NoTarget' | 'SetDeleted';

export interface DrainMove {
  readonly set: string;
  readonly target: string;
  /** What the set asked for before. */
  readonly previous: string;
}

export interface DrainPlan {
  /** To be started now. */
  readonly moves: readonly DrainMove[];
  /** A suspended set is not moved: it is only wanted elsewhere from now on. */
  readonly pins: readonly DrainMove[];
  readonly blocked: readonly { readonly set: string; readonly reason: DrainObstacle }[];
  /** Could move and waits for others, or is on its way because somebody else has asked. */
  readonly waiting: number;
}

/** Where the VMs of a node go. Those that can't never keep the others from going. */
export function drainPlan(input: DrainPlanInput): DrainPlan {
  const moving = new Set(input.inFlight.map(({ set }) => set));
  const open = input.candidates.filter(({ set }) => !moving.has(keyOf(set)));
  const start: Progress = { moves: [], pins: [], blocked: [], waiting: 0, nodes: roomLeft(input) };
  const { moves, pins, blocked, waiting } = open.reduce((progress, one) => planned(progress, one, input), start);
  return { moves, pins, blocked, waiting };
}

interface Progress extends DrainPlan {
  readonly nodes: readonly NodeFacts[];
}

function planned(progress: Progress, candidate: DrainCandidate, input: DrainPlanInput): Progress {
  const set = keyOf(candidate.set);
  const obstacle = obstacleOf(candidate);
  if (obstacle !== undefined) return withBlocked(progress, set, obstacle);
  const isWantedElsewhere = candidate.set.nodeName !== '' && candidate.set.nodeName !== input.node;
  if (isWantedElsewhere && candidate.set.suspend) return withBlocked(progress, set, 'Suspended');
  if (isWantedElsewhere) return { ...progress, waiting: progress.waiting + 1 };
  const target = bestTarget(progress.nodes, candidate);
  if (target === undefined) return withBlocked(progress, set, 'NoTarget');
  const move = { set, target: target.name, previous: candidate.set.nodeName };
  if (candidate.set.suspend) return withPin(progress, move);
  if (progress.moves.length + input.inFlight.length >= input.maxParallel)
    return { ...progress, waiting: progress.waiting + 1 };
  const nodes = progress.nodes.map((node) => (node === target ? taken(node, candidate.requests) : node));
  return { ...progress, moves: [...progress.moves, move], nodes };
}

function withPin(progress: Progress, move: DrainMove): Progress {
  return withBlocked({ ...progress, pins: [...progress.pins, move] }, move.set, 'Suspended');
}

function withBlocked(progress: Progress, set: string, reason: DrainObstacle): Progress {
  return { ...progress, blocked: [...progress.blocked, { set, reason }] };
}

function obstacleOf({ set, live, held }: DrainCandidate): DrainObstacle | undefined {
  if (set.deleting) return 'SetDeleted';
  if (held) return 'HibernationOwnsPod';
  const guest = guestObstacle(set);
  if (guest !== undefined) return guest.reason;
  return live || set.suspend ? undefined : 'NotLive';
}

/** The one with most room, so that the rest has room too. */
function bestTarget(nodes: readonly NodeFacts[], { set, requests }: DrainCandidate): NodeFacts | undefined {
  const fitting = nodes.filter((node) => targetObstacle({ ...set, nodeName: node.name }, node, requests) === undefined);
  return fitting.reduce<NodeFacts | undefined>(
    (best, node) => (best === undefined || node.free.memory > best.free.memory ? node : best),
    undefined,
  );
}

/** The nodes that may be used, without what is on its way to them. */
function roomLeft({ node, nodes, targets, inFlight }: DrainPlanInput): NodeFacts[] {
  return nodes
    .filter(({ name }) => name !== node && (targets?.includes(name) ?? true))
    .map((one) =>
      inFlight
        .filter(({ target, arriving }) => target === one.name && arriving)
        .reduce((left, { requests }) => taken(left, requests), one),
    );
}

function taken(node: NodeFacts, { cpuMilli, memory, storage, pods }: Resources): NodeFacts {
  const { free } = node;
  const left = {
    cpuMilli: free.cpuMilli - cpuMilli,
    memory: free.memory - memory,
    storage: free.storage - storage,
    pods: free.pods - pods,
  };
  return { ...node, free: left };
}

function keyOf({ namespace, name }: SetFacts): string {
  return `${namespace}/${name}`;
}
