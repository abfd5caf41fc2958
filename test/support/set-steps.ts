import type { Hold } from '../sim/hold.ts';
import type { RecordedRequest } from '../sim/request-log.ts';
import { callOf } from '../sim/registry-calls.ts';
import type { Pattern } from '../sim/node-agent/timeline.ts';
import { cocoonKeys } from '../../workflows/contracts/hibernate.ts';
import type { SetUnderTest } from './set-scenario.ts';
import { waitFor } from './wait-for.ts';

/** Lets what was stopped go on. */
export type GoOn = () => void | Promise<void>;

/** Stops a migration from a to b right after a step of it; `after` is what is then to be found in the cluster. */
export interface SetStop {
  readonly step: string;
  readonly after: string;
  /** Asks for b and waits until it has come so far. */
  readonly reach: (set: SetUnderTest) => Promise<GoOn>;
}

/** How long agents are held at a step; the test is done with what it does there long before. */
const stallMs = 2_500;

/** Each step of a straight run, S1 to S10. */
export const setStops: readonly SetStop[] = [
  { step: 'S1', after: 'record and phase are written', reach: (set) => heldAt(set, 'patch pods', asksToHibernate) },
  { step: 'S2', after: 'the agent was asked', reach: (set) => stalledAt(set, 'saveStalls', { step: 'hibernate-2' }) },
  {
    step: 'S3',
    after: 'the tag is there, the VM as well',
    reach: (set) => stalledAt(set, 'removalDelay', { what: 'tag-put', tag: 'hibernate' }),
  },
  { step: 'S4', after: 'the VM is stored and gone', reach: (set) => heldAt(set, 'delete pods') },
  { step: 'S5', after: 'the old Pod is being deleted', reach: atTerminating },
  { step: 'S5', after: 'there is no Pod', reach: podless },
  { step: 'S6', after: 'the new Pod has no node', reach: unscheduled },
  {
    step: 'S7',
    after: 'the new Pod is bound',
    reach: (set) => stalledAt(set, 'restoreStalls', { step: 'create-7-downloaded' }),
  },
  { step: 'S8', after: 'the restored VM has an id', reach: withoutNetwork },
  { step: 'S9', after: 'the restored VM is ready', reach: (set) => tagDeletionHeld(set, 'call') },
  { step: 'S10', after: 'the tag is gone', reach: (set) => tagDeletionHeld(set, 'answer') },
];

/** Starts a move to b and stops it when there is no Pod any more: the registry doesn't say what it has. */
export async function podless(set: SetUnderTest): Promise<GoOn> {
  const goOn = await atTerminating(set);
  const silent = set.scenario.rig.registryProxy.faults.readsFail({ repository: set.vmName });
  await goOn();
  await waitFor('the old Pod to be gone', async () => (await set.podObject()) === undefined);
  return () => silent.remove();
}

async function atTerminating(set: SetUnderTest): Promise<GoOn> {
  const { agents } = set.scenario;
  const hanging = agents.faults.set('deletionHangs', { vm: set.vmName, times: Infinity });
  await set.move('b');
  await waitFor('the old Pod to be deleted', async () => (await set.podObject())?.metadata.deletionTimestamp);
  // An agent that waits looks again by itself.
  return () => hanging.clear();
}

async function unscheduled(set: SetUnderTest): Promise<GoOn> {
  const goOn = await podless(set);
  await set.scenario.cordon('b');
  await goOn();
  await waitFor('the new Pod to find no node', async () => (await set.pod())?.unschedulable);
  return () => set.scenario.cordon('b', false);
}

async function stalledAt(
  set: SetUnderTest,
  fault: 'saveStalls' | 'removalDelay' | 'restoreStalls',
  sign: Pattern,
): Promise<GoOn> {
  const { agents } = set.scenario;
  agents.faults.set(fault, { vm: set.vmName, delayMs: stallMs });
  await set.move('b');
  await happened(set, { ...sign, vm: set.vmName });
  return () => undefined;
}

async function withoutNetwork(set: SetUnderTest): Promise<GoOn> {
  const { agents } = set.scenario;
  agents.configure({ networkMs: stallMs });
  await set.move('b');
  await happened(set, { step: 'create-11', node: set.scenario.node('b'), vm: set.vmName });
  agents.configure({ networkMs: 30 });
  return () => undefined;
}

async function heldAt(
  set: SetUnderTest,
  method: string,
  match: (request: RecordedRequest) => boolean = () => true,
): Promise<GoOn> {
  const path = `/namespaces/${set.namespace}/pods/${set.podName}`;
  const hold = set.scenario.rig.proxy.hold({
    method,
    match: (request) => request.path.endsWith(path) && match(request),
    times: Infinity,
  });
  await set.move('b');
  await arrival(hold);
  return () => hold.release();
}

function asksToHibernate({ body }: RecordedRequest): boolean {
  return body.includes(`"${cocoonKeys.hibernate}":"true"`);
}

async function tagDeletionHeld(set: SetUnderTest, at: 'call' | 'answer'): Promise<GoOn> {
  const hold = set.scenario.rig.registryProxy.hold(
    { method: 'delete manifests', match: ({ verb, path }) => callOf(verb, path).repository === set.vmName },
    at,
  );
  await set.move('b');
  await arrival(hold);
  if (at === 'answer') await waitFor('the tag to be gone', async () => (await set.tag()).state === 'absent');
  return () => hold.release();
}

/** Resolves when a call is held. */
export async function arrival(hold: Hold): Promise<void> {
  let hasArrived = false;
  void hold.arrived.then(() => (hasArrived = true));
  await waitFor('a call to be held', () => hasArrived, { intervalMs: 10 });
}

/** Resolves when the timeline has it. */
export async function happened(set: SetUnderTest, pattern: Pattern): Promise<void> {
  await waitFor(`${JSON.stringify(pattern)} to happen`, () => set.scenario.timeline.entries(pattern).length > 0, {
    intervalMs: 10,
  });
}
