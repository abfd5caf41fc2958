import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import { formatRecord, type MigrationRecord } from '../../../workflows/domain/hibernate/record.ts';
import { bridgeMetrics } from '../../../workers/bridge/metrics.ts';
import { onTakeOver } from '../../../workers/bridge/take-over-count.ts';
import { completed, fakeWatch, vmop } from './builders.ts';

const state = { pending: () => 3, certificateEndsAt: () => new Date('2026-02-01T00:00:00Z') };

/** Lines of the exposition that begin with this name. */
async function series(metrics: ReturnType<typeof bridgeMetrics>, name: string): Promise<readonly string[]> {
  const text = await metrics.registry.metrics();
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

const ofA = 'name="a",namespace="shop",uid="uid-a",type="Stop",virtualmachine="db-0"';
const phaseSeries = 'virtualmachineoperation_status_phase';

describe('series of operations', () => {
  test('say 1 for the phase it is in and 0 for each of the others', async () => {
    const watch = fakeWatch();
    const metrics = bridgeMetrics(watch, state);
    await watch.sync(vmop('a', { phase: 'InProgress' }));
    assert.deepEqual(await series(metrics, phaseSeries), [
      `${phaseSeries}{${ofA},phase="Pending"} 0`,
      `${phaseSeries}{${ofA},phase="InProgress"} 1`,
      `${phaseSeries}{${ofA},phase="Completed"} 0`,
      `${phaseSeries}{${ofA},phase="Failed"} 0`,
      `${phaseSeries}{${ofA},phase="Terminating"} 0`,
      `${phaseSeries}{${ofA},phase="Superseded"} 0`,
    ]);
  });

  for (const phase of ['Completed', 'Superseded'])
    test(`one that was taken over is Superseded, no success, also in phase ${phase}`, async () => {
      const watch = fakeWatch();
      const metrics = bridgeMetrics(watch, state);
      await watch.sync(vmop('a', { phase, conditions: [completed('Superseded')] }));
      const ones = (await series(metrics, phaseSeries)).filter((line) => line.endsWith(' 1'));
      assert.deepEqual(ones, [`${phaseSeries}{${ofA},phase="Superseded"} 1`]);
    });

  test('have the time of creation, of the signal and of the end, where there is one', async () => {
    const watch = fakeWatch();
    const metrics = bridgeMetrics(watch, state);
    const times = async (): Promise<readonly number[]> => {
      const names = ['created', 'started', 'finished'].map(
        (name) => `virtualmachineoperation_${name}_timestamp_seconds`,
      );
      const lines = await Promise.all(names.map((name) => series(metrics, name)));
      return lines.flat().map((line) => Number(line.split(' ').at(-1)));
    };
    const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();
    const start = Date.UTC(2026, 0, 1) / 1_000;
    const sent = {
      type: 'SignalSent',
      status: 'True',
      reason: 'SignalSentSuccess',
      lastTransitionTime: at(5),
    } as const;
    const waiting = {
      type: 'Completed',
      status: 'False',
      reason: 'StopInProgress',
      lastTransitionTime: at(6),
    } as const;
    await watch.sync(vmop('a', { phase: 'Pending', conditions: [{ ...sent, status: 'Unknown' }] }));
    assert.deepEqual(await times(), [start]);
    watch.store.put(vmop('a', { version: '2', phase: 'InProgress', conditions: [sent, waiting] }));
    assert.deepEqual(await times(), [start, start + 5]);
    const ended = completed('Superseded', { lastTransitionTime: at(9) });
    watch.store.put(vmop('a', { version: '3', phase: 'Completed', conditions: [sent, ended] }));
    assert.deepEqual(await times(), [start, start + 5, start + 9]);
  });

  test('vanish with their object', async () => {
    const watch = fakeWatch();
    const metrics = bridgeMetrics(watch, state);
    await watch.sync(vmop('a', { phase: 'Completed', conditions: [completed('OperationCompleted')] }));
    assert.match(await metrics.registry.metrics(), /uid-a/);
    watch.store.remove(vmop('a', { version: '2' }));
    assert.doesNotMatch(await metrics.registry.metrics(), /uid-a/);
  });
});

interface SetParts {
  readonly version?: string;
  readonly record?: Partial<MigrationRecord>;
  /** Reason of the condition `Migrating`, and its status where it isn't False. */
  readonly migrating?: readonly [reason: string, status?: string];
}

/** A CocoonSet; without a record nothing of it is on its way. */
function aSet(name: string, { version = '1', record, migrating }: SetParts = {}): KubeObject {
  const [reason, status = 'False'] = migrating ?? [];
  const whole: MigrationRecord = {
    id: 'm',
    generation: 1,
    from: 'node-a',
    to: 'node-b',
    sourcePodUID: 'p',
    sourceVMID: 'vm-1',
    startedAt: '2026-01-01T00:00:00Z',
    stage: 'quiescing',
    stageAt: '2026-01-01T00:00:00Z',
    ...record,
  };
  return {
    metadata: {
      ...{ name, namespace: 'demo', uid: `uid-${name}`, resourceVersion: version },
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: record === undefined ? {} : { [cocoonKeys.migration]: formatRecord(whole) },
    },
    status: reason === undefined ? {} : { conditions: [{ type: 'Migrating', status, reason, message: '' }] },
  };
}

describe('series of sets', () => {
  const names = ['cocoon_migration_in_flight', 'cocoon_migration_blocked', 'cocoon_snapshot_cleanup_debt'];
  const all = async (metrics: ReturnType<typeof bridgeMetrics>): Promise<readonly string[]> =>
    (await Promise.all(names.map((name) => series(metrics, name)))).flat();

  test('count who is on its way by node, who is blocked by reason, and snapshots that are owed', async () => {
    const sets = fakeWatch();
    const metrics = bridgeMetrics(fakeWatch(), state, sets);
    await sets.sync(
      aSet('one', { record: {}, migrating: ['Snapshotting', 'True'] }),
      aSet('two', { record: { stage: 'moving', to: 'node-c' } }),
      aSet('anywhere', { record: { stage: 'restoring', from: 'node-c', to: '' } }),
      aSet('arrived', { record: { stage: 'cleanup' }, migrating: ['SnapshotCleanupPending', 'True'] }),
      aSet('cordoned', { migrating: ['TargetUnschedulable'] }),
      aSet('cordoned-too', { migrating: ['TargetUnschedulable'] }),
      aSet('lost', { record: { stage: 'moving', from: 'node-d', to: '' }, migrating: ['SnapshotMissing'] }),
      aSet('settled', { migrating: ['Succeeded'] }),
      aSet('never', { migrating: ['NotRequested'] }),
      aSet('new'),
    );
    assert.deepEqual(await all(metrics), [
      'cocoon_migration_in_flight{node="node-a",role="source"} 2',
      'cocoon_migration_in_flight{node="node-b",role="target"} 1',
      'cocoon_migration_in_flight{node="node-c",role="target"} 1',
      'cocoon_migration_in_flight{node="node-c",role="source"} 1',
      'cocoon_migration_in_flight{node="node-d",role="source"} 1',
      'cocoon_migration_blocked{reason="TargetUnschedulable"} 2',
      'cocoon_migration_blocked{reason="SnapshotMissing"} 1',
      'cocoon_snapshot_cleanup_debt 1',
    ]);
  });

  test('vanish when it is over, or with their set', async () => {
    const sets = fakeWatch();
    const metrics = bridgeMetrics(fakeWatch(), state, sets);
    await sets.sync(aSet('one', { record: {} }), aSet('two', { migrating: ['TargetNotReady'] }));
    assert.equal((await all(metrics)).length, 4);
    sets.store.put(aSet('one', { version: '2', migrating: ['Succeeded'] }));
    sets.store.remove(aSet('two', { version: '2' }));
    assert.deepEqual(await all(metrics), ['cocoon_snapshot_cleanup_debt 0']);
  });

  test('are not there where no sets are watched', async () => {
    assert.deepEqual(await all(bridgeMetrics(fakeWatch(), state)), []);
  });
});

describe('counters', () => {
  const superseded = { phase: 'Completed', conditions: [completed('Superseded')], supersededBy: 'b/uid-b' };

  test('take-overs are counted once each, by both types', async () => {
    const watch = fakeWatch();
    const metrics = bridgeMetrics(watch, state);
    onTakeOver(watch, metrics.superseded);
    await watch.sync(vmop('a', { kind: 'Migrate', phase: 'InProgress' }), vmop('b', { kind: 'Stop!' }));
    watch.store.put(vmop('a', { kind: 'Migrate', version: '2', ...superseded }));
    watch.store.put(vmop('a', { kind: 'Migrate', version: '3', ...superseded }));
    assert.deepEqual(await series(metrics, 'virtualmachineoperation_supersedes_total'), [
      'virtualmachineoperation_supersedes_total{incumbent_type="Migrate",newcomer_type="Stop",force="true"} 1',
    ]);
  });

  test('take-overs of before the start are not counted again, those during a lost watch are', async () => {
    const watch = fakeWatch();
    const told: string[] = [];
    onTakeOver(watch, (incumbent, newcomer) => told.push(`${incumbent.type} ${newcomer.type}`));
    const newcomer = vmop('b', { kind: 'Stop' });
    await watch.sync(vmop('a', { kind: 'Start', ...superseded }), newcomer);
    assert.deepEqual(told, []);
    watch.store.replace([newcomer, vmop('c', { kind: 'Migrate', ...superseded })]);
    assert.deepEqual(told, ['Migrate Stop']);
  });

  test('one whose successor is gone or another by now is not guessed at', async () => {
    const watch = fakeWatch();
    const told: string[] = [];
    onTakeOver(watch, (incumbent) => told.push(incumbent.type));
    await watch.sync(vmop('b', { uid: 'another' }));
    watch.store.put(vmop('a', superseded));
    assert.deepEqual(told, []);
  });

  test('refusals are counted by both types', async () => {
    const metrics = bridgeMetrics(fakeWatch(), state);
    metrics.rejected({ type: 'Stop' }, { type: 'Start' });
    metrics.rejected({ type: 'Stop' }, { type: 'Start' });
    assert.deepEqual(await series(metrics, 'virtualmachineoperation_rejections_total'), [
      'virtualmachineoperation_rejections_total{incumbent_type="Stop",newcomer_type="Start",force="false"} 2',
    ]);
  });
});

test('the bridge says of itself what it has not told yet and until when its certificate is good', async () => {
  const metrics = bridgeMetrics(fakeWatch(), state);
  assert.deepEqual(await series(metrics, 'vmflow_bridge_pending_operations'), ['vmflow_bridge_pending_operations 3']);
  assert.deepEqual(await series(metrics, 'vmflow_bridge_certificate_end_timestamp_seconds'), [
    `vmflow_bridge_certificate_end_timestamp_seconds ${Date.UTC(2026, 1, 1) / 1_000}`,
  ]);
});
