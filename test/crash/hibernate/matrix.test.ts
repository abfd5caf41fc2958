import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Pattern } from '../../sim/node-agent/timeline.ts';
import { matches } from '../../sim/node-agent/timeline.ts';
import { SetRig } from '../../support/set-rig.ts';
import type { SetScenario, SetUnderTest } from '../../support/set-scenario.ts';
import { patienceMs } from '../../support/wait-for.ts';

interface Crash {
  readonly step: string;
  /** What has just happened when it crashes, counted from the wish on. */
  readonly at: (scenario: SetScenario) => Pattern;
}

/** Every step of a migration, by what proves that it is done. */
const steps: readonly Crash[] = [
  { step: 'S1', at: () => ({ what: 'set-phase', phase: 'Migrating' }) },
  { step: 'S2', at: () => ({ what: 'hibernate-set' }) },
  { step: 'S3', at: () => ({ what: 'tag-put', tag: 'hibernate' }) },
  { step: 'S4', at: () => ({ what: 'lifecycle', state: 'hibernated' }) },
  { step: 'S5, Pod terminating', at: () => ({ what: 'pod-deleting' }) },
  { step: 'S5, Pod gone', at: () => ({ what: 'pod-gone' }) },
  { step: 'S6', at: () => ({ what: 'pod-created' }) },
  { step: 'S7', at: (scenario) => ({ what: 'pod-bound', node: scenario.node('b') }) },
  { step: 'S8', at: (scenario) => ({ what: 'step', step: 'create-10', node: scenario.node('b') }) },
  { step: 'S9', at: (scenario) => ({ what: 'step', step: 'create-11', node: scenario.node('b') }) },
  { step: 'S10', at: () => ({ what: 'tag-deleted' }) },
  { step: 'S11', at: () => ({ what: 'set-phase', phase: 'Running' }) },
];

interface Moved {
  readonly set: SetUnderTest;
  readonly uid: string;
}

/** What is told of this set, its main Pod and its VM. */
function about(set: SetUnderTest, pattern: Pattern): readonly Pattern[] {
  const { namespace, name, podName, vmName } = set;
  return [
    { ...pattern, set: `${namespace}/${name}` },
    { ...pattern, pod: `${namespace}/${podName}` },
    { ...pattern, vm: vmName },
  ];
}

/** A set whose VM runs, and which will crash in this way at this step of its move. */
async function prepared(
  scenario: SetScenario,
  { at }: Crash,
  index: number,
  crash: (set: SetUnderTest) => void,
): Promise<Moved> {
  const set = await scenario.set(`s${index}`);
  const uid = (await set.pod())?.uid ?? '';
  const patterns = about(set, at(scenario));
  const stop = scenario.timeline.subscribe((entry) => {
    if (!patterns.some((pattern) => matches(entry, pattern))) return;
    stop();
    crash(set);
  });
  return { set, uid };
}

async function assertMoved({ timeline }: SetScenario, { set, uid }: Moved): Promise<void> {
  const pod = await set.settles('b', 5 * patienceMs);
  assert.notEqual(pod.uid, uid);
  assert.deepEqual(await set.tag(), { state: 'absent' });
  assert.equal(set.vms().length, 1);
  const count = (pattern: Pattern): number =>
    about(set, pattern).reduce((sum, one) => sum + timeline.entries(one).length, 0);
  assert.equal(count({ what: 'pod-created' }), 2, 'no Pod was made for nothing');
  assert.equal(count({ what: 'hibernate-set' }), 1, 'asked to hibernate once');
  assert.equal(count({ what: 'tag-put', tag: 'hibernate' }), 1);
  assert.equal(count({ what: 'tag-deleted' }), 1);
}

const room = { room: { cpu: '64', memory: '64Gi', 'ephemeral-storage': '100Gi', pods: '50' }, nodes: ['a', 'b'] };

/** Crashes one after the other. A step that is reached while everything is down is left as a crash after it leaves it. */
function oneByOne(crash: () => Promise<void>): { readonly crash: () => void; readonly done: () => Promise<void> } {
  let crashing: Promise<void> | undefined;
  return {
    crash() {
      crashing ??= crash().finally(() => (crashing = undefined));
    },
    done: async () => await crashing,
  };
}

/** Moves a set for each step and checks that all came to the same end. */
async function matrix(rig: SetRig, crash: (set: SetUnderTest) => void): Promise<void> {
  const scenario = await rig.scenario(room);
  let count = 0;
  const sets = await Promise.all(
    steps.map((step, index) =>
      prepared(scenario, step, index, (set) => {
        count += 1;
        crash(set);
      }),
    ),
  );
  for (const { set } of sets) await set.move('b');
  for (const moved of sets) await assertMoved(scenario, moved);
  assert.equal(count, steps.length, 'each crashed');
  scenario.check();
}

suite('a migration ends the same, wherever it crashes', () => {
  test('hibernate/AS-30 workers and bridge are killed after each step', async () => {
    const rig = await SetRig.start();
    try {
      const killing = oneByOne(async () => {
        await rig.killWorkers();
        await rig.startWorkers();
      });
      await matrix(rig, killing.crash);
      await killing.done();
    } finally {
      await rig.stop();
    }
  });

  test('hibernate/AS-30 all its workflows are terminated after each step', async () => {
    const rig = await SetRig.start();
    const terminate = async (set: SetUnderTest): Promise<void> => {
      for (const handle of [set.entity, set.migration]) await handle.terminate('a test').catch(() => undefined);
    };
    try {
      await matrix(rig, (set) => void terminate(set));
    } finally {
      await rig.stop();
    }
  });

  test('hibernate/AS-30 Temporal loses everything after each step', async () => {
    const rig = await SetRig.start({ ownTemporal: true });
    try {
      const wiping = oneByOne(async () => {
        await rig.killWorkers();
        await rig.temporal.server?.wipe();
        await rig.startWorkers();
      });
      await matrix(rig, wiping.crash);
      await wiping.done();
    } finally {
      await rig.stop();
    }
  });
});
