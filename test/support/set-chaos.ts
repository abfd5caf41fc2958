import { setTimeout as sleep } from 'node:timers/promises';
import { resources } from '../../activities/kubernetes/resources.ts';
import type { FaultName } from '../sim/node-agent/fault-names.ts';
import { steps } from '../sim/node-agent/steps.ts';
import type { RuleHandle } from '../sim/proxy-rules.ts';
import { oneByWeight, oneOf } from './random.ts';
import type { SetUnderTest } from './set-scenario.ts';

/** Agent faults that end by themselves after a few times; what needs a person afterwards is not among them. */
const passing: readonly FaultName[] = [
  'saveFails',
  'pushFails',
  'removalFails',
  'rollbackFails',
  'clearIdFails',
  'lifecycleAfterStatus',
  'lifecycleLost',
  'downloadMissing',
  'downloadRefused',
  'downloadSpoilt',
  'createFails',
  'destroyFails',
];
/** Faults that take time. */
const slow: readonly FaultName[] = [
  'saveStalls',
  'pushStalls',
  'restoreStalls',
  'removalDelay',
  'lifecycleDelay',
  'staleRunning',
];

type Deed = (set: SetUnderTest, random: () => number) => Promise<void>;

/** What people and the world do to a set, with how often. */
const deeds: readonly { readonly often: number; readonly deed: Deed }[] = [
  { often: 10, deed: (set, random) => set.move(oneOf(['a', 'b', 'c'], random)) },
  { often: 1, deed: (set) => set.move('') },
  { often: 2, deed: (set, random) => set.patch({ suspend: random() < 0.5 }) },
  { often: 2, deed: hibernation },
  { often: 6, deed: passingFault },
  { often: 4, deed: slowFault },
  { often: 2, deed: agentCrash },
  { often: 3, deed: registryTrouble },
  { often: 2, deed: apiTrouble },
  { often: 2, deed: terminate },
  { often: 2, deed: abort },
];

/** Random deeds, the same ones for the same random numbers. Each is done whatever the set is at. */
export async function makeAMess(set: SetUnderTest, count: number, random: () => number): Promise<void> {
  for (let done = 0; done < count; done++) {
    await sleep(100 + random() * 900);
    await oneByWeight(deeds, random).deed(set, random);
  }
}

async function passingFault({ scenario, vmName: vm }: SetUnderTest, random: () => number): Promise<void> {
  scenario.agents.faults.set(oneOf(passing, random), { vm, times: 1 + Math.floor(random() * 3) });
  await Promise.resolve();
}

async function slowFault({ scenario, vmName: vm }: SetUnderTest, random: () => number): Promise<void> {
  scenario.agents.faults.set(oneOf(slow, random), { vm, times: 1, delayMs: 200 + random() * 2_000 });
  await Promise.resolve();
}

/** Wherever it comes to that step next; its supervisor starts it again. */
async function agentCrash({ scenario, vmName: vm }: SetUnderTest, random: () => number): Promise<void> {
  scenario.agents.faults.set('killAt', { vm, step: oneOf(steps, random), delayMs: 200 + random() * 1_000 });
  await Promise.resolve();
}

async function registryTrouble({ scenario, vmName }: SetUnderTest, random: () => number): Promise<void> {
  const { faults } = scenario.rig.registryProxy;
  const whom = { repository: vmName };
  const trouble: RuleHandle = oneOf(
    [
      () => faults.readsFail(whom),
      () => faults.readsFail(whom, 401),
      () => faults.denied(whom),
      () => faults.deleteForbidden(whom),
      () => faults.slow(500, whom),
    ],
    random,
  )();
  setTimeout(() => trouble.remove(), 300 + random() * 2_000).unref();
  await Promise.resolve();
}

/** A write about this set is refused, or carried out and its answer is lost. */
async function apiTrouble({ scenario, name }: SetUnderTest, random: () => number): Promise<void> {
  const { proxy } = scenario.rig;
  const action = random() < 0.5 ? ('drop-before' as const) : ('drop-after' as const);
  proxy.addRule({
    method: '*',
    action,
    times: 1,
    match: ({ verb, path }) =>
      verb !== 'GET' && path.includes(`/namespaces/${scenario.namespace}/`) && path.includes(name),
  });
  await Promise.resolve();
}

async function terminate(set: SetUnderTest, random: () => number): Promise<void> {
  const handle = random() < 0.5 ? set.entity : set.migration;
  await handle.terminate('a test').catch(() => undefined);
}

/** Orders that were given and not yet answered: one that comes late changes what is wanted. */
const given = new Map<SetUnderTest, Promise<unknown>[]>();

/** Refused wherever it can't be. */
async function abort(set: SetUnderTest): Promise<void> {
  const order = set.order('abort').catch(() => undefined);
  given.set(set, [...(given.get(set) ?? []), order]);
  await Promise.race([order, sleep(2_000, undefined, { ref: false })]);
}

async function hibernation(set: SetUnderTest, random: () => number): Promise<void> {
  const { admin } = set.scenario.rig;
  const { namespace, podName } = set;
  const desire = random() < 0.5 ? 'Hibernate' : 'Wake';
  const object = await admin.get(resources.hibernation, namespace, podName);
  const spec = { podRef: { name: podName }, desire };
  const done =
    object === undefined
      ? admin.create(resources.hibernation, namespace, { metadata: { name: podName, namespace }, spec })
      : random() < 0.3
        ? admin.remove(resources.hibernation, namespace, podName)
        : admin.patch(resources.hibernation, namespace, podName, [{ op: 'add', path: '/spec/desire', value: desire }]);
  await done.catch(() => undefined);
}

/** Everything works again, and the VM is wanted awake on this node (a letter). */
export async function heal(set: SetUnderTest, letter: string): Promise<void> {
  const { admin } = set.scenario.rig;
  await Promise.race([Promise.all(given.get(set) ?? []), sleep(60_000, undefined, { ref: false })]);
  await admin.remove(resources.hibernation, set.namespace, set.podName).catch(() => undefined);
  await set.patch({ suspend: false, nodeName: set.scenario.node(letter) });
}
