import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { CocoonSetStatus } from '../../../workflows/contracts/hibernate.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { SetRig } from '../../support/set-rig.ts';
import { assertOrder } from '../../support/set-timeline.ts';
import { waitFor } from '../../support/wait-for.ts';

suite('a straight move', { concurrency: true }, () => {
  let rig: SetRig;
  before(async () => (rig = await SetRig.start()));
  after(() => rig.stop());

  test('hibernate/AS-01, hibernate/AS-02 a VM moves with its memory, and every step comes after what proves it', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const before = await set.pod();
    await set.move('b');
    const pod = await set.settles('b');
    const result = await set.migrationResult();
    const { timeline } = scenario;

    assert.notEqual(pod.uid, before?.uid);
    assert.ok(pod.restore, 'the Pod asks for its snapshot from the beginning');
    assert.notEqual(pod.vmId, before?.vmId);
    assert.deepEqual(await set.tag(), { state: 'absent' });
    const phases = timeline.entries({ what: 'set-phase' }).map((entry) => 'phase' in entry && entry.phase);
    assert.deepEqual(phases, ['Pending', 'Running', 'Migrating', 'Running']);
    const told = (await set.reasons()).filter((reason) => !['Scheduled'].includes(reason));
    assert.deepEqual([...told].sort(), [
      'Migrated',
      'MigrationStarted',
      'OldPodRemoved',
      'RestoreStarted',
      'SnapshotReady',
    ]);

    const [, , , put, stopped, , , , started] = assertOrder(timeline, [
      { what: 'set-phase', phase: 'Migrating' },
      { what: 'hibernate-set' },
      { what: 'vm-paused' },
      { what: 'tag-put', tag: 'hibernate' },
      { what: 'vm-stopped', why: 'hibernated', node: scenario.node('a') },
      { what: 'lifecycle', state: 'hibernated' },
      { what: 'pod-deleting' },
      { what: 'pod-created' },
      { what: 'vm-started', node: scenario.node('b') },
      { what: 'lifecycle', state: 'ready', generation: 2 },
      { what: 'tag-deleted', reference: 'hibernate', by: 'vmflow' },
      { what: 'set-phase', phase: 'Running' },
    ]);
    assert.ok(put?.what === 'tag-put' && started?.what === 'vm-started' && stopped?.what === 'vm-stopped');
    assert.equal(started.counter, put.counter, 'the guest goes on where it was paused');
    assert.equal(started.restoredFrom, put.digest);

    // The hand-over, as people are shown it.
    assert.equal(result.outcome, 'migrated');
    assert.equal(result.from, scenario.node('a'));
    assert.equal(result.to, scenario.node('b'));
    assert.equal(result.vmIdBefore, before?.vmId);
    assert.equal(result.vmIdAfter, pod.vmId);
    assert.equal(result.snapshotDigest, put.digest);
    assert.ok((result.downtimeMs ?? 0) > 0);
    const length = await set.historyLength();
    assert.ok(length <= 120, `a plain migration is short: ${length} events`);
    scenario.check();
  });

  test('a right that is missing holds a move up and does not end it', async () => {
    const scenario = await rig.scenario();
    const set = await scenario.set();
    const missing = rig.proxy.refuse(
      { method: 'get nodes', times: Infinity, match: ({ path }) => path.includes(scenario.namespace) },
      403,
      'Forbidden',
    );
    await set.move('b');
    await waitFor('the entity to say what it may not do', async () =>
      (await set.entity.query<CocoonSetStatus>(messages.status)).message.includes('refused'),
    );
    missing.remove();
    await set.settles('b');
    scenario.check();
  });
});
