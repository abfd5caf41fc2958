import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { dropTag, readTag } from '../../../activities/registry/snapshot.ts';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { assertOrder, assertPromises } from '../../support/set-timeline.ts';
import { waitFor } from '../../support/wait-for.ts';
import { hibernate, oneVm, wake } from './builders.ts';
import { startAgentRig, type AgentRig } from './rig.ts';

let rig: AgentRig;
before(async () => {
  rig = await startAgentRig();
});
after(() => rig.stop());

const counterOf = (vm: string): number => rig.agents.vms(vm)[0]?.counter ?? -1;
/** A state that can be told from a fresh one. */
const aged = (vm: string, ticks = 2): Promise<unknown> => waitFor('a counter', () => counterOf(vm) >= ticks);

describe('an agent', () => {
  test('boots a VM for a Pod of its node and says what it does', async () => {
    const web = oneVm(rig, 'boot');
    await web.create({ node: 'node-b' });
    const pod = await web.ready();
    const [vm] = rig.agents.vms(web.vm);
    assert.deepEqual([vm?.node, vm?.id, vm?.ip], ['node-b', pod.vmId, pod.ip]);
    assert.equal(pod.lifecycleGeneration, 1);
    assert.equal(pod.object.status?.['phase'], 'Running');
    const [first] = rig.agents.timeline.entries({ what: 'vm-started', vm: web.vm });
    assert.equal(first?.what === 'vm-started' ? first.counter : undefined, 0);
  });

  test('hibernates to a snapshot that the project accepts, in the order of the steps, and wakes from it', async () => {
    const web = oneVm(rig, 'sleep');
    await web.create({ node: 'node-a' });
    const { vmId } = await web.ready();
    await aged(web.vm);
    await web.note(hibernate);
    const pod = await web.asleep();
    assert.deepEqual([pod.vmId, pod.ip, rig.agents.vms(web.vm)], ['', '', []]);
    const tag = await readTag(rig.tags, web.vm, 'hibernate');
    assert.ok(tag.state === 'present' && tag.isSnapshot && tag.createdAt !== undefined);
    assert.equal(tag.baseImage, 'base:1');
    await web.note(wake);
    const awake = await web.ready();
    assert.notEqual(awake.vmId, vmId);
    const key = `${rig.namespace}/${web.pod}`;
    const found = assertOrder(rig.agents.timeline, [
      { what: 'hibernate-set', pod: key },
      { what: 'vm-paused', vm: web.vm },
      { what: 'vm-resumed', vm: web.vm },
      { what: 'tag-put', vm: web.vm, tag: 'hibernate' },
      { what: 'vm-id', pod: key, id: '' },
      { what: 'vm-stopped', vm: web.vm },
      { what: 'lifecycle', pod: key, state: 'hibernated' },
      { what: 'hibernate-cleared', pod: key },
      { what: 'vm-started', vm: web.vm },
      { what: 'vm-id', pod: key, id: awake.vmId },
      { what: 'lifecycle', pod: key, state: 'ready' },
    ]);
    const counters = found.flatMap((entry) => ('counter' in entry ? [entry.counter] : []));
    assert.equal(counters[0], counters.at(-1), 'continues from the pause');
  });

  test('restores on another node what was stored on the first, from the counter at the pause', async () => {
    const web = oneVm(rig, 'move');
    await web.create({ node: 'node-a' });
    await web.ready();
    await aged(web.vm, 3);
    await web.note(hibernate);
    await web.asleep();
    await web.remove();
    await web.untilGone();
    await web.create({ node: 'node-c', restore: true });
    await web.ready();
    const [put] = rig.agents.timeline.entries({ what: 'tag-put', vm: web.vm });
    const started = rig.agents.timeline.entries({ what: 'vm-started', vm: web.vm });
    assert.equal(started.length, 2);
    assert.ok(put?.what === 'tag-put' && started[1]?.what === 'vm-started');
    assert.deepEqual([started[1].node, started[1].counter], ['node-c', put.counter]);
    assert.ok(started[1].counter >= 3);
    assert.equal(await dropTag(rig.tags, web.vm, 'hibernate', put.digest), 'dropped');
    assertOrder(rig.agents.timeline, [
      { what: 'pod-gone', pod: `${rig.namespace}/${web.pod}` },
      { what: 'pod-created', pod: `${rig.namespace}/${web.pod}` },
      { what: 'tag-deleted', vm: web.vm, by: 'vmflow' },
    ]);
  });

  test('restores a Pod without the mark where a snapshot exists, and refuses where that would be wrong', async () => {
    const web = oneVm(rig, 'unmarked');
    await web.create({ node: 'node-a' });
    await web.ready();
    await web.note(hibernate);
    await web.asleep();
    await web.remove();
    await web.untilGone();
    await web.create({ node: 'node-a', image: 'base:2' });
    const refused = await web.until('refused', ({ lifecycle }) => lifecycle === 'failed');
    assert.match(refused.lifecycleMessage, /base:1.*base:2/);
    assert.equal(refused.object.status?.['reason'], 'ProviderFailed');
    assert.deepEqual(rig.agents.vms(web.vm), []);
    await web.remove();
    await web.untilGone();
    await web.create({ node: 'node-a', annotations: { [cocoonKeys.forkFrom]: 'vk-other' } });
    assert.match(
      (await web.until('refused', ({ lifecycle }) => lifecycle === 'failed')).lifecycleMessage,
      /another source/,
    );
    await web.remove();
    await web.untilGone();
    await web.create({ node: 'node-b' });
    await web.ready();
    assert.equal(rig.agents.vms(web.vm)[0]?.node, 'node-b');
  });

  test('boots nothing when it can not know whether a snapshot exists', async () => {
    const web = oneVm(rig, 'unsure');
    const broken = rig.proxy.faults.readsFail({ whose: 'agents', repository: web.vm });
    await web.create({ node: 'node-a' });
    await web.until('refused', ({ lifecycle }) => lifecycle === 'failed');
    assert.deepEqual(rig.agents.vms(web.vm), []);
    broken.remove();
    await web.ready();
  });

  test('says the same again for a newer stamp', async () => {
    const web = oneVm(rig, 'stamp');
    await web.create({ node: 'node-a' });
    await web.ready();
    await web.note({ [cocoonKeys.generation]: '7' });
    const pod = await web.until('told', ({ lifecycleGeneration }) => lifecycleGeneration === 7);
    assert.equal(pod.lifecycle, 'ready');
    await web.note({ ...hibernate, [cocoonKeys.generation]: '8' });
    assert.equal((await web.asleep()).lifecycleGeneration, 8);
    await web.note({ [cocoonKeys.generation]: '9' });
    assert.equal((await web.asleep()).lifecycleGeneration, 9);
  });

  test('removes the VM of a Pod that is deleted, and keeps its last state where the policy says so', async () => {
    const [kept, main, gone] = [oneVm(rig, 'kept'), oneVm(rig, 'mainonly'), oneVm(rig, 'gone')];
    await kept.create({ node: 'node-a', annotations: { [cocoonKeys.snapshotPolicy]: 'always' } });
    await main.create({ node: 'node-a', role: 'sub-agent', annotations: { [cocoonKeys.snapshotPolicy]: 'main-only' } });
    await gone.create({ node: 'node-a' });
    for (const one of [kept, main, gone]) {
      await one.ready();
      rig.agents.timeline.giveUp(one.vm, 'set deleted');
      await one.remove();
      await one.untilGone();
      assert.deepEqual(rig.agents.vms(one.vm), []);
    }
    const latest = await Promise.all([kept, main, gone].map(({ vm }) => readTag(rig.tags, vm, 'latest')));
    assert.deepEqual(
      latest.map(({ state }) => state),
      ['present', 'absent', 'absent'],
    );
  });

  test('keeps every promise in all this', () => {
    assertPromises(rig.agents.timeline);
  });
});
