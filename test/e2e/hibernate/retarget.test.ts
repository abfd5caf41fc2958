import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { counterOf, fill } from '../../support/set-givens.ts';
import { SetRig } from '../../support/set-rig.ts';
import { happened, podless } from '../../support/set-steps.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { stays } from '../../support/wait-for.ts';

suite('people change their mind while a VM moves', { concurrency: 2 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  test('hibernate/AS-09 wanted back before its Pod was deleted, a VM is woken where it is, on the same Pod', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const old = await set.pod();
    scenario.agents.faults.set('removalDelay', { vm: set.vmName, delayMs: 10_000 });
    await set.move('b');
    await happened(set, { what: 'tag-put', vm: set.vmName });
    await set.move('a');
    assert.equal(set.vms()[0]?.id, old?.vmId, 'the agent is still at it');

    const pod = await set.settles('a');
    assert.equal(pod.uid, old?.uid);
    assert.notEqual(pod.vmId, old?.vmId);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const [put, , , started] = assertOrder(scenario.timeline, [
      { what: 'tag-put', tag: 'hibernate' },
      { what: 'vm-stopped', why: 'hibernated', id: old?.vmId },
      { what: 'hibernate-cleared', uid: old?.uid },
      { what: 'vm-started', node: scenario.node('a'), id: pod.vmId },
      { what: 'vm-id', id: pod.vmId },
      { what: 'tag-deleted', by: 'vmflow' },
      { what: 'set-phase', phase: 'Running' },
    ]);
    assert.equal(counterOf(started), counterOf(put));
    assert.deepEqual(scenario.timeline.entries({ what: 'pod-deleting' }), []);
    scenario.check();
  });

  test('hibernate/AS-10 a Pod that finds no room is replaced by one for the node that is wanted now', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const goOn = await podless(set);
    await fill(scenario, 'b');
    await goOn();
    await set.shows('MigrateNoCapacity');
    const waiting = await set.pod();
    assert.equal(waiting?.nodeName, '');
    assert.deepEqual(waiting.pinnedTo, [scenario.node('b')]);

    await set.move('c');
    const pod = await set.settles('c');
    assert.notEqual(pod.uid, waiting.uid);
    assert.deepEqual(pod.pinnedTo, [scenario.node('c')]);
    assert.ok(pod.restore);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const [put, , , , started] = assertOrder(scenario.timeline, [
      { what: 'tag-put', tag: 'hibernate' },
      { what: 'pod-created', uid: waiting.uid },
      { what: 'pod-gone', uid: waiting.uid },
      { what: 'pod-created', uid: pod.uid },
      { what: 'vm-started', node: scenario.node('c') },
      { what: 'tag-deleted', by: 'vmflow' },
    ]);
    assert.equal(counterOf(started), counterOf(put));
    assert.equal((await set.migrationResult()).to, scenario.node('c'));
    scenario.check();
  });

  test('hibernate/AS-11 wanted elsewhere while it is restored, a VM comes up first; its snapshot stays until then', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    scenario.agents.faults.set('restoreStalls', { vm: set.vmName, node: scenario.node('b'), delayMs: 10_000 });
    await set.move('b');
    await happened(set, { step: 'create-7-downloaded', node: scenario.node('b'), vm: set.vmName });
    await set.move('c');
    assert.deepEqual(set.vms(), [], 'it is still being restored');
    const onB = await set.pod();

    const pod = await set.settles('c');
    assert.notEqual(pod.uid, onB?.uid);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const [first, b, , , second, c] = assertOrder(scenario.timeline, [
      { what: 'tag-put', by: scenario.node('a') },
      { what: 'vm-started', node: scenario.node('b') },
      { what: 'lifecycle', state: 'ready', uid: onB?.uid },
      { what: 'tag-deleted', by: 'vmflow' },
      { what: 'tag-put', by: scenario.node('b') },
      { what: 'vm-started', node: scenario.node('c') },
      { what: 'tag-deleted', by: 'vmflow' },
    ]);
    assert.equal(counterOf(b), counterOf(first));
    assert.ok(counterOf(second) >= counterOf(b));
    assert.equal(counterOf(c), counterOf(second));
    assert.equal(scenario.timeline.entries({ what: 'tag-deleted' }).length, 2);
    assert.equal((await set.migrationResult()).outcome, 'migrated');
    scenario.check();
  });

  test('hibernate/AS-12 wanted anywhere while there is no Pod, a VM is restored wherever there is room', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const goOn = await podless(set);
    await set.move('');
    await stays('without a Pod', async () => (await set.podObject()) === undefined, 500);
    await goOn();

    const pod = await set.settles();
    assert.equal(pod.pinnedTo, undefined);
    assert.ok(pod.restore);
    const object = await set.podObject();
    assert.equal((object?.['spec'] as { affinity?: unknown } | undefined)?.affinity, undefined);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const [put, , started] = assertOrder(scenario.timeline, [
      { what: 'tag-put', tag: 'hibernate' },
      { what: 'pod-created', uid: pod.uid },
      { what: 'vm-started', node: pod.nodeName },
      { what: 'tag-deleted', by: 'vmflow' },
      { what: 'set-phase', phase: 'Running' },
    ]);
    assert.equal(counterOf(started), counterOf(put));
    assert.equal(scenario.timeline.entries({ what: 'pod-created' }).length, 2, 'the old one and this one');
    scenario.check();
  });
});
