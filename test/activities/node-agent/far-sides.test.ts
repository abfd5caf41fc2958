import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { dropTag, readTag } from '../../../activities/registry/snapshot.ts';
import { createRegistry } from '../../../activities/registry/undici-adapter.ts';
import { deleteTag, putForeign } from '../../sim/registry-content.ts';
import { bindFirst, fillNode, withSchedulerPaused } from '../../sim/scheduler-faults.ts';
import { assertOrder, assertPromises, violationsIn } from '../../support/set-timeline.ts';
import { stays } from '../../support/wait-for.ts';
import { endpointAt, refusal } from '../registry/builders.ts';
import { oneVm, sleepingVm, type OneVm } from './builders.ts';
import { startAgentRig, type AgentRig } from './rig.ts';

let rig: AgentRig;
before(async () => {
  rig = await startAgentRig({ retryMaxMs: 200 });
});
afterEach(() => rig.proxy.clearRules());
after(() => rig.stop());

const sleeping = (set: string): Promise<OneVm> => sleepingVm(rig, set);
const tagOf = (one: OneVm) => readTag(rig.tags, one.vm, 'hibernate');

describe('the registry, as the proxy before it makes it', () => {
  test('fails reads, hangs or lies about what is there: nothing is taken for absent (R1, R4)', async () => {
    const one = await sleeping('reads');
    const failing = rig.proxy.faults.readsFail();
    assert.equal((await tagOf(one)).state, 'unknown');
    failing.remove();
    const hanging = rig.proxy.faults.readsHang({ repository: one.vm });
    const hasty = createRegistry(endpointAt(rig.proxy.url, { requestTimeoutMs: 200 }), { allowInsecureTls: false });
    await refusal(hasty.manifest(one.vm, 'hibernate'), 'Timeout');
    await hasty.close();
    hanging.remove();
    const lying = rig.proxy.faults.denied({ repository: one.vm, times: 1 });
    assert.equal((await tagOf(one)).state, 'unknown');
    assert.equal((await tagOf(one)).state, 'present');
    assert.equal(lying.fired(), 1);
    rig.proxy.faults.denied({ repository: one.vm, times: 1 }, true);
    assert.equal((await tagOf(one)).state, 'absent');
    assert.equal((await tagOf(one)).state, 'present');
  });

  test('refuses to delete, to others than agents (R2, R3)', async () => {
    const one = await sleeping('deletes');
    const forbidden = rig.proxy.faults.deleteForbidden();
    await refusal(dropTag(rig.tags, one.vm, 'hibernate'), 'Forbidden');
    forbidden.remove();
    const unsupported = rig.proxy.faults.deleteUnsupported();
    await refusal(dropTag(rig.tags, one.vm, 'hibernate'), 'DeletionDisabled');
    unsupported.remove();
    assert.equal((await tagOf(one)).state, 'present');
  });

  test('is slow (R5), and counts what each repository was asked for', async () => {
    const one = await sleeping('slow');
    rig.proxy.clearRequests();
    rig.proxy.faults.slow(200, { repository: one.vm });
    const begun = performance.now();
    await tagOf(one);
    assert.ok(performance.now() - begun >= 190);
    assert.deepEqual(
      rig.proxy.requests(one.vm).map(({ method }) => method),
      ['get manifests'],
    );
    assert.deepEqual(rig.proxy.requests('vk-nobody'), []);
  });

  test('holds something else under the tag (R6): agents restore nothing from it, and it is found to be a loss', async () => {
    const one = await sleeping('foreign');
    assertPromises(rig.agents.timeline);
    await putForeign(rig.proxy.url, one.vm, 'hibernate');
    const tag = await tagOf(one);
    assert.ok(tag.state === 'present' && !tag.isSnapshot);
    assert.deepEqual(
      violationsIn(rig.agents.timeline.entries()).map(({ promise, vm }) => [promise, vm]),
      [['P1', one.vm]],
    );
    await one.remove();
    await one.untilGone();
    await one.create({ node: 'node-a', restore: true });
    await one.until('refused', ({ lifecycle }) => lifecycle === 'failed');
    assert.deepEqual(rig.agents.vms(one.vm), []);
  });

  test('loses a tag to somebody, which the timeline tells', async () => {
    const one = await sleeping('stolen');
    rig.agents.timeline.giveUp(one.vm, 'loss acknowledged');
    await deleteTag(rig.proxy.url, one.vm, 'hibernate');
    assertOrder(rig.agents.timeline, [
      { what: 'tag-put', vm: one.vm },
      { what: 'tag-deleted', vm: one.vm, by: 'somebody' },
    ]);
  });
});

describe('the scheduler', () => {
  test('can be paused (S1), and be too late (S2)', async () => {
    const { scheduler, admin } = rig.kubernetes;
    assert.ok(scheduler);
    const [late, hasty] = [oneVm(rig, 'late'), oneVm(rig, 'hasty')];
    await withSchedulerPaused(scheduler, async () => {
      await late.create({ node: 'node-b' });
      await hasty.create({});
      await bindFirst(admin, rig.namespace, hasty.pod, 'node-c');
      await hasty.ready();
      await stays('unbound', async () => (await late.read())?.nodeName === '', 200);
    });
    await late.ready();
    assert.equal(rig.agents.vms(hasty.vm)[0]?.node, 'node-c');
  });

  test('finds no room where a filler took it (S3)', async () => {
    const one = oneVm(rig, 'crowded');
    const filler = await fillNode(rig.kubernetes.admin, rig.namespace, 'node-b', { 'ephemeral-storage': '1Ti' });
    await one.create({ node: 'node-b', storage: '1Gi' });
    await stays('unbound', async () => (await one.read())?.nodeName === '', 200);
    await filler.remove();
    await one.ready();
  });
});
