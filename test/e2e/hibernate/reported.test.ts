import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { counterOf, leftOverTag } from '../../support/set-givens.ts';
import { SetRig } from '../../support/set-rig.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { stays, waitFor } from '../../support/wait-for.ts';

suite('moves that have gone wrong elsewhere', { concurrency: 3 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start({ migrations: { fenceMs: 1_000 } })));
  after(() => rig.stop());

  test('case/21 a tag that was left over proves nothing: the VM is kept until a snapshot of its own is there', async () => {
    const scenario = await rig.scenario({ agents: { pushMs: 1_000 } });
    const set = await scenario.set();
    const old = await leftOverTag(set, 5);
    await set.move('b');
    await set.settles('b');
    const [, put] = scenario.timeline.entries({ what: 'tag-put', vm: set.vmName });
    assert.ok(put?.what === 'tag-put');
    assert.notEqual(put.digest, old);
    assertOrder(scenario.timeline, [
      { what: 'tag-deleted', vm: set.vmName },
      { what: 'hibernate-set' },
      { what: 'tag-put', digest: put.digest },
      { what: 'vm-stopped', snapshot: put.digest },
      { what: 'pod-deleting' },
      { what: 'vm-started', restoredFrom: put.digest },
    ]);
    scenario.check();
  });

  test('case/31 a target of another CPU class is refused before the VM is touched', async () => {
    const scenario = await rig.scenario({ classes: { a: 'v4', c: 'v4' } });
    const set = await scenario.set('web', { spec: { snapshotCompatibilityClass: 'v4' } });
    await set.move('b');
    await set.shows('TargetClassMismatch');
    await stays('left running', async () => (await set.pod())?.hibernate === false && set.vms().length === 1, 1_500);
    assert.deepEqual(scenario.timeline.entries({ what: 'vm-paused' }), []);
    await set.move('c');
    await set.settles('c');
    scenario.check();
  });

  for (const holdPaused of [false, true])
    test(`case/33 the state that arrives is that of the pause, with a guest that ${holdPaused ? 'stays paused' : 'runs on'} while it is stored`, async () => {
      const scenario = await rig.scenario({ agents: { holdPaused, pushMs: 1_000 } });
      const set = await scenario.set();
      await set.move('b');
      await set.settles('b');
      const [paused] = scenario.timeline.entries({ what: 'vm-paused', vm: set.vmName });
      const [, restored] = scenario.timeline.entries({ what: 'vm-started', vm: set.vmName });
      const [stopped] = scenario.timeline.entries({ what: 'vm-stopped', vm: set.vmName });
      assert.equal(counterOf(restored), counterOf(paused));
      if (holdPaused) assert.equal(counterOf(stopped), counterOf(paused));
      else assert.ok(counterOf(stopped) > counterOf(paused));
      assert.equal(scenario.timeline.entries({ what: 'vm-resumed' }).length, holdPaused ? 0 : 1);
      scenario.check();
    });

  test('case/35, case/40 a VM that its target can not restore comes back from its snapshot, and the set says that it runs', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const node = scenario.node('b');
    const broken = scenario.agents.faults.set('createFails', { vm: set.vmName, node, times: Infinity });
    await set.move('b');
    await set.isPhase('Failed');
    await set.shows('MainAgentFailed');
    await waitFor('some tries', () => broken.struck() >= 3);
    assert.equal((await set.tag()).state, 'present');
    await set.order('abort', { reason: 'the target can not restore it' });
    const pod = await set.settles('a');
    assert.ok(pod.restore);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    assert.equal((await set.migrationResult()).outcome, 'aborted');
    assert.equal(await set.phase(), 'Running');
    const status = (await set.read())?.status as { agents: readonly object[]; readyAgents: number };
    assert.equal(status.readyAgents, 1);
    assert.deepEqual(
      (status.agents as readonly { vmID?: string; phase?: string }[]).map(({ vmID, phase }) => [vmID, phase]),
      [[pod.vmId, 'Running']],
    );
    assert.equal((await set.condition('Ready'))?.status, 'True');
    const condition = await set.condition('Migrating');
    assert.deepEqual([condition?.status, condition?.reason], ['False', 'Aborted']);
    const [stored] = scenario.timeline.entries({ what: 'tag-put', vm: set.vmName });
    const [, restored] = scenario.timeline.entries({ what: 'vm-started', vm: set.vmName });
    assert.equal(counterOf(restored), counterOf(stored));
    scenario.check();
  });

  test('an order that comes while somebody else changes the set is carried out all the same', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const vm = { vm: set.vmName, node: scenario.node('b') };
    const broken = scenario.agents.faults.set('createFails', { ...vm, times: Infinity });
    await set.move('b');
    await set.shows('MainAgentFailed');
    const change = rig.proxy.hold({
      method: 'patch cocoonsets',
      match: ({ path, body }) => path.includes(set.namespace) && body.includes('nodeName'),
    });
    const aborted = set.order('abort');
    await change.arrived;
    await set.patch({ agent: { replicas: 1 } });
    change.release();
    assert.match(await aborted, /the set now asks for/);
    broken.clear();
    await set.settles('a');
    scenario.check();
  });

  for (const { what, method, isIt, reason } of [
    {
      what: 'asking the agent',
      method: 'patch pods',
      isIt: (body: string) => body.includes(`"${cocoonKeys.hibernate}":"true"`),
      reason: 'ClusterForbidden',
    },
    { what: 'the new Pod', method: 'create pods', isIt: () => true, reason: 'PodRejected' },
  ])
    test(`case/37 ${what} is refused for good: that is said by its name, and ends when it is allowed`, async () => {
      const scenario = await rig.scenario();
      const set = await scenario.set();
      const rule = rig.proxy.refuse(
        { method, match: ({ path, body }) => path.includes(`/namespaces/${set.namespace}/`) && isIt(body) },
        403,
      );
      await set.move('b');
      const condition = await set.shows(reason);
      await set.hasEvent(reason);
      assert.match(condition.message, /refused by the test/);
      const { message, status } = await set.migrationStatus();
      assert.match(message, /refused by the test/);
      assert.notEqual(status, 'Running');
      assert.equal(await set.phase(), 'Migrating');
      rule.remove();
      await set.settles('b');
      assert.deepEqual(await set.tag(), { state: 'absent' });
      scenario.check();
    });
});
