import {
  isHeld,
  isLive,
  isReady,
  type HibernationFacts,
  type Observation,
  type PodFacts,
  type SetFacts,
  type TagFacts,
} from './observation.ts';
import { vmNameOf } from './names.ts';

/** One agent of a set: slot 0 is main. */
export interface AgentLook {
  readonly slot: number;
  /** Absent: there is no Pod of that name. */
  readonly pod?: PodFacts;
  /** Its template differs from what the spec asks for now. Placement is no drift. */
  readonly drifted: boolean;
  /** Another object than the set owns the VM: never hibernated, never destroyed. */
  readonly unmanaged: boolean;
  /** `unread` unless the set is suspended or still owes this tag a drop. */
  readonly tag: TagFacts;
  readonly hibernations: readonly HibernationFacts[];
}

/** A VM that was woken and whose tag is still there: dropped once its agent has spoken at this generation or later. */
export interface OwedDrop {
  readonly slot: number;
  readonly generation: number;
}

/** One look at a whole set. */
export interface SetLook {
  /** Absent: gone. */
  readonly set?: SetFacts;
  readonly main: Observation;
  readonly replicas: number;
  readonly snapshotPolicy: 'always' | 'main-only' | 'never';
  readonly hasFinalizer: boolean;
  readonly agents: readonly AgentLook[];
  /** VM names noted for collection; absent: not yet noted. */
  readonly collecting?: readonly string[];
  readonly suspendingSince?: string;
  readonly owedDrops: readonly OwedDrop[];
  /** The workflow of the main VM's migration is open: it alone writes to slot 0. */
  readonly isMigrationOpen: boolean;
}

export function mainOf({ agents }: Pick<SetLook, 'agents'>): AgentLook | undefined {
  return agents.find(({ slot }) => slot === 0);
}

/** Owned and not on its way out. */
export function isOurs(agent: AgentLook): agent is AgentLook & { readonly pod: PodFacts } {
  return agent.pod?.owned === true && agent.pod.deletedAt === undefined;
}

export function isAgentReady(agent: AgentLook): boolean {
  return isOurs(agent) && isLive(agent.pod) && isReady(agent.pod);
}

export function isAgentHeld({ hibernations }: AgentLook): boolean {
  return isHeld(hibernations);
}

export function isTerminal({ phase }: PodFacts): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Its state is in the registry, stored for what the set wants now. */
export function isSuspended(agent: AgentLook, generation: number): boolean {
  if (!isOurs(agent)) return false;
  const { lifecycle, hibernate } = agent.pod;
  const isStored = lifecycle?.state === 'hibernated' && lifecycle.observedGeneration >= generation;
  return hibernate && isStored && agent.tag.state === 'present' && agent.tag.isSnapshot;
}

/** Waits until its agent has said, after it was woken, that the VM is ready: only then is its tag left over. */
export function mayDropOwed(agent: AgentLook, { generation }: OwedDrop): boolean {
  if (!isAgentReady(agent) || agent.pod?.hibernate === true || isAgentHeld(agent)) return false;
  return (agent.pod?.lifecycle?.observedGeneration ?? 0) >= generation;
}

export function vmOf(set: Pick<SetFacts, 'namespace' | 'name'>, slot: number): string {
  return vmNameOf(set.namespace, set.name, slot);
}
