import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { callOf } from '../../sim/registry-calls.ts';
import type { RecordedRequest } from '../../sim/request-log.ts';
import { SetRig } from '../../support/set-rig.ts';

/** Calls that are carried out though nobody hears of it. */
const calls: readonly {
  readonly what: string;
  readonly method: string;
  readonly match?: (request: RecordedRequest) => boolean;
}[] = [
  {
    what: 'the phase',
    method: 'patch cocoonsets/status',
    match: ({ body }) => body.includes('"phase":"Migrating"'),
  },
  { what: 'the record', method: 'patch cocoonsets', match: ({ body }) => body.includes(cocoonKeys.migration) },
  {
    what: 'the wish to hibernate',
    method: 'patch pods',
    match: ({ body }) => body.includes(`"${cocoonKeys.hibernate}":"true"`),
  },
  { what: 'the deletion of the Pod', method: 'delete pods' },
  { what: 'the new Pod', method: 'create pods' },
];

suite('answers that get lost', { concurrency: 3 }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  for (const { what, method, match = () => true } of calls)
    test(`hibernate/AS-31 the answer about ${what} is lost: it happens once, and one migration comes of it`, async () => {
      const scenario = await rig.scenario();
      const set = await scenario.set();
      const rule = rig.proxy.addRule({
        method,
        match: (request) => request.path.includes(`/namespaces/${set.namespace}/`) && match(request),
        action: 'drop-after',
      });
      await set.move('b');
      await set.settles('b');
      assert.equal(rule.fired(), 1);
      await isOneMigration(set);
      scenario.check();
    });

  test('hibernate/AS-31 the answer about the deletion of the tag is lost: it happens once, and one migration comes of it', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const rule = rig.registryProxy.addRule({
      method: 'delete manifests',
      match: ({ verb, path }) => callOf(verb, path).repository === set.vmName,
      action: 'drop-after',
    });
    await set.move('b');
    await set.settles('b');
    assert.equal(rule.fired(), 1);
    await isOneMigration(set);
    scenario.check();
  });

  async function isOneMigration(
    set: Awaited<ReturnType<Awaited<ReturnType<SetRig['scenario']>>['set']>>,
  ): Promise<void> {
    const { timeline } = set.scenario;
    const of = (what: string): number => timeline.entries({ what }).length;
    assert.deepEqual(
      {
        hibernated: of('hibernate-set'),
        started: of('vm-started'),
        created: of('pod-created'),
        deleted: of('pod-gone'),
        dropped: of('tag-deleted'),
      },
      { hibernated: 1, started: 2, created: 2, deleted: 1, dropped: 1 },
    );
    const reasons = await set.reasons();
    // Whoever finds that it has been done already doesn't know that it was the one who did it.
    for (const reason of ['MigrationStarted', 'SnapshotReady', 'OldPodRemoved', 'RestoreStarted', 'Migrated'])
      assert.ok(reasons.filter((one) => one === reason).length <= 1, reason);
    assert.ok(!reasons.includes('PodNameConflict'));
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const executions = [];
    for await (const one of rig.client.workflow.list({
      query: `WorkflowId = "${set.migration.workflowId}"`,
    }))
      executions.push(one.runId);
    assert.equal(executions.length, 1);
  }
});
