import { cocoonKeys, type CocoonSetSpec } from '../../workflows/contracts/hibernate.ts';
import {
  setPhases,
  type HibernationFacts,
  type Lifecycle,
  type LifecycleState,
  type PodFacts,
  type SetFacts,
} from '../../workflows/domain/hibernate/observation.ts';
import { parseRecord } from '../../workflows/domain/hibernate/record.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { timeOf } from '../kubernetes/time.ts';
import { requestsOf } from './resources.ts';

/** Reads what decisions look at from objects whose shape the API guarantees. Words that nobody knows never fail. */

export function specOf(set: KubeObject): CocoonSetSpec {
  return (set.spec ?? { agent: { image: '' } }) as unknown as CocoonSetSpec;
}

/** @param sharesVmName other sets (`<ns>/<name>`) whose main VM has the same name */
export function setFactsOf(set: KubeObject, sharesVmName: readonly string[]): SetFacts {
  const { metadata } = set;
  const spec = specOf(set);
  const phase = setPhases.find((one) => one === set.status?.['phase']);
  const record = parseRecord(metadata.annotations?.[cocoonKeys.migration]);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    createdAt: timeOf(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
    suspend: spec.suspend === true,
    ...(phase === undefined ? {} : { phase }),
    nodeName: spec.nodeName ?? '',
    image: spec.agent.image,
    os: spec.agent.os ?? 'linux',
    nodePool: spec.nodePool ?? 'default',
    snapshotClass: spec.snapshotCompatibilityClass ?? '',
    ...(record === undefined ? {} : { record }),
    sharesVmName,
  };
}

interface PodSpec {
  readonly nodeName?: string;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly Term[] };
    };
  };
}

interface Term {
  readonly matchExpressions?: readonly { readonly key: string; readonly values?: readonly string[] }[];
}

interface PodStatus {
  readonly phase?: string;
  readonly conditions?: readonly PodCondition[];
  readonly containerStatuses?: readonly { readonly state?: { readonly running?: unknown } }[];
}

interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export function podFactsOf(pod: KubeObject, setUid: string): PodFacts {
  const { metadata } = pod;
  const note = (key: string): string => metadata.annotations?.[key] ?? '';
  const spec = (pod.spec ?? {}) as PodSpec;
  const { phase = 'Pending', conditions = [], containerStatuses = [] } = (pod.status ?? {}) as PodStatus;
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  const since = scheduled?.lastTransitionTime;
  const pinnedTo = hostnamesOf(spec);
  const lifecycle = lifecycleOf(note);
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    owned: isControlledBy(pod, setUid),
    createdAt: timeOf(metadata.creationTimestamp),
    ...(metadata.deletionTimestamp === undefined ? {} : { deletedAt: timeOf(metadata.deletionTimestamp) }),
    nodeName: spec.nodeName ?? '',
    ...(scheduled?.status === 'True' && since !== undefined ? { scheduledAt: timeOf(since) } : {}),
    ...(pinnedTo === undefined ? {} : { pinnedTo }),
    ...(scheduled?.status === 'False'
      ? {
          unschedulable: {
            since: timeOf(since ?? metadata.creationTimestamp),
            message: scheduled.message ?? scheduled.reason ?? '',
          },
        }
      : {}),
    phase,
    containerRunning: containerStatuses.some(({ state }) => state?.running !== undefined && state.running !== null),
    stamp: countOf(note(cocoonKeys.generation)),
    hibernate: note(cocoonKeys.hibernate) === 'true',
    restore: note(cocoonKeys.restore) === 'true',
    vmId: note(cocoonKeys.vmId),
    ...(lifecycle === undefined ? {} : { lifecycle }),
    requests: requestsOf(pod),
  };
}

/** Only the controller reference with this very UID makes a Pod one of the set's. */
export function isControlledBy(pod: KubeObject, uid: string): boolean {
  return (pod.metadata.ownerReferences ?? []).some((owner) => owner.controller === true && owner.uid === uid);
}

/** Values of its required hostname affinity; undefined: it has none. */
function hostnamesOf({ affinity }: PodSpec): readonly string[] | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const expressions = terms.flatMap(({ matchExpressions = [] }) => matchExpressions);
  const pins = expressions.filter(({ key }) => key === cocoonKeys.hostname);
  return pins.length === 0 ? undefined : pins.flatMap(({ values = [] }) => values);
}

const lifecycleStates: readonly LifecycleState[] = ['creating', 'ready', 'hibernating', 'hibernated', 'failed'];

/** A word that nobody knows proves nothing: the agent counts as being at work. */
function lifecycleOf(note: (key: string) => string): Lifecycle | undefined {
  const word = note(cocoonKeys.lifecycleState);
  if (word === '') return undefined;
  return {
    state: lifecycleStates.find((state) => state === word) ?? 'creating',
    observedGeneration: countOf(note(cocoonKeys.lifecycleGeneration)),
    message: note(cocoonKeys.lifecycleMessage),
  };
}

export function hibernationFactsOf({ metadata, spec, status }: KubeObject): HibernationFacts {
  const { desire } = (spec ?? {}) as { desire?: 'Hibernate' | 'Wake' };
  const { phase, observedGeneration = 0 } = (status ?? {}) as { phase?: string; observedGeneration?: number };
  return {
    name: metadata.name,
    desire: desire ?? 'Hibernate',
    ...(phase === undefined ? {} : { phase }),
    generation: metadata.generation ?? 0,
    observedGeneration,
  };
}

function countOf(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : 0;
}
