import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import { behaviourOf, noDelays } from './behaviour.ts';
import { createControls } from './controls.ts';
import { createHistory } from './history.ts';
import { createObjectCache, follow } from './object-cache.ts';
import { annotationsOf, vmNameOf } from './objects.ts';
import { createReconciler, type Reconciler } from './reconciler.ts';
import type { SimNode, VmLayer, VmLayerOptions } from './types.ts';
import { createWaiting } from './waiting.ts';
import { createWriter } from './writer.ts';

const someNodes: readonly SimNode[] = [{ name: 'node-a' }, { name: 'node-b' }, { name: 'node-c' }];

/** Starts the layer; resolves when it sees what is there. */
export async function startVmLayer(options: VmLayerOptions): Promise<VmLayer> {
  const cluster = createCluster({ kubeconfig: options.kubeconfig, requestTimeoutMs: 5_000, userAgent: 'vm-layer' });
  const history = createHistory();
  const waiting = createWaiting();
  let delays = { ...noDelays, ...options.delays };

  const cache = createObjectCache((change) => {
    history.seen(change);
    const [namespace, name] = [change.object.metadata.namespace, vmNameOf(change.kind, change.object)];
    waiting.look(`${namespace}/${name}`);
    reconciler.look(namespace, name);
  });
  const reconciler: Reconciler = createReconciler({
    cache,
    write: createWriter(cluster, cache, history.wrote),
    nodes: options.nodes ?? someNodes,
    behaviourOf: (vm) => behaviourOf(vm === undefined ? {} : annotationsOf(vm), delays),
    onFailure: options.onFailure ?? (() => undefined),
  });

  // Lists come in one by one: a machine whose instance is not listed yet looks like one that has none.
  await reconciler.freeze();
  try {
    await follow(cluster, cache, (namespace) => options.namespaces?.includes(namespace) ?? true);
    reconciler.thaw();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return {
    ...createControls(cluster, cache, waiting),
    freeze: () => reconciler.freeze(),
    thaw: () => reconciler.thaw(),
    freezeVm: (namespace, name) => reconciler.freeze(`${namespace}/${name}`),
    thawVm: (namespace, name) => reconciler.thaw(`${namespace}/${name}`),
    setDelays(some) {
      delays = { ...delays, ...some };
      for (const [namespace, name] of cache.vms()) reconciler.look(namespace, name);
    },
    instancesOf: (namespace, name) => history.instancesOf(namespace, name),
    writes: (namespace, vmName) => history.writes(namespace, vmName),
    async stop() {
      waiting.fail(new Error('The VM layer was stopped.'));
      await reconciler.stop();
      await cluster.close();
    },
  };
}
