import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { actionRefusal, type BatchAction } from '../../../workflows/domain/batch/batch-actions.ts';
import { progressOf, stepsOf } from '../../../workflows/domain/batch/entry-steps.ts';
import {
  ForbiddenTransition,
  emptyTarget,
  enter,
  forget,
  isCommitted,
  isLive,
  isMigrating,
  owesPowerOn,
  within,
  type Entry,
} from '../../../workflows/domain/batch/entry.ts';
import type { BatchStatus, EntryStatus, ImportStage } from '../../../workflows/domain/batch/records.ts';

const at = '2026-01-01T00:00:00.000Z';

function entryIn(status: EntryStatus, stage: ImportStage = 'background', more: Partial<Entry> = {}): Entry {
  return {
    instance_uuid: 'u1',
    status,
    stage,
    message: '',
    since: at,
    target: emptyTarget,
    timeline: [],
    ...more,
  } as unknown as Entry;
}

/** Rows of the specification §6.3: which statuses may follow. */
const allowed: readonly (readonly [EntryStatus, readonly EntryStatus[]])[] = [
  ['Blocked', ['Waiting', 'Canceled', 'Conflict']],
  ['Waiting', ['Blocked', 'Creating new VM', 'Canceled']],
  ['Creating new VM', ['Waiting', 'Error', 'Idle', 'Canceled']],
  [
    'Idle',
    ['Performing background import tasks', 'Performing final import tasks', 'Performing post-import tasks', 'Canceled'],
  ],
  ['Performing background import tasks', ['Idle', 'Error', 'Canceled']],
  ['Performing final import tasks', ['Idle', 'Error', 'Canceled']],
  ['Performing post-import tasks', ['Worker tasks complete', 'Waiting', 'Error', 'Canceled']],
  ['Worker tasks complete', ['Finished', 'Conflict', 'Error', 'Waiting', 'Performing final import tasks', 'Canceled']],
  ['Conflict', ['Conflict', 'Waiting', 'Idle', 'Worker tasks complete', 'Canceled']],
  ['Error', ['Canceled']],
  ['Canceled', ['Waiting', 'Blocked']],
];

describe('statuses of an entry', () => {
  for (const [from, targets] of allowed)
    test(`from ${from} to ${targets.join(', ')}`, () => {
      for (const to of targets) assert.equal(enter(entryIn(from), to, at, 'm').status, to);
    });

  const never: readonly (readonly [EntryStatus, EntryStatus])[] = [
    ['Finished', 'Canceled'],
    ['Finished', 'Waiting'],
    ['Canceled', 'Error'],
    ['Error', 'Waiting'],
    ['Waiting', 'Idle'],
    ['Waiting', 'Finished'],
    ['Performing background import tasks', 'Finished'],
    ['Creating new VM', 'Performing final import tasks'],
  ];
  for (const [from, to] of never)
    test(`never from ${from} to ${to}`, () => {
      assert.throws(() => enter(entryIn(from), to, at, 'm'), ForbiddenTransition);
    });

  test('a new status has its time, its message, a line in the history and no substate of the old one', () => {
    const waiting = within(entryIn('Waiting'), 'awaiting-create-slot', 'waits');
    const next = enter(waiting, 'Creating new VM', at, 'creates');
    assert.equal(next.substate, undefined);
    assert.deepEqual(next.timeline.at(-1), { at, status: 'Creating new VM', message: 'creates' });
  });

  test('the history that an entry keeps with it is bounded', () => {
    let entry = entryIn('Blocked');
    for (let turn = 0; turn < 200; turn += 1)
      entry = enter(entry, turn % 2 === 0 ? 'Waiting' : 'Blocked', at, `${turn}`);
    assert.ok(entry.timeline.length <= 60);
    assert.equal(entry.timeline.at(-1)?.message, '199');
  });

  test('what is forgotten is gone, the rest stays', () => {
    const entry = entryIn('Waiting', 'background', { ready_since: at });
    const left = forget(entry, 'ready_since', 'window');
    assert.equal('ready_since' in left, false);
    assert.equal(left.instance_uuid, 'u1');
  });
});

describe('what statuses mean', () => {
  const rows: readonly (readonly [EntryStatus, ImportStage, boolean, boolean, boolean])[] = [
    // status, stage, committed, live, migrating
    ['Blocked', 'background', false, true, false],
    ['Waiting', 'background', false, true, false],
    ['Creating new VM', 'background', false, true, true],
    ['Performing background import tasks', 'background', false, true, true],
    ['Idle', 'background', false, true, true],
    ['Idle', 'final', false, true, true],
    ['Idle', 'complete', true, true, true],
    ['Performing final import tasks', 'final', true, true, true],
    ['Performing post-import tasks', 'complete', true, true, true],
    ['Worker tasks complete', 'complete', true, true, true],
    ['Conflict', 'background', false, true, false],
    ['Conflict', 'complete', true, true, false],
    ['Error', 'complete', false, false, false],
    ['Canceled', 'background', false, false, false],
    ['Finished', 'complete', false, false, false],
  ];
  for (const [status, stage, committed, live, migrating] of rows)
    test(`${status} (${stage})`, () => {
      const entry = entryIn(status, stage);
      assert.deepEqual([isCommitted(entry), isLive(entry), isMigrating(entry)], [committed, live, migrating]);
    });

  test('the source is owed its power only when it ran, we took it and nobody has given it back', () => {
    assert.equal(owesPowerOn({ initial_running: true }), false);
    assert.equal(owesPowerOn({ initial_running: true, powered_off_by_us_at: at }), true);
    assert.equal(owesPowerOn({ initial_running: false, powered_off_by_us_at: at }), false);
    assert.equal(owesPowerOn({ initial_running: true, powered_off_by_us_at: at, restored_at: at }), false);
  });
});

describe('the way of an entry', () => {
  test('is shown whole from the start', () => {
    const steps = stepsOf(entryIn('Waiting'));
    assert.equal(steps.length, 8);
    assert.deepEqual(
      steps.map(({ state }) => state),
      ['active', ...Array<string>(7).fill('pending')],
    );
  });
  test('progress never goes back on the normal way, and ends at 1', () => {
    const way: readonly (readonly [EntryStatus, ImportStage, boolean])[] = [
      ['Waiting', 'background', false],
      ['Creating new VM', 'background', true],
      ['Idle', 'background', true],
      ['Performing background import tasks', 'background', true],
      ['Idle', 'final', true],
      ['Performing final import tasks', 'final', true],
      ['Idle', 'complete', true],
      ['Performing post-import tasks', 'complete', true],
      ['Worker tasks complete', 'complete', true],
      ['Finished', 'complete', true],
    ];
    const progress = way.map(([status, stage, exists]) =>
      progressOf(entryIn(status, stage, { target: { ...emptyTarget, exists } })),
    );
    assert.deepEqual(
      [...progress].sort((a, b) => a - b),
      progress,
    );
    assert.equal(progress.at(-1), 1);
  });
});

describe('actions on a batch', () => {
  const table: readonly (readonly [BatchAction, BatchStatus, boolean, boolean, boolean])[] = [
    // action, status, committed, force, taken
    ['start', 'Defined', false, false, true],
    ['start', 'Running', false, false, false],
    ['start', 'Stopped', false, false, true],
    ['start', 'Finished', false, false, false],
    ['resume', 'Stopped', false, false, true],
    ['resume', 'Error', false, false, true],
    ['resume', 'Defined', false, false, false],
    ['stop', 'Running', true, false, true],
    ['stop', 'Stopped', false, false, false],
    ['reset', 'Running', false, false, true],
    ['reset', 'Running', true, false, false],
    ['reset', 'Running', true, true, true],
    ['reset', 'Defined', false, false, true],
    ['delete', 'Running', false, false, false],
    ['delete', 'Stopped', false, false, true],
    ['delete', 'Stopped', true, false, false],
    ['delete', 'Finished', false, false, true],
    ['edit', 'Running', true, false, true],
  ];
  for (const [action, status, committed, force, taken] of table)
    test(`${action} of a ${status} batch${committed ? ' with downtime' : ''}${force ? ', forced' : ''}: ${taken ? 'taken' : 'refused'}`, () => {
      assert.equal(actionRefusal(action, { status, isCommitted: committed, force }) === undefined, taken);
    });
});
