import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { resources } from '../../../activities/kubernetes/resources.ts';
import type { DrainNodeResult, DrainNodeStatus } from '../../../workflows/contracts/hibernate.ts';
import { drainId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { SetRig } from '../../support/set-rig.ts';
import { stays, waitFor } from '../../support/wait-for.ts';
import { hibernationOf } from './hibernation-hand.ts';

suite('a node that is drained', () => {
  let rig: SetRig;
  before(
    async () => (rig = await SetRig.start({ migrations: { limits: { overall: 8, perSource: 4, perTarget: 4 } } })),
  );
  after(() => rig.stop());

  test('hibernate/AS-34 what can move moves to where there is room, the rest is told, and nothing comes back', async () => {
    // Each of the others takes the half of them.
    const room = { cpu: '12', memory: '12Gi', 'ephemeral-storage': '100Gi', pods: '12' };
    const scenario = await rig.scenario({ room });
    const [a, b, c] = [scenario.node('a'), scenario.node('b'), scenario.node('c')];
    const names = Array.from({ length: 12 }, (_, index) => `web${index}`);
    const sets = await Promise.all(names.map((name) => scenario.set(name)));
    const [suspended, held, ...movable] = sets;
    assert.ok(suspended !== undefined && held !== undefined);
    const unpinned = movable.slice(0, 5);
    // A VM stays where it is when nobody asks for a node any more.
    await Promise.all(unpinned.map((set) => set.move('')));
    await suspended.patch({ suspend: true });
    const hibernation = await hibernationOf(held, 'Hibernate');
    await Promise.all([
      suspended.isPhase('Suspended'),
      hibernation.is('Hibernated'),
      ...unpinned.map((set) => set.settles('a')),
    ]);

    const drain = await rig.client.workflow.start('drainNode', {
      workflowId: drainId(a),
      taskQueue: rig.taskQueue,
      args: [{ node: a, by: 'a test' }],
    });
    const { blocked } = await waitFor(
      'ten to have moved',
      async () => {
        const status = await drain.query<DrainNodeStatus>(messages.status);
        return status.moved === 10 && status.blocked.length === 2 ? status : undefined;
      },
      { timeoutMs: 240_000 },
    );
    assert.deepEqual(
      blocked.map(({ set, reason }) => `${set} ${reason}`).sort(),
      [`${scenario.namespace}/web0 Suspended`, `${scenario.namespace}/web1 HibernationOwnsPod`].sort(),
    );
    const node = await rig.admin.get(resources.node, '', a);
    assert.equal((node?.spec as { unschedulable?: boolean } | undefined)?.unschedulable, true);

    for (const set of movable) {
      const pod = await set.settles();
      assert.ok([b, c].includes(pod.nodeName), pod.nodeName);
      assert.deepEqual(await set.tag(), { state: 'absent' });
      const wanted = ((await set.read())?.spec as { nodeName?: string } | undefined)?.nodeName ?? '';
      assert.equal(wanted, unpinned.includes(set) ? '' : pod.nodeName);
    }
    const where = async (): Promise<string> =>
      (await Promise.all(movable.map(async (set) => (await set.pod())?.vmId))).join(' ');
    const settled = await where();
    await stays('where they are', async () => (await where()) === settled, 2_500);

    // A suspended set is only wanted elsewhere: it goes there when it is woken.
    assert.equal((await suspended.pod())?.nodeName, a);
    assert.equal((await held.pod())?.nodeName, a);
    const cancelled = await drain.executeUpdate<string, [object]>(messages.cancelDrain, { args: [{ by: 'a test' }] });
    assert.match(cancelled, /nothing more is started/);
    const result = (await drain.result()) as DrainNodeResult;
    assert.deepEqual([result.outcome, result.moved], ['cancelled', 10]);
    await suspended.patch({ suspend: undefined });
    assert.notEqual((await suspended.settles()).nodeName, a);
    scenario.check();
  });
});
