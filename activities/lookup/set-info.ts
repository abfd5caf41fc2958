import type { AgentInfo, NodeInfo, SetDetails, SetInfo, VmPodInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { cocoonKeys } from '../../workflows/contracts/hibernate.ts';
import type { Condition } from '../../workflows/domain/conditions.ts';
import { podNameOf } from '../../workflows/domain/hibernate/names.ts';
import { hibernationFactsOf, isControlledBy, podFactsOf, setFactsOf, specOf } from '../hibernate/facts.ts';
import { nodeFactsOf } from '../hibernate/resources.ts';
import type { KubeObject } from '../kubernetes/port.ts';

interface SetStatus {
  readonly observedGeneration?: number;
  readonly readyAgents?: number;
  readonly desiredAgents?: number;
  readonly agents?: readonly (Omit<AgentInfo, 'vmId'> & { readonly vmID?: string })[];
  readonly conditions?: readonly Condition[];
}

/** @param main the Pod of that name, whoever owns it */
export function setInfo(set: KubeObject, main: KubeObject | undefined): SetInfo {
  const { namespace, name, uid, phase, generation, nodeName, suspend, createdAt, deleting } = setFactsOf(set, []);
  const { observedGeneration = 0, readyAgents = 0, conditions = [], desiredAgents } = statusOf(set);
  const node = main !== undefined && isControlledBy(main, uid) ? podFactsOf(main, uid).nodeName : '';
  const migrating = conditions.find(({ type }) => type === 'Migrating');
  return {
    ...{ namespace, name, uid, generation, observedGeneration, readyAgents, createdAt },
    desiredAgents: desiredAgents ?? (specOf(set).agent.replicas ?? 0) + 1,
    ...(phase === undefined ? {} : { phase }),
    ...(node === '' ? {} : { node }),
    ...(nodeName === '' ? {} : { target: nodeName }),
    ...(suspend ? { suspend } : {}),
    ...(migrating === undefined ? {} : { migrating }),
    ...(deleting ? { deleting } : {}),
  };
}

export function setDetails(
  set: KubeObject,
  main: KubeObject | undefined,
  hibernation: KubeObject | undefined,
): SetDetails {
  const { image, record } = setFactsOf(set, []);
  const { agents = [], conditions = [] } = statusOf(set);
  return {
    ...setInfo(set, main),
    image,
    agents: agents.map(agentInfo),
    conditions,
    ...(record === undefined ? {} : { record }),
    ...(hibernation === undefined ? {} : { hibernation: hibernationFactsOf(hibernation) }),
  };
}

function agentInfo({
  slot,
  role,
  podName,
  vmName,
  vmID,
  ip,
  phase,
}: NonNullable<SetStatus['agents']>[number]): AgentInfo {
  return {
    ...{ slot, role },
    ...(podName ? { podName } : {}),
    ...(vmName ? { vmName } : {}),
    ...(vmID ? { vmId: vmID } : {}),
    ...(ip ? { ip } : {}),
    ...(phase ? { phase } : {}),
  };
}

function statusOf({ status }: KubeObject): SetStatus {
  return status ?? {};
}

/** The main Pod of each set, by `<namespace>/<Pod>`. */
export function mainPodOf(set: KubeObject, pods: ReadonlyMap<string, KubeObject>): KubeObject | undefined {
  return pods.get(`${set.metadata.namespace}/${podNameOf(set.metadata.name, 0)}`);
}

/** Undefined: it is no Pod of a VM. */
export function vmPodInfo(pod: KubeObject): VmPodInfo | undefined {
  const { namespace, name, uid, annotations = {} } = pod.metadata;
  const vmName = annotations[cocoonKeys.vmName] ?? '';
  const { vmId, nodeName } = podFactsOf(pod, '');
  if (vmName === '') return undefined;
  return {
    ...{ namespace, name, uid, vmName },
    ...(vmId === '' ? {} : { vmId }),
    ...(nodeName === '' ? {} : { node: nodeName }),
  };
}

export function nodeInfo(node: KubeObject): Omit<NodeInfo, 'sets'> {
  const { name, ready, unschedulable } = nodeFactsOf(node, []);
  const drainedBy = node.metadata.annotations?.[cocoonKeys.drainedBy];
  return { name, ready, cordoned: unschedulable, ...(drainedBy === undefined ? {} : { drainedBy }) };
}
