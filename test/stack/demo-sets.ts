import { setTimeout as sleep } from 'node:timers/promises';
import { createCluster } from '../../activities/kubernetes/client-node-adapter.ts';
import { resources } from '../../activities/kubernetes/resources.ts';
import { waitFor } from '../support/wait-for.ts';
import { mustSucceed, say, vmflow } from './demo-cli.ts';
import { sampleSets } from './sample-sets.ts';
import type { Stack } from './stack.ts';

/** Sets of VMs: a move through crashes, a change of mind half-way, a node that is emptied. */
export async function setStory(stack: Stack): Promise<void> {
  const { namespace } = await sampleSets(stack);
  const inDesks = ['-n', namespace];

  say('Sets of VMs that live on nodes; their agents keep snapshots in a registry');
  await mustSucceed(stack, ['set', 'list', ...inDesks]);

  say('A VM moves with its memory while first the worker and then Temporal are killed');
  const moving = vmflow(stack, ['move', 'shell', '--to', 'node-b', ...inDesks, '--wait'], true);
  await phaseIs(stack, namespace, 'shell', 'Migrating');
  console.log('… kill -9 of the control worker');
  await stack.workers.get('control')?.kill();
  await stack.startWorker('control');
  console.log('… kill -9 of Temporal');
  await stack.temporal.kill();
  await stack.temporal.restart();
  const { code } = await moving;
  // Who watched may have lost its connection; the move has not.
  if (code !== 0) console.log(`who watched the move got exit code ${code}; the move goes on`);
  await phaseIs(stack, namespace, 'shell', 'Running');
  await mustSucceed(stack, ['set', 'get', 'shell', ...inDesks]);

  say('Half-way to node b somebody wants it on node c');
  await mustSucceed(stack, ['move', 'build', '--to', 'node-b', ...inDesks]);
  await phaseIs(stack, namespace, 'build', 'Migrating');
  await sleep(1_000);
  await mustSucceed(stack, ['migrate', 'retarget', 'build', '--to', 'node-c', ...inDesks]);
  await nodeIs(stack, namespace, 'build', 'node-c');
  await mustSucceed(stack, ['set', 'get', 'build', ...inDesks]);

  say('Back to node a, all five; then the node is emptied, two at a time');
  await mustSucceed(stack, ['move', 'shell', '--to', 'node-a', ...inDesks, '--wait']);
  await mustSucceed(stack, ['move', 'build', '--to', 'node-a', ...inDesks, '--wait']);
  await mustSucceed(stack, ['node', 'drain', 'node-a', '--max-parallel', '2', '--yes', '--wait']);
  await mustSucceed(stack, ['set', 'list', ...inDesks]);
}

async function phaseIs(stack: Stack, namespace: string, name: string, phase: string): Promise<void> {
  await setIs(stack, namespace, name, phase, (status) => status['phase'] === phase);
}

async function nodeIs(stack: Stack, namespace: string, name: string, node: string): Promise<void> {
  const cluster = createCluster({ kubeconfig: stack.kubernetes.kubeconfig('admin') });
  try {
    await waitFor(
      `${name} to run on ${node}`,
      async () => {
        const [set, pod] = await Promise.all([
          cluster.get(resources.set, namespace, name),
          cluster.get(resources.pod, namespace, `${name}-0`),
        ]);
        return set?.status?.['phase'] === 'Running' && pod?.spec?.['nodeName'] === node;
      },
      { timeoutMs: 180_000, intervalMs: 200 },
    );
  } finally {
    await cluster.close();
  }
}

async function setIs(
  stack: Stack,
  namespace: string,
  name: string,
  what: string,
  predicate: (status: Readonly<Record<string, unknown>>) => boolean,
): Promise<void> {
  const cluster = createCluster({ kubeconfig: stack.kubernetes.kubeconfig('admin') });
  try {
    await waitFor(
      `${name} to be ${what}`,
      async () => predicate((await cluster.get(resources.set, namespace, name))?.status ?? {}),
      { timeoutMs: 180_000, intervalMs: 100 },
    );
  } finally {
    await cluster.close();
  }
}
