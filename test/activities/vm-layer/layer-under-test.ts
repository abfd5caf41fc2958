import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import type { Cluster, JsonPatchOperation, KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import type { Kind } from '../../sim/vm-layer/objects.ts';
import type { VmLayer } from '../../sim/vm-layer/types.ts';
import { startVmLayer } from '../../sim/vm-layer/vm-layer.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';

/** An API server with the layer on it, and somebody else who writes to the layer's objects. */
export interface LayerUnderTest {
  readonly kubernetes: KubernetesUnderTest;
  readonly layer: VmLayer;
  readonly other: Cluster;
  /** The file's own. */
  readonly namespace: string;
  /** What the layer could not write. */
  readonly failures: readonly Error[];
  patch(kind: Kind, namespace: string, name: string, operations: readonly JsonPatchOperation[]): Promise<KubeObject>;
  /** Annotates a VM's machine as an operation does. */
  request(namespace: string, name: string, what: 'start' | 'restart'): Promise<void>;
  remove(kind: Kind, namespace: string, name: string): Promise<void>;
  migrate(namespace: string, vmName: string, name?: string, addedNodeSelector?: object): Promise<KubeObject>;
}

/** One for all tests of a file, started and ended around them. */
export function layerUnderTest(): LayerUnderTest {
  const failures: Error[] = [];
  let kubernetes: KubernetesUnderTest | undefined;
  let layer: VmLayer | undefined;
  let other: Cluster | undefined;
  let namespace: string | undefined;
  const there = <T>(part: T | undefined): T => part ?? assert.fail('not started yet');

  before(async () => {
    kubernetes = await startKubernetes();
    namespace = await kubernetes.createNamespace();
    other = createCluster({ kubeconfig: kubernetes.kubeconfig('vmLayer'), userAgent: 'somebody-else' });
    layer = await startVmLayer({
      kubeconfig: kubernetes.kubeconfig('vmLayer'),
      onFailure: (error) => failures.push(error),
    });
  });
  after(async () => {
    await layer?.stop();
    await other?.close();
    await kubernetes?.stop();
  });

  const rig: LayerUnderTest = {
    get kubernetes() {
      return there(kubernetes);
    },
    get layer() {
      return there(layer);
    },
    get other() {
      return there(other);
    },
    get namespace() {
      return there(namespace);
    },
    failures,
    patch: (kind, ns, name, operations) => rig.other.patch(resources[kind], ns, name, operations),
    async request(ns, name, what) {
      const key = what === 'start' ? vmopKeys.startRequested : vmopKeys.restartRequested;
      const machine = await rig.other.get(resources.machine, ns, name);
      const value = { ...machine?.metadata.annotations, [key]: 'true' };
      await rig.patch('machine', ns, name, [{ op: 'add', path: '/metadata/annotations', value }]);
    },
    async remove(kind, ns, name) {
      assert.ok(await rig.other.remove(resources[kind], ns, name), `${kind} ${name} is not there`);
    },
    migrate: (ns, vmName, name = `vmop-${vmName}`, addedNodeSelector) =>
      rig.other.create(resources.migration, ns, {
        metadata: { name, namespace: ns },
        spec: { vmiName: vmName, ...(addedNodeSelector === undefined ? {} : { addedNodeSelector }) },
      }),
  };
  return rig;
}

export function requestsOf(machine?: KubeObject): unknown {
  return machine?.status?.['stateChangeRequests'];
}

export function annotationKeys(object?: KubeObject): readonly string[] {
  return Object.keys(object?.metadata.annotations ?? {});
}
