import { createLife } from '../sim/node-agent/life.ts';
import { createSnapshots } from '../sim/node-agent/snapshots.ts';
import type { Entry } from '../sim/node-agent/timeline.ts';
import { migrateMainId } from '../../workflows/contracts/ids.ts';
import { vmNameOf } from '../../workflows/domain/hibernate/names.ts';
import type { SetScenario, SetUnderTest } from './set-scenario.ts';
import { waitFor } from './wait-for.ts';

/** What scenarios of sets begin with besides a set that runs, and what they ask of it afterwards. */

/** A VM that has run for long, on node a: the agent finds it there when the set asks for it. */
export function olderVm(scenario: SetScenario, counter: number, name = 'web'): void {
  const vm = vmNameOf(scenario.namespace, name, 0);
  const snapshot = { digest: 'sha256:of-long-ago', counter };
  scenario.agents.host(scenario.node('a')).start({ name: vm, owner: '', isMain: true, snapshot });
}

/** A snapshot of this set's VM that an agent once stored and nobody dropped. Answers its digest. */
export async function leftOverTag(set: SetUnderTest, counter: number): Promise<string> {
  const { rig, timeline } = set.scenario;
  const owner = (await set.read())?.metadata.uid ?? '';
  const state = { vm: set.vmName, owner, image: 'base:1', counter };
  const snapshots = createSnapshots({ url: rig.registry.url }, createLife(), 5_000);
  const digest = await snapshots.push(state, 'hibernate', () => Promise.resolve());
  timeline.add({ what: 'tag-put', tag: 'hibernate', vm: set.vmName, owner, digest, counter, by: 'the past' });
  return digest;
}

/** Takes all the room of a node, with a Pod that the scheduler removes for nobody. */
export async function fill(scenario: SetScenario, letter: string): Promise<void> {
  const { admin } = scenario.rig.kubernetes;
  const path = `/api/v1/namespaces/${scenario.namespace}/pods`;
  const answer = await admin.send('POST', path, {
    metadata: { name: `filler-${letter}` },
    spec: {
      nodeName: scenario.node(letter),
      priorityClassName: 'vmflow-vm',
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'filler', image: 'none', resources: { requests: { cpu: '4' } } }],
    },
  });
  if (answer.status >= 300) throw new Error(`node ${letter} couldn't be filled: ${JSON.stringify(answer.body)}`);
}

/** Executions of its migration, open and closed. */
export async function migrationsOf({ scenario, namespace, name }: SetUnderTest): Promise<number> {
  const { workflow } = scenario.rig.client;
  return (await workflow.count(`WorkflowId = "${migrateMainId(namespace, name)}"`)).count;
}

/** Longer than the bridge may hold back what it has seen. */
const quietMs = 2_500;

/** Resolves once the workflow of the set has had nothing to do for a while, at the present generation. */
export async function isQuiet(set: SetUnderTest): Promise<void> {
  await waitFor(
    `${set.name} to have nothing to do`,
    async () => {
      const [object, { status, closeTime }] = await Promise.all([set.read(), set.entity.describe()]);
      const isCurrent = object?.status?.['observedGeneration'] === object?.metadata.generation;
      return isCurrent && status.name === 'COMPLETED' && Date.now() - (closeTime?.getTime() ?? Infinity) > quietMs;
    },
    { intervalMs: 100 },
  );
}

/** Of the guest, as an entry of the timeline has it. */
export function counterOf(entry: Entry | undefined): number {
  const counter = entry !== undefined && 'counter' in entry ? entry.counter : undefined;
  if (counter === undefined) throw new Error(`there is no counter in ${JSON.stringify(entry)}`);
  return counter;
}
