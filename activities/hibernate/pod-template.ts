import { isDeepStrictEqual } from 'node:util';
import { cocoonGroup, cocoonKeys, type AgentSpec, type CocoonSetSpec } from '../../workflows/contracts/hibernate.ts';
import { podNameOf, vmNameOf } from '../../workflows/domain/hibernate/names.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { quantityOf } from '../kubernetes/quantity.ts';
import { specOf } from './facts.ts';

/** Nobody pulls it: the Pod stands for a VM, and its node agent starts no container. */
const placeholderImage = 'cocoonstack.io/vm:none';

export interface PodChoice {
  /** 0: main. */
  readonly slot: number;
  /** Restored from its snapshot, never started from the image. */
  readonly restore?: boolean;
  /** Sub-agents are bound to main's node. */
  readonly nodeName?: string;
  readonly priorityClass?: string;
}

/** The Pod of an agent, from the set as it is now. A main Pod is never bound by us: the scheduler must be able to refuse. */
export function agentPod(set: KubeObject, { slot, restore = false, nodeName, priorityClass }: PodChoice): object {
  const { namespace, name, uid, generation = 0 } = set.metadata;
  const spec = specOf(set);
  const wanted = slot === 0 ? (spec.nodeName ?? '') : '';
  return {
    metadata: {
      name: podNameOf(name, slot),
      namespace,
      labels: {
        [cocoonKeys.setName]: name,
        [cocoonKeys.role]: slot === 0 ? 'main' : 'sub-agent',
        [cocoonKeys.slot]: String(slot),
        [cocoonKeys.appName]: name,
      },
      annotations: {
        ...vmAnnotations(spec),
        [cocoonKeys.generation]: String(generation),
        [cocoonKeys.vmName]: vmNameOf(namespace, name, slot),
        ...(slot === 0 ? {} : { [cocoonKeys.forkFrom]: vmNameOf(namespace, name, 0) }),
        ...(restore ? { [cocoonKeys.restore]: 'true' } : {}),
      },
      ownerReferences: [
        {
          apiVersion: `${cocoonGroup}/v1`,
          kind: 'CocoonSet',
          name,
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [containerOf(spec.agent)],
      nodeSelector: nodeSelectorOf(spec),
      tolerations,
      ...serviceAccountOf(spec.agent),
      ...(priorityClass === undefined ? {} : { priorityClassName: priorityClass }),
      ...(slot === 0 || nodeName === undefined ? {} : { nodeName }),
      ...(wanted === '' ? {} : { affinity: pinnedTo(wanted) }),
    },
  };
}

/** Without a time: else the API server adds 300 s, after which a node that was away loses its VMs. */
const tolerations = [
  { key: 'virtual-kubelet.io/provider', operator: 'Exists' },
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
];

function pinnedTo(node: string): object {
  const term = { matchExpressions: [{ key: cocoonKeys.hostname, operator: 'In', values: [node] }] };
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } };
}

function nodeSelectorOf({ nodePool = 'default', snapshotCompatibilityClass = '' }: CocoonSetSpec): object {
  return {
    [cocoonKeys.pool]: nodePool,
    ...(snapshotCompatibilityClass === '' ? {} : { [cocoonKeys.snapshotClass]: snapshotCompatibilityClass }),
  };
}

type Quantities = Readonly<Record<string, string | number>>;
interface ContainerResources {
  readonly requests?: Quantities;
  readonly limits?: Quantities;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly resources: ContainerResources;
  readonly envFrom?: readonly unknown[];
}

function containerOf(agent: AgentSpec): Container {
  const { storage, envFrom = [] } = agent;
  const { requests, limits, ...others } = (agent.resources ?? {}) as ContainerResources;
  const disk = storage === undefined ? {} : { 'ephemeral-storage': storage };
  const resources = { ...others, requests: { ...requests, ...disk }, limits: { ...limits, ...disk } };
  return { name: 'agent', image: placeholderImage, resources, ...(envFrom.length === 0 ? {} : { envFrom }) };
}

function serviceAccountOf({ serviceAccountName = '' }: AgentSpec): object {
  return serviceAccountName === '' ? {} : { serviceAccountName };
}

/** What the node agent makes the VM from. Effective values; what is empty is absent. */
function vmAnnotations(spec: CocoonSetSpec): Readonly<Record<string, string>> {
  const { agent, snapshotPolicy = 'always' } = spec;
  const { mode = 'clone', os = 'linux', backend = 'cloud-hypervisor', image, network, storage } = agent;
  const probePort = agent.probePort ?? 0;
  const values: Readonly<Record<string, string | undefined>> = {
    [cocoonKeys.mode]: mode,
    [cocoonKeys.image]: image,
    [cocoonKeys.os]: os,
    [cocoonKeys.storage]: storage === undefined ? undefined : String(storage),
    [cocoonKeys.network]: network,
    [cocoonKeys.snapshotPolicy]: snapshotPolicy,
    [cocoonKeys.managed]: 'true',
    [cocoonKeys.forcePull]: agent.forcePull === true ? 'true' : undefined,
    [cocoonKeys.connType]: agent.connType ?? usualConnection[os] ?? 'ssh',
    [cocoonKeys.backend]: backend,
    [cocoonKeys.noDirectIO]: agent.noDirectIO === true ? 'true' : undefined,
    [cocoonKeys.probePort]: probePort === 0 ? undefined : String(probePort),
  };
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
}

const usualConnection: Readonly<Record<string, string>> = { android: 'adb', windows: 'rdp' };

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly containers?: readonly {
    readonly resources?: ContainerResources;
    readonly envFrom?: readonly unknown[];
  }[];
}

/**
 * The Pod was made from something else than what the set asks for now. Names, placement and what the agent writes don't count,
 * nor does a missing CPU class while the Pod may still run.
 */
export function hasDrifted(set: KubeObject, pod: KubeObject): boolean {
  const spec = specOf(set);
  const found = (pod.spec ?? {}) as PodSpec;
  const [container = {}] = found.containers ?? [];
  return !(
    isDeepStrictEqual(vmAnnotations(spec), notesOf(pod)) &&
    isDeepStrictEqual(computeOf(containerOf(spec.agent)), computeOf(container)) &&
    accountOf(spec.agent.serviceAccountName) === accountOf(found.serviceAccountName) &&
    isDeepStrictEqual(spec.agent.envFrom ?? [], container.envFrom ?? []) &&
    isSelected(spec, found.nodeSelector ?? {}, pod)
  );
}

const compared: readonly string[] = [
  cocoonKeys.mode,
  cocoonKeys.image,
  cocoonKeys.os,
  cocoonKeys.storage,
  cocoonKeys.network,
  cocoonKeys.snapshotPolicy,
  cocoonKeys.managed,
  cocoonKeys.forcePull,
  cocoonKeys.connType,
  cocoonKeys.backend,
  cocoonKeys.noDirectIO,
  cocoonKeys.probePort,
];

function notesOf({ metadata }: KubeObject): Readonly<Record<string, string>> {
  const notes = metadata.annotations ?? {};
  return Object.fromEntries(compared.flatMap((key) => (notes[key] === undefined ? [] : [[key, notes[key]]])));
}

/** CPU and memory; what isn't requested is requested as the limit says. */
function computeOf({ resources = {} }: { readonly resources?: ContainerResources }): object {
  const { requests = {}, limits = {} } = resources;
  const names = ['cpu', 'memory'] as const;
  return Object.fromEntries(
    names.map((name) => [name, [quantityOf(requests[name] ?? limits[name] ?? 0), quantityOf(limits[name] ?? 0)]]),
  );
}

function accountOf(name: string | undefined): string {
  return name === undefined || name === '' ? 'default' : name;
}

function isSelected(spec: CocoonSetSpec, found: Readonly<Record<string, string>>, { status }: KubeObject): boolean {
  const wanted = spec.snapshotCompatibilityClass ?? '';
  const snapshotClass = found[cocoonKeys.snapshotClass] ?? '';
  const isOver = status?.['phase'] === 'Failed' || status?.['phase'] === 'Succeeded';
  const isClassFine = snapshotClass === wanted || (snapshotClass === '' && !isOver);
  return found[cocoonKeys.pool] === (spec.nodePool ?? 'default') && isClassFine;
}
