import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createCluster } from '../../../activities/kubernetes/client-node-adapter.ts';
import type { Cluster, ResourceWatch } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { startKubernetes, type KubernetesUnderTest } from '../../stack/kubernetes.ts';
import { waitFor } from '../../support/wait-for.ts';
import { connect, operation, setPhase } from './builders.ts';

let kubernetes: KubernetesUnderTest;
let cluster: Cluster;
let watching: Cluster;
let watch: ResourceWatch;
const warnings: string[] = [];
/** What the watch told, as `type namespace/name uid`. */
const heard: string[] = [];

before(async () => {
  kubernetes = await startKubernetes();
  cluster = connect(kubernetes, 'vmflow');
  watching = createCluster({
    kubeconfig: kubernetes.kubeconfig('vmflow'),
    requestTimeoutMs: 1_000,
    watchSeconds: 2,
    log: { debug: () => undefined, warn: (fields, message) => warnings.push(`${message} ${JSON.stringify(fields)}`) },
  });
  watch = watching.watch(resources.vmop);
  watch.subscribe(({ type, object: { metadata } }) =>
    heard.push(`${type} ${metadata.namespace}/${metadata.name} ${metadata.uid}`),
  );
  await watch.ready;
});
after(async () => {
  kubernetes.thaw();
  await watching.close();
  await cluster.close();
  await kubernetes.stop();
});

const recover = { timeoutMs: 90_000 } as const;

async function make(namespace: string, name: string): Promise<string> {
  return (await cluster.create(resources.vmop, namespace, operation({ type: 'Stop' }, name))).metadata.uid;
}

function heardOf(namespace: string): string[] {
  return heard.filter((line) => line.includes(` ${namespace}/`)).map((line) => line.replace(`${namespace}/`, ''));
}

describe('the shared watch', () => {
  test('is one per kind', () => {
    assert.equal(watching.watch(resources.vmop), watch);
    assert.notEqual(watching.watch(resources.vm), watch);
  });

  test('tells of each change and holds the last state', async () => {
    const namespace = await kubernetes.createNamespace();
    const uid = await make(namespace, 'a');
    await setPhase(cluster, namespace, 'a', 'Pending');
    await waitFor('the phase', () => watch.get(namespace, 'a')?.status?.['phase'] === 'Pending');
    const seen = watch.get(namespace, 'a');
    assert.deepEqual(seen, await cluster.get(resources.vmop, namespace, 'a'));
    await cluster.remove(resources.vmop, namespace, 'a');
    await waitFor('the end', () => watch.get(namespace, 'a') === undefined);
    assert.deepEqual(heardOf(namespace), [`added a ${uid}`, `modified a ${uid}`, `deleted a ${uid}`]);
  });

  test('goes on where it was when the server ends it', async () => {
    const namespace = await kubernetes.createNamespace();
    const before = warnings.length;
    const made: string[] = [];
    const until = performance.now() + 5_000; // more than twice as long as one watch lasts
    await waitFor('two ends of the watch', async () => {
      made.push(`added o${made.length} ${await make(namespace, `o${made.length}`)}`);
      return performance.now() > until;
    });
    await waitFor('all of them', () => heardOf(namespace).length === made.length);
    assert.deepEqual(heardOf(namespace), made);
    assert.equal(warnings.length, before);
  });

  test('survives a kill -9 of the API server, and shows what was replaced meanwhile as another object', async () => {
    const namespace = await kubernetes.createNamespace();
    const [kept, replaced, removed] = [
      await make(namespace, 'kept'),
      await make(namespace, 'replaced'),
      await make(namespace, 'removed'),
    ];
    await waitFor('three objects', () => heardOf(namespace).length === 3);
    await kubernetes.kill();
    await waitFor('a warning', () => warnings.some((line) => line.includes('VirtualMachineOperation')));
    await kubernetes.restart();
    await cluster.remove(resources.vmop, namespace, 'removed');
    await cluster.remove(resources.vmop, namespace, 'replaced');
    const again = await make(namespace, 'replaced');
    await waitFor('the new one', () => watch.get(namespace, 'replaced')?.metadata.uid === again, recover);
    await waitFor('the end of the other', () => watch.get(namespace, 'removed') === undefined, recover);
    const told = heardOf(namespace);
    assert.equal(watch.get(namespace, 'kept')?.metadata.uid, kept);
    assert.deepEqual(told.slice(3).sort(), [
      `added replaced ${again}`,
      `deleted removed ${removed}`,
      `deleted replaced ${replaced}`,
    ]);
    assert.ok(told.indexOf(`deleted replaced ${replaced}`) < told.indexOf(`added replaced ${again}`));
  });

  test('notices an API server that is frozen, and catches up', async () => {
    const namespace = await kubernetes.createNamespace();
    const before = warnings.length;
    kubernetes.freeze();
    await waitFor('a warning', () => warnings.length > before, recover);
    kubernetes.thaw();
    const uid = await make(namespace, 'late');
    await waitFor('the object', () => watch.get(namespace, 'late')?.metadata.uid === uid, recover);
    assert.match(warnings[before] ?? '', /nothing came, not even the end after 2 s/);
  });
});
