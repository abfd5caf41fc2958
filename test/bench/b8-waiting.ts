import { setTimeout as sleep } from 'node:timers/promises';
import { createCluster } from '../../activities/kubernetes/client-node-adapter.ts';
import { resources } from '../../activities/kubernetes/resources.ts';
import { SetRig } from '../support/set-rig.ts';
import type { SetUnderTest } from '../support/set-scenario.ts';
import { round, type Outcome } from './measure.ts';

/** How often somebody without watches would look. */
const pollEveryMs = 2_000;

/**
 * B8: what waiting for the cluster costs its API. Sets that are wanted on a cordoned node wait, by the times of an ordinary
 * installation; the peer reads the same objects of each set every two seconds.
 */
export async function waitingForCluster(options: { full: boolean }): Promise<Outcome> {
  const sets = options.full ? 100 : 30;
  const spanMs = 190_000;
  const rig = await SetRig.start({
    migrations: {
      limits: { overall: 8, perSource: 8, perTarget: 8 },
      pollFloorMs: 5_000,
      reReadMs: 180_000,
      resyncMs: 60_000,
    },
  });
  try {
    const scenario = await rig.scenario({
      room: { cpu: '256', memory: '256Gi', 'ephemeral-storage': '1Ti', pods: '250' },
      nodes: ['a', 'b'],
    });
    const waiting = await inTens(sets, (index) => scenario.set(`s${index}`));
    await scenario.cordon('b');
    for (const set of waiting) await set.move('b');
    for (const set of waiting) await set.shows('TargetUnschedulable');
    await sleep(5_000);

    rig.proxy.clearRequests();
    await sleep(spanMs);
    const ours = rig.proxy.requests().length;
    rig.proxy.clearRequests();
    const polled = await polledCalls(rig, waiting.slice(0, 5));
    const peer = polled * (sets / 5) * (spanMs / pollEveryMs);

    await scenario.cordon('b', false);
    // All of them at once, eight at a time: none is lost.
    for (const set of waiting) await set.settles('b', 600_000);
    scenario.check();
    const ratio = peer / ours;
    return {
      name: 'B8 waiting for the cluster',
      numbers: {
        sets,
        seconds: spanMs / 1_000,
        ours,
        peer,
        oursPerSetAndMinute: round(ours / sets / (spanMs / 60_000)),
      },
      verdicts: [
        {
          what: 'calls of polling every 2 s to ours',
          measured: round(ratio, 1),
          unit: '×',
          target: '>= 50',
          holds: ratio >= 50,
        },
      ],
      inconclusive: false,
    };
  } finally {
    await rig.stop();
  }
}

async function inTens<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  for (let first = 0; first < count; first += 10)
    done.push(...(await Promise.all(Array.from({ length: Math.min(10, count - first) }, (_, at) => work(first + at)))));
  return done;
}

/** One look at each of these sets without watches. */
async function polledCalls(rig: SetRig, sets: readonly SetUnderTest[]): Promise<number> {
  const cluster = createCluster({ kubeconfig: rig.kubeconfigPath });
  try {
    for (const { namespace, name, podName, scenario } of sets)
      await Promise.all([
        cluster.get(resources.set, namespace, name),
        cluster.get(resources.pod, namespace, podName),
        cluster.get(resources.hibernation, namespace, podName),
        cluster.get(resources.node, '', scenario.node('a')),
        cluster.get(resources.node, '', scenario.node('b')),
      ]);
    return rig.proxy.requests().length;
  } finally {
    await cluster.close();
  }
}
