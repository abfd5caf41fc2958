import type {
  ClusterLookupAnswer,
  ClusterLookupRequest,
  NodeRow,
  SetInfo,
} from '../../workflows/contracts/cluster-lookup.ts';
import { cocoonKeys } from '../../workflows/contracts/hibernate.ts';
import { podNameOf } from '../../workflows/domain/hibernate/names.ts';
import { ClusterError, type Cluster, type KubeObject, type Resource } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { badSelector } from './bad-selector.ts';
import { pageOf, vmInfo } from './cluster-info.ts';
import { mainPodOf, nodeInfo, setDetails, setInfo, vmPodInfo } from './set-info.ts';

type SetQuestion = 'sets' | 'set' | 'node' | 'nodes' | 'named';

type SetAnswers = {
  readonly [W in SetQuestion]: (request: Extract<ClusterLookupRequest, { what: W }>) => Promise<ClusterLookupAnswer>;
};

/** Things that an answer names at most, where it has no pages. */
const mostNamed = 100;
const mostNodes = 500;

/** Questions about sets, their Pods and nodes; each is read from the cluster when it is asked. */
export function setQuestions(cluster: Cluster): SetAnswers {
  return {
    async sets({ namespace, selector, name, after }) {
      const found = await setsIn(cluster, namespace, selector);
      return { what: 'sets', ...pageOf(name === undefined ? found : found.filter((set) => set.name === name), after) };
    },
    async set({ namespace, name }) {
      const podName = podNameOf(name, 0);
      const [set, main, hibernation] = await Promise.all([
        cluster.get(resources.set, namespace, name),
        cluster.get(resources.pod, namespace, podName),
        cluster.get(resources.hibernation, namespace, podName),
      ]);
      return { what: 'set', ...(set === undefined ? {} : { set: setDetails(set, main, hibernation) }) };
    },
    async node({ name }) {
      const [node, sets] = await Promise.all([cluster.get(resources.node, '', name), setsIn(cluster)]);
      if (node === undefined) return { what: 'node' };
      const here = sets.filter((set) => set.node === name).map((set) => `${set.namespace}/${set.name}`);
      return { what: 'node', node: { ...nodeInfo(node), sets: here.sort().slice(0, mostNamed) } };
    },
    async nodes() {
      const [objects, sets] = await Promise.all([cluster.list(resources.node), setsIn(cluster)]);
      const nodes = objects.map((node) => nodeRow(node, sets)).sort((a, b) => (a.name < b.name ? -1 : 1));
      return { what: 'nodes', nodes: nodes.slice(0, mostNodes), truncated: nodes.length > mostNodes };
    },
    async named({ name, namespace, kinds }) {
      const [vms, sets, pods] = await Promise.all([
        kinds.includes('vm') ? named(cluster, resources.vm, name, namespace) : [],
        kinds.includes('set') ? setsNamed(cluster, name, namespace, kinds.includes('vm')) : [],
        kinds.includes('pod') ? named(cluster, resources.pod, name, namespace) : [],
      ]);
      const mains = await Promise.all(
        sets.map(({ metadata }) => cluster.get(resources.pod, metadata.namespace, podNameOf(metadata.name, 0))),
      );
      return {
        what: 'named',
        vms: vms.map(vmInfo),
        sets: sets.map((set, place) => setInfo(set, mains[place])),
        pods: pods.map(vmPodInfo).filter((pod) => pod !== undefined),
      };
    },
  };
}

function nodeRow(node: KubeObject, sets: readonly SetInfo[]): NodeRow {
  return { ...nodeInfo(node), mains: sets.filter((set) => set.node === node.metadata.name).length };
}

/** Sets of a namespace or of all, with the nodes of their main VMs. */
async function setsIn(cluster: Cluster, namespace?: string, selector?: string): Promise<SetInfo[]> {
  const [sets, pods] = await Promise.all([
    listKnown(cluster, resources.set, namespace, selector).catch((err: unknown) => {
      throw badSelector(err, selector) ?? err;
    }),
    cluster.list(resources.pod, namespace, `${cocoonKeys.role}=main`),
  ]);
  const byName = new Map(pods.map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]));
  return sets.map((set) => setInfo(set, mainPodOf(set, byName)));
}

/** @param mayBeVm a VM is looked for as well: who works with VMs only needs no right to see sets */
async function setsNamed(
  cluster: Cluster,
  name: string,
  namespace: string | undefined,
  mayBeVm: boolean,
): Promise<readonly KubeObject[]> {
  try {
    return await named(cluster, resources.set, name, namespace);
  } catch (err) {
    if (mayBeVm && err instanceof ClusterError && err.reason === 'Forbidden') return [];
    throw err;
  }
}

async function named(
  cluster: Cluster,
  resource: Resource,
  name: string,
  namespace: string | undefined,
): Promise<readonly KubeObject[]> {
  if (namespace === undefined) {
    const all = await listKnown(cluster, resource);
    return all.filter(({ metadata }) => metadata.name === name).slice(0, mostNamed);
  }
  const object = await cluster.get(resource, namespace, name).catch(noneOfUnknown);
  return object === undefined ? [] : [object];
}

async function listKnown(
  cluster: Cluster,
  resource: Resource,
  namespace?: string,
  selector?: string,
): Promise<readonly KubeObject[]> {
  return (await cluster.list(resource, namespace, selector).catch(noneOfUnknown)) ?? [];
}

/** There is none of a kind that the API server doesn't know: a cluster may have VMs only, or sets only. */
function noneOfUnknown(err: unknown): undefined {
  if (err instanceof ClusterError && err.reason === 'NotFound') return undefined;
  throw err;
}
