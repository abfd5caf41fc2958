import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  cancelRefusal,
  cleanUpPlan,
  errorPlan,
  resetPlan,
  resetRefusal,
  rollbackPlan,
  type CleanUpStep,
} from '../../../workflows/domain/batch/clean-up.ts';
import { emptyTarget, isCommitted, owesPowerOn, type Entry } from '../../../workflows/domain/batch/entry.ts';
import type { EntryStatus, ImportStage } from '../../../workflows/domain/batch/records.ts';
import { switchedOff } from './record-builders.ts';

type Undone = Pick<Entry, 'status' | 'stage' | 'source_power' | 'target'>;

const runs: Entry['source_power'] = { initial_running: true };
const copied: Entry['target'] = { ...emptyTarget, exists: true };

function anEntry(status: EntryStatus, stage: ImportStage = 'background', over: Partial<Undone> = {}): Undone {
  const entry = { status, stage, source_power: runs, target: copied };
  return { ...entry, ...(isCommitted(entry) ? { source_power: switchedOff } : {}), ...over };
}

/** `cleanup` adds the last step and nothing else. */
const cancels: readonly (readonly [EntryStatus, ImportStage, CleanUpStep[]])[] = [
  ['Blocked', 'background', ['releaseSlots']],
  ['Waiting', 'background', ['releaseSlots']],
  ['Creating new VM', 'background', ['releaseSlots', 'stopTarget']],
  ['Idle', 'background', ['stopCopy', 'releaseSlots', 'stopTarget']],
  ['Idle', 'final', ['stopCopy', 'releaseSlots', 'stopTarget']],
  ['Performing background import tasks', 'background', ['stopCopy', 'releaseSlots', 'stopTarget', 'removeSnapshot']],
  ['Performing background import tasks', 'final', ['stopCopy', 'releaseSlots', 'stopTarget', 'removeSnapshot']],
  [
    'Performing final import tasks',
    'final',
    ['stopCopy', 'releaseSlots', 'stopTarget', 'powerOnSource', 'removeSnapshot'],
  ],
  ['Idle', 'complete', ['stopCopy', 'releaseSlots', 'stopTarget', 'powerOnSource', 'removeSnapshot']],
  [
    'Performing post-import tasks',
    'complete',
    ['stopCopy', 'releaseSlots', 'stopTarget', 'powerOnSource', 'removeSnapshot'],
  ],
  ['Worker tasks complete', 'complete', ['stopCopy', 'releaseSlots', 'stopTarget', 'powerOnSource', 'removeSnapshot']],
  ['Conflict', 'background', ['stopCopy', 'releaseSlots', 'stopTarget']],
  ['Conflict', 'final', ['stopCopy', 'releaseSlots', 'stopTarget']],
  ['Conflict', 'complete', ['stopCopy', 'releaseSlots', 'stopTarget', 'powerOnSource']],
  ['Error', 'background', ['releaseSlots', 'stopTarget']],
  ['Error', 'complete', ['releaseSlots', 'stopTarget']],
];

for (const [status, stage, steps] of cancels) {
  test(`cancel in ${status}/${stage}: ${steps.join(', ')}`, () => {
    const entry = anEntry(status, stage);
    assert.equal(cancelRefusal(entry), undefined);
    assert.deepEqual(cleanUpPlan(entry, { cleanup: false }), steps);
    assert.deepEqual(cleanUpPlan(entry, { cleanup: true }), [...steps, 'deleteTarget']);
  });
}

test('batch/S44 cancel is refused when it is finished or canceled already', () => {
  assert.match(cancelRefusal({ status: 'Finished' }) ?? '', /finished/);
  assert.match(cancelRefusal({ status: 'Canceled' }) ?? '', /already/);
});

test('an Error that left the source off switches it on', () => {
  const entry = anEntry('Error', 'complete', { source_power: switchedOff });
  assert.deepEqual(cleanUpPlan(entry, { cleanup: true }), [
    'releaseSlots',
    'stopTarget',
    'powerOnSource',
    'deleteTarget',
  ]);
});

test('a source that was off, or is on again, is not touched', () => {
  const [since] = [switchedOff.powered_off_by_us_at!];
  for (const source_power of [
    { initial_running: false, powered_off_by_us_at: since },
    { initial_running: true, powered_off_by_us_at: since, restored_at: since },
  ]) {
    const entry = anEntry('Worker tasks complete', 'complete', { source_power });
    assert.ok(!cleanUpPlan(entry, { cleanup: true }).includes('powerOnSource'));
  }
});

test('a committed entry whose source was off stops its target all the same', () => {
  for (const [status, stage, steps] of cancels.filter((row) => row[2].includes('powerOnSource'))) {
    const entry = anEntry(status, stage, { source_power: { initial_running: false } });
    assert.deepEqual(
      cleanUpPlan(entry, { cleanup: false }),
      steps.filter((step) => step !== 'powerOnSource'),
    );
  }
});

test('batch/S29 an error keeps the target for inspection, stopped', () => {
  assert.deepEqual(errorPlan(anEntry('Worker tasks complete', 'complete')), back);
});

const back = ['stopCopy', 'releaseSlots', 'stopTarget', 'powerOnSource', 'removeSnapshot'] as const;
const adapted: Entry['target'] = { ...copied, adapted: true };

const windowEnds: readonly (readonly [
  title: string,
  entry: Undone,
  expected: readonly [status: string, stage: string, steps: readonly CleanUpStep[]] | undefined,
])[] = [
  ['18 batch/S23 the final copy', anEntry('Performing final import tasks', 'final'), ['Idle', 'final', back]],
  [
    '18 the only copy of a VM without change tracking',
    anEntry('Performing final import tasks'),
    ['Idle', 'background', back],
  ],
  ['19 a copy that is complete and untouched', anEntry('Idle', 'complete'), ['Idle', 'final', back]],
  ['19 untouched after adaptation was left out', anEntry('Worker tasks complete', 'complete'), ['Idle', 'final', back]],
  [
    '19 batch/S24 a guest that may be adapted',
    anEntry('Performing post-import tasks', 'complete', { target: adapted }),
    ['Waiting', 'background', [...back, 'deleteTarget']],
  ],
  [
    '19 a target that may be configured',
    anEntry('Worker tasks complete', 'complete', { target: { ...copied, configured: true } }),
    ['Waiting', 'background', [...back, 'deleteTarget']],
  ],
  [
    '19 a target that may be started',
    anEntry('Worker tasks complete', 'complete', { target: { ...copied, started: true } }),
    ['Waiting', 'background', [...back, 'deleteTarget']],
  ],
  [
    '28 then 19 copied again over an adapted guest',
    anEntry('Performing final import tasks', 'final', { target: adapted }),
    ['Waiting', 'background', [...back, 'deleteTarget']],
  ],
  [
    '20 a conflict',
    anEntry('Conflict', 'complete', { target: adapted }),
    ['Conflict', 'background', ['stopCopy', 'releaseSlots', 'stopTarget', 'powerOnSource']],
  ],
  ['nothing: a conflict that was rolled back', anEntry('Conflict', 'background'), undefined],
  ['nothing: not committed', anEntry('Idle', 'final'), undefined],
  ['nothing: finished', anEntry('Finished', 'complete'), undefined],
  ['nothing: an error', anEntry('Error', 'complete'), undefined],
  ['nothing: canceled', anEntry('Canceled'), undefined],
];

for (const [title, entry, expected] of windowEnds) {
  test(`window end, ${title}`, () => {
    const plan = rollbackPlan(entry, 'rollback');
    assert.deepEqual(plan === undefined ? undefined : [plan.status, plan.stage, plan.steps], expected);
    const held = rollbackPlan(entry, 'hold');
    if (entry.status === 'Conflict') assert.equal(held, undefined);
    else assert.deepEqual(held, plan);
  });
}

test('batch/S45 a reset without force is refused while a source is off', () => {
  assert.match(resetRefusal(anEntry('Performing final import tasks', 'final'), { force: false }) ?? '', /force/);
  assert.match(resetRefusal(anEntry('Conflict', 'complete'), { force: false }) ?? '', /Conflict/);
  assert.equal(resetRefusal(anEntry('Performing final import tasks', 'final'), { force: true }), undefined);
  assert.equal(resetRefusal(anEntry('Conflict'), { force: false }), undefined);
  assert.equal(resetRefusal(anEntry('Finished', 'complete'), { force: false }), undefined);
});

test('batch/S45 a reset leaves what is finished, deletes what is not, and without force keeps what may be configured', () => {
  const configured = { target: { ...copied, configured: true } };
  for (const force of [false, true]) {
    assert.deepEqual(resetPlan(anEntry('Finished', 'complete', configured), { force }), []);
    assert.ok(resetPlan(anEntry('Idle', 'final'), { force }).includes('deleteTarget'));
    assert.deepEqual(resetPlan(anEntry('Canceled'), { force }), ['releaseSlots', 'stopTarget', 'deleteTarget']);
    assert.equal(resetPlan(anEntry('Error', 'complete', configured), { force }).includes('deleteTarget'), force);
  }
});

const flag = fc.boolean();
const anyEntry: fc.Arbitrary<Undone> = fc.record({
  status: fc.constantFrom<EntryStatus>(
    'Blocked',
    'Waiting',
    'Creating new VM',
    'Performing background import tasks',
    'Idle',
    'Performing final import tasks',
    'Performing post-import tasks',
    'Worker tasks complete',
    'Finished',
    'Error',
    'Canceled',
    'Conflict',
  ),
  stage: fc.constantFrom<ImportStage>('background', 'final', 'complete'),
  source_power: fc.constantFrom<Entry['source_power']>(
    runs,
    { initial_running: false },
    switchedOff,
    { ...switchedOff, initial_running: false },
    { ...switchedOff, restored_at: '2026-03-02T00:00:00.000Z' },
  ),
  target: fc.record({ exists: flag, adapted: flag, configured: flag, started: flag }),
});

function plansOf(entry: Undone): (readonly CleanUpStep[])[] {
  const rollback = rollbackPlan(entry, 'rollback');
  return [
    cleanUpPlan(entry, { cleanup: false }),
    cleanUpPlan(entry, { cleanup: true }),
    errorPlan(entry),
    resetPlan(entry, { force: false }),
    resetPlan(entry, { force: true }),
    ...(rollback === undefined ? [] : [rollback.steps]),
  ];
}

test('batch/I1 every plan of an entry that is not finished switches the source on again if we owe it, and only then', () => {
  fc.assert(
    fc.property(anyEntry, (entry) => {
      for (const plan of plansOf(entry))
        assert.equal(plan.includes('powerOnSource'), entry.status !== 'Finished' && owesPowerOn(entry.source_power));
    }),
  );
});

test('batch/I2 in every plan the target is stopped before the source is on, and the source is on before the target is deleted', () => {
  fc.assert(
    fc.property(anyEntry, (entry) => {
      for (const plan of plansOf(entry)) {
        const [stop, on, deleted] = (['stopTarget', 'powerOnSource', 'deleteTarget'] as const).map((step) =>
          plan.indexOf(step),
        );
        assert.equal(new Set(plan).size, plan.length);
        if (on! >= 0) assert.ok(stop! >= 0 && stop! < on!, plan.join());
        if (deleted! >= 0) assert.ok(on! < deleted! && stop! < deleted!, plan.join());
      }
    }),
  );
});

test('batch/I5 every plan of an entry that is not finished gives its slots back, after the copy and before what may take hours', () => {
  fc.assert(
    fc.property(anyEntry, (entry) => {
      for (const plan of plansOf(entry)) {
        if (entry.status === 'Finished') assert.deepEqual(plan, []);
        else assert.equal(plan.filter((step) => step !== 'stopCopy')[0], 'releaseSlots');
      }
    }),
  );
});

test('nothing that is finished is ever touched, and a name alone stops nothing before creation', () => {
  fc.assert(
    fc.property(anyEntry, (entry) => {
      if (entry.status === 'Finished') assert.deepEqual(plansOf(entry).flat(), []);
      if (entry.status !== 'Blocked' && entry.status !== 'Waiting') return;
      if (!owesPowerOn(entry.source_power)) assert.ok(plansOf(entry).every((plan) => !plan.includes('stopTarget')));
    }),
  );
});

test('an end of its window leaves nobody committed', () => {
  fc.assert(
    fc.property(anyEntry, (entry) => {
      const plan = rollbackPlan(entry, 'rollback');
      assert.equal(plan === undefined, !isCommitted(entry));
      if (plan !== undefined) assert.ok(!isCommitted(plan));
    }),
  );
});
