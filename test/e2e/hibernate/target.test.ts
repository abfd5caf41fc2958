import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { messages } from '../../../workflows/contracts/messages.ts';
import { isQuiet, migrationsOf } from '../../support/set-givens.ts';
import { SetRig } from '../../support/set-rig.ts';
import type { SetUnderTest } from '../../support/set-scenario.ts';
import { podless } from '../../support/set-steps.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { stays, waitFor } from '../../support/wait-for.ts';

/** A warning that lasts is told again at most this often. */
const eventRepeatMs = 3_000;

suite('targets that a VM is already at, that take none, or that there are not', { concurrency: 4 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start({ migrations: { eventRepeatMs } })));
  after(() => rig.stop());

  test('hibernate/AS-05 a VM that is wanted where it runs is left alone, and nobody is asked about it', async () => {
    const scenario = await rig.scenario({ nodes: ['a'] });
    const set = await scenario.set('web', { spec: { nodeName: undefined } });
    await isQuiet(set);
    const [before, pod] = [await set.read(), await set.pod()];
    const asked = rig.registryProxy.requests(set.vmName).length;
    const told = await set.reasons();
    await set.move('a');
    // Its agent repeats what it said, for the new generation: then everything that follows from the change has begun.
    await waitFor('the agent to know the new generation', async () => {
      const now = await set.pod();
      return (now?.lifecycle?.observedGeneration ?? 0) > (pod?.lifecycle?.observedGeneration ?? 0);
    });
    await isQuiet(set);
    const after = await set.read();
    assert.deepEqual({ ...after?.status, observedGeneration: 0 }, { ...before?.status, observedGeneration: 0 });
    assert.equal((await set.pod())?.uid, pod?.uid);
    assert.equal((await set.pod())?.vmId, pod?.vmId);
    assert.deepEqual(await set.reasons(), told);
    assert.equal(rig.registryProxy.requests(set.vmName).length, asked);
    assert.equal(await migrationsOf(set), 0);
    scenario.check();
  });

  test('hibernate/AS-13 a cordoned target is waited for while the VM runs on; uncordoned, it is moved to', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    await scenario.cordon('b');
    await refused(set, 'b', 'TargetUnschedulable');
    await scenario.cordon('b', false);
    await set.settles('b');
    assert.deepEqual(await set.tag(), { state: 'absent' });
    scenario.check();
  });

  test('hibernate/AS-14 a target that is cordoned after the old Pod has gone: the snapshot waits with the new one', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const goOn = await podless(set);
    await scenario.cordon('b');
    await goOn();
    await set.shows('MigrateNoCapacity');
    await stays(
      'pending, with its snapshot',
      async () => {
        // It is told as often as it is looked at anew, if nothing holds it back.
        await set.migration.signal(messages.poke);
        const [pod, phase, tag] = [await set.pod(), await set.phase(), await set.tag()];
        return pod?.nodeName === '' && phase === 'Migrating' && tag.state === 'present';
      },
      4 * eventRepeatMs,
    );
    const events = (await set.events()).filter(({ reason }) => reason === 'MigrateNoCapacity');
    assert.ok(
      events.every(({ message }) => message.includes('nodes are available')),
      'in the words of the scheduler',
    );
    const times = await toldAt(set, 'MigrateNoCapacity');
    assert.ok(times.length >= 2, 'what lasts is told again');
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    assert.ok(
      pauses.every((pause) => pause >= eventRepeatMs),
      `told again after ${pauses.join(', ')} ms, at most every ${eventRepeatMs} were agreed`,
    );

    await scenario.cordon('b', false);
    const pod = await set.settles('b');
    assert.ok(pod.restore);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    assertOrder(scenario.timeline, [
      { what: 'pod-created', uid: pod.uid },
      { what: 'pod-bound', uid: pod.uid, node: scenario.node('b') },
      { what: 'vm-started', node: scenario.node('b') },
      { what: 'tag-deleted', by: 'vmflow' },
    ]);
    scenario.check();
  });

  test('hibernate/AS-15 a target that does not exist: the VM is not touched', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    await refused(set, 'nope', 'TargetNotFound');
    scenario.check();
  });
});

/** The move is refused for this reason, and the VM runs on as if nothing had been asked. */
async function refused(set: SetUnderTest, letter: string, reason: string): Promise<void> {
  const before = await set.pod();
  await set.move(letter);
  const condition = await set.shows(reason);
  assert.equal(condition.status, 'False');
  await stays(
    'left running',
    async () => {
      const [pod, phase] = [await set.pod(), await set.phase()];
      return pod?.uid === before?.uid && pod?.hibernate === false && pod.vmId === before?.vmId && phase === 'Running';
    },
    1_500,
  );
  const { timeline } = set.scenario;
  assert.deepEqual(timeline.entries({ what: 'hibernate-set' }), []);
  assert.deepEqual(timeline.entries({ what: 'vm-paused' }), []);
  assert.deepEqual(timeline.entries({ what: 'tag-put' }), []);
  assert.equal(set.vms()[0]?.id, before?.vmId);
}

/** When events of this reason were written, or counted once more; milliseconds since the epoch. */
async function toldAt(set: SetUnderTest, reason: string): Promise<number[]> {
  const writes = await set.writes({ resource: 'events' });
  const first = writes.filter(({ request }) => (request as { reason?: string } | undefined)?.reason === reason);
  const names = new Set(first.map(({ name }) => name));
  const again = writes.filter(({ verb, name, request }) => verb === 'patch' && names.has(name) && isChange(request));
  return [...first, ...again].map(({ at }) => Date.parse(at)).sort((one, other) => one - other);
}

/** A patch of nothing is how an event is read by those who may not read events. */
function isChange(patch: unknown): boolean {
  return !Array.isArray(patch) || patch.length > 0;
}
