import type {
  HibernationFacts,
  Lifecycle,
  LifecycleState,
  NodeFacts,
  Observation,
  PodFacts,
  Resources,
  SetFacts,
  TagFacts,
} from '../../../workflows/domain/hibernate/observation.ts';
import type { MigrationRecord } from '../../../workflows/domain/hibernate/record.ts';
import type { Context } from '../../../workflows/domain/hibernate/situation.ts';
import { defaultSettings, type MigrationSettings } from '../../../workflows/domain/hibernate/settings.ts';

export const t0 = '2026-03-01T12:00:00.000Z';
export const generation = 7;

/** A moment so many seconds after the first. */
export function at(seconds: number): string {
  return new Date(Date.parse(t0) + seconds * 1_000).toISOString();
}

export const small: Resources = { cpuMilli: 1_000, memory: 2 ** 30, storage: 0, pods: 1 };

/** A set whose main VM is wanted on node-b. */
export function aSet(over: Partial<SetFacts> = {}): SetFacts {
  return {
    namespace: 'demo',
    name: 'web',
    uid: 'set-1',
    resourceVersion: '100',
    generation,
    createdAt: at(-86_400),
    deleting: false,
    suspend: false,
    phase: 'Running',
    nodeName: 'node-b',
    image: 'base:1',
    os: 'linux',
    nodePool: 'default',
    snapshotClass: '',
    sharesVmName: [],
    ...over,
  };
}

/** A live main Pod on node-a. */
export function aPod(over: Partial<PodFacts> = {}): PodFacts {
  return {
    name: 'web-0',
    uid: 'pod-1',
    resourceVersion: '200',
    owned: true,
    createdAt: at(-3_600),
    nodeName: 'node-a',
    scheduledAt: at(-3_600),
    phase: 'Running',
    containerRunning: true,
    stamp: generation,
    hibernate: false,
    restore: false,
    vmId: 'vm-1',
    lifecycle: said('ready'),
    requests: small,
    ...over,
  };
}

/** Without a VM to be seen. */
export function anEmptyPod(over: Partial<PodFacts> = {}): PodFacts {
  return aPod({ vmId: '', containerRunning: false, phase: 'Pending', lifecycle: said('creating'), ...over });
}

/** Hibernated, and the agent has confirmed it. */
export function aQuiescedPod(over: Partial<PodFacts> = {}): PodFacts {
  return anEmptyPod({ hibernate: true, lifecycle: said('hibernated'), ...over });
}

export function anUnscheduledPod(over: Partial<PodFacts> = {}): PodFacts {
  return {
    name: 'web-0',
    uid: 'pod-2',
    resourceVersion: '300',
    owned: true,
    createdAt: at(-20),
    nodeName: '',
    pinnedTo: ['node-b'],
    phase: 'Pending',
    containerRunning: false,
    stamp: generation,
    hibernate: false,
    restore: true,
    vmId: '',
    requests: small,
    ...over,
  };
}

export function said(state: LifecycleState, observedGeneration = generation, message = ''): Lifecycle {
  return { state, observedGeneration, message };
}

export function aTag(over: Partial<Extract<TagFacts, { state: 'present' }>> = {}): TagFacts {
  return { state: 'present', digest: 'sha256:1', isSnapshot: true, baseImage: 'base:1', createdAt: at(-60), ...over };
}

export const noTag: TagFacts = { state: 'absent' };

export function aNode(name: string, over: Partial<NodeFacts> = {}): NodeFacts {
  return {
    name,
    ready: true,
    unschedulable: false,
    hostname: name,
    pool: 'default',
    snapshotClass: '',
    taints: [{ key: 'virtual-kubelet.io/provider', effect: 'NoSchedule' }],
    free: { cpuMilli: 4_000, memory: 2 ** 33, storage: 2 ** 35, pods: 10 },
    ...over,
  };
}

export function aHibernation(over: Partial<HibernationFacts> = {}): HibernationFacts {
  return { name: 'web-0', desire: 'Hibernate', phase: 'Hibernated', generation: 1, observedGeneration: 1, ...over };
}

/** From node-a to node-b, the flag was set at the set's generation. */
export function aRecord(over: Partial<MigrationRecord> = {}): MigrationRecord {
  return {
    id: `set-1/${generation}`,
    generation,
    from: 'node-a',
    to: 'node-b',
    sourcePodUID: 'pod-1',
    sourceVMID: 'vm-1',
    startedAt: at(-30),
    stage: 'quiescing',
    stageAt: at(-30),
    ...over,
  };
}

export interface Scene {
  readonly set?: Partial<SetFacts>;
  readonly record?: MigrationRecord;
  readonly pod?: PodFacts;
  readonly tag?: TagFacts;
  readonly hibernations?: readonly HibernationFacts[];
  readonly source?: NodeFacts | 'gone';
  readonly target?: NodeFacts | 'gone';
}

export function aLook(scene: Scene = {}): Observation {
  const { record, pod, tag = noTag, hibernations = [], source, target } = scene;
  const set = aSet({ ...(record === undefined ? {} : { record, phase: 'Migrating' }), ...scene.set });
  const from = source ?? (pod === undefined || pod.nodeName === '' ? 'gone' : aNode(pod.nodeName));
  const to = target ?? (set.nodeName === '' ? 'gone' : aNode(set.nodeName));
  return {
    set,
    hibernations,
    tag,
    ...(pod === undefined ? {} : { pod }),
    ...(from === 'gone' ? {} : { source: from }),
    ...(to === 'gone' ? {} : { target: to }),
  };
}

export function aContext(
  over: Partial<Omit<Context, 'settings'>> & { settings?: Partial<MigrationSettings> } = {},
): Context {
  const { settings = {}, ...rest } = over;
  return { now: t0, hasSlot: true, ...rest, settings: { ...defaultSettings, ...settings } };
}
