import { isDeepStrictEqual } from 'node:util';
import { cocoonKeys } from '../../workflows/contracts/hibernate.ts';
import { withCondition, type Condition, type ConditionChange } from '../../workflows/domain/conditions.ts';
import { vmNameOf } from '../../workflows/domain/hibernate/names.ts';
import { isLive, isReady, type SetPhase } from '../../workflows/domain/hibernate/observation.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import type { HibernateDeps } from './deps.ts';
import { isControlledBy, podFactsOf, specOf } from './facts.ts';
import { patchAsSeen } from './guarded.ts';

export interface SetStatusChange {
  /** `settled`: what the agents amount to. Absent: as it is. */
  readonly phase?: SetPhase | 'settled';
  /** Condition `Migrating`; absent: as it is. */
  readonly migrating?: Omit<ConditionChange, 'type'>;
}

/** Longest message that is worth keeping in a condition. */
const longestMessage = 4_096;

/**
 * Writes the status of a set as it was seen, once: a set that has changed since is `stale`, and nothing is written where nothing
 * is new. Answers the set as it then is.
 */
export async function writeSetStatus(
  { cluster }: HibernateDeps,
  set: KubeObject,
  pods: readonly KubeObject[],
  change: SetStatusChange,
): Promise<KubeObject> {
  const before = set.status ?? {};
  const after = statusOf(set, pods, change);
  if (isDeepStrictEqual(before, after)) return set;
  const operation = { op: 'add', path: '/status', value: after } as const;
  return await patchAsSeen(cluster, resources.set, set, [operation], { status: true });
}

/** Its Pods as the watch knows them, the given ones as they are. */
export function podsOfSet({ cluster }: HibernateDeps, set: KubeObject, known: readonly KubeObject[]): KubeObject[] {
  const { namespace, uid } = set.metadata;
  const names = new Set(known.map(({ metadata }) => metadata.name));
  const others = cluster
    .watch(resources.pod)
    .items()
    .filter((pod) => pod.metadata.namespace === namespace && isControlledBy(pod, uid) && !names.has(pod.metadata.name));
  return [...known.filter((pod) => isControlledBy(pod, uid)), ...others];
}

function statusOf(set: KubeObject, pods: readonly KubeObject[], change: SetStatusChange): Record<string, unknown> {
  const { metadata } = set;
  const { replicas = 0 } = specOf(set).agent;
  const before = set.status as { phase?: string; conditions?: Condition[] } | undefined;
  const agents = agentsOf(set, pods);
  const ready = agents.filter((agent) => agent.isReady).length;
  const isMainReady = agents.some(({ entry, isReady: it }) => entry.slot === 0 && it);
  const settled = ready >= replicas + 1 ? 'Running' : isMainReady ? 'Scaling' : 'Pending';
  const phase = change.phase === 'settled' ? settled : (change.phase ?? before?.phase);
  const isUnderWay = ['Pending', 'Scaling', 'Migrating', 'Waking', 'Suspending'].includes(phase ?? '');
  const toolboxes = specOf(set).toolboxes?.length ?? 0;
  const conditions: ConditionChange[] = [
    {
      type: 'Ready',
      status: ready >= replicas + 1 ? 'True' : 'False',
      reason: ready >= replicas + 1 ? 'AllAgentsReady' : 'AgentsNotReady',
      message: `${ready}/${replicas + 1} agents ready, 0/${toolboxes} toolboxes ready`,
    },
    {
      type: 'Progressing',
      status: isUnderWay ? 'True' : 'False',
      reason: isUnderWay ? 'Reconciling' : 'Stable',
      message: phase === undefined ? '' : `phase ${phase}`,
    },
    ...(change.migrating === undefined
      ? []
      : [
          {
            ...change.migrating,
            type: 'Migrating',
            message: change.migrating.message.slice(0, longestMessage),
          },
        ]),
  ];
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  return {
    ...set.status,
    observedGeneration: metadata.generation ?? 1,
    ...(phase === undefined ? {} : { phase }),
    readyAgents: ready,
    desiredAgents: replicas + 1,
    readyToolboxes: 0,
    desiredToolboxes: toolboxes,
    agents: agents.map(({ entry }) => entry),
    conditions: conditions.reduce((list, next) => withCondition(list, next, now, 'status'), before?.conditions ?? []),
  };
}

interface AgentStatus {
  readonly slot: number;
  readonly role: string;
  readonly podName: string;
  readonly vmName: string;
  readonly vmID?: string;
  readonly ip?: string;
  readonly phase: string;
  readonly forkedFrom?: string;
}

function agentsOf(
  set: KubeObject,
  pods: readonly KubeObject[],
): { readonly entry: AgentStatus; readonly isReady: boolean }[] {
  const { namespace, name, uid } = set.metadata;
  return pods
    .flatMap((pod) => {
      const slot = slotOf(name, pod.metadata.name);
      if (slot === undefined) return [];
      const facts = podFactsOf(pod, uid);
      const note = (key: string): string | undefined => pod.metadata.annotations?.[key];
      const [ip, forkedFrom] = [note(cocoonKeys.ip), note(cocoonKeys.forkFrom)];
      const entry: AgentStatus = {
        slot,
        role: slot === 0 ? 'main' : 'sub-agent',
        podName: facts.name,
        vmName: note(cocoonKeys.vmName) ?? vmNameOf(namespace, name, slot),
        ...(facts.vmId === '' ? {} : { vmID: facts.vmId }),
        ...(ip === undefined ? {} : { ip }),
        phase: facts.phase,
        ...(forkedFrom === undefined ? {} : { forkedFrom }),
      };
      return [{ entry, isReady: facts.deletedAt === undefined && isLive(facts) && isReady(facts) }];
    })
    .sort((a, b) => a.entry.slot - b.entry.slot);
}

/** Slot of a Pod of this set, by its name; undefined: it is none of an agent. */
export function slotOf(set: string, pod: string): number | undefined {
  const rest = pod.startsWith(`${set}-`) ? pod.slice(set.length + 1) : '';
  return /^(0|[1-9]\d*)$/.test(rest) ? Number(rest) : undefined;
}
