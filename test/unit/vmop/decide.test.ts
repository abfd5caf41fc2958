import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunPolicy, VmFacts, VmPhase } from '../../../workflows/domain/vmop/applicability.ts';
import { decide, supersededMessage, type Incumbent } from '../../../workflows/domain/vmop/decide.ts';
import {
  canSupersede,
  superseders,
  vmopTypes,
  type OperationKind,
  type VmopType,
} from '../../../workflows/domain/vmop/matrix.ts';

const columns = [
  'Start',
  'Stop',
  'Stop!',
  'Restart',
  'Restart!',
  'Migrate',
  'Migrate!',
  'Evict',
  'Evict!',
  'Restore',
  'Clone',
] as const;

/** Rows: incumbents; S: the newcomer of the column may take over. */
const grid: Readonly<Record<(typeof columns)[number], string>> = {
  Start: '-SS--------',
  Stop: '--S-S------',
  'Stop!': '-----------',
  Restart: '--S-S------',
  'Restart!': '-----------',
  Migrate: '-SSSS------',
  'Migrate!': '-SSSS------',
  Evict: '-SSSS------',
  'Evict!': '-SSSS------',
  Restore: '-----------',
  Clone: '-----------',
};

const kind = (word: string): OperationKind =>
  word.endsWith('!') ? { type: word.slice(0, -1) as VmopType, force: true } : { type: word as VmopType };
const vm = (phase: VmPhase, runPolicy: RunPolicy = 'Manual'): VmFacts => ({ uid: 'u', phase, runPolicy });
const incumbent = (word: string, name = 'older'): Incumbent => ({ ...kind(word), name, uid: `uid-${name}` });

for (const row of columns) {
  for (const [i, column] of columns.entries()) {
    const accepted = grid[row][i] === 'S';
    test(`vmop/A21 ${row}, then ${column}: ${accepted ? 'takes over' : 'is refused'}`, () => {
      assert.equal(canSupersede(kind(row), kind(column)), accepted);
      const decision = decide([incumbent(row)], kind(column), 'a', vm('Running'));
      assert.equal(decision.kind === 'reject', !accepted);
      if (decision.kind === 'reject') assert.match(decision.message, /"older".*should finish first/);
    });
  }
}

test('vmop/A21 exactly 22 of the 121 pairs take over', () => {
  const pairs = columns.flatMap((row) => columns.map((column) => canSupersede(kind(row), kind(column))));
  assert.equal(pairs.length, 121);
  assert.equal(pairs.filter(Boolean).length, 22);
});

test('with several incumbents the newcomer must be able to take over every one', () => {
  const both = [incumbent('Migrate', 'm'), incumbent('Stop', 's')];
  assert.equal(decide(both, kind('Stop!'), 'a', vm('Stopping')).kind, 'supersede');
  const refused = decide(both, kind('Restart'), 'a', vm('Running'));
  assert.ok(refused.kind === 'reject' && refused.incumbent.name === 's');
});

const phases: readonly VmPhase[] = [
  'Pending',
  'Running',
  'Degraded',
  'Terminating',
  'Stopped',
  'Stopping',
  'Starting',
  'Migrating',
  'Pause',
];
const runsIn: Readonly<Record<string, readonly VmPhase[]>> = {
  Start: ['Stopped', 'Stopping'],
  Stop: ['Pending', 'Running', 'Degraded', 'Starting', 'Pause'],
  'Stop!': ['Pending', 'Running', 'Degraded', 'Stopping', 'Starting', 'Pause'],
  Restart: ['Running', 'Degraded', 'Starting', 'Pause'],
  'Restart!': ['Running', 'Degraded', 'Stopping', 'Starting', 'Pause'],
  Migrate: ['Running'],
  Evict: ['Running'],
  Restore: ['Pending', 'Running', 'Stopped'],
  Clone: ['Running', 'Stopped'],
};

for (const [word, expected] of Object.entries(runsIn)) {
  test(`${word} alone runs in ${expected.join(', ')} and in no other phase`, () => {
    const runs = phases.filter((phase) => decide([], kind(word), 'a', vm(phase)).kind === 'run');
    assert.deepEqual([...runs].sort(), [...expected].sort());
  });
}

const widening: readonly (readonly [string, string, readonly VmPhase[]])[] = [
  ['Start', 'Stop', ['Stopped', 'Stopping']],
  ['Start', 'Stop!', ['Stopped']],
  ['Stop', 'Stop!', ['Stopped']],
  ['Stop', 'Restart!', ['Stopped', 'Pending']],
  ['Restart', 'Stop!', ['Stopped']],
  ['Restart', 'Restart!', ['Stopped', 'Pending']],
  ['Migrate', 'Stop', ['Migrating']],
  ['Migrate', 'Stop!', ['Migrating']],
  ['Evict!', 'Restart', ['Migrating']],
  ['Evict', 'Restart!', ['Migrating']],
];

for (const [older, newer, extra] of widening) {
  test(`taking over a ${older}, a ${newer} also runs in ${extra.join(', ')}`, () => {
    for (const phase of extra) {
      assert.equal(decide([incumbent(older)], kind(newer), 'a', vm(phase)).kind, 'supersede', phase);
      assert.equal(decide([], kind(newer), 'a', vm(phase)).kind, 'notApplicable', phase);
    }
  });
}

test('vmop/A26 the run policy is never widened: a Stop on an AlwaysOn VM spares the migration', () => {
  const decision = decide([incumbent('Migrate')], kind('Stop'), 'a', vm('Migrating', 'AlwaysOn'));
  assert.deepEqual(decision, {
    kind: 'notApplicable',
    reason: 'NotApplicableForVirtualMachineRunPolicy',
    message: `Stop can't be applied to VirtualMachine "a": its run policy is AlwaysOn`,
  });
});

const policies: Readonly<Record<VmopType, readonly RunPolicy[]>> = {
  Start: ['Manual', 'AlwaysOnUnlessStoppedManually'],
  Stop: ['Manual', 'AlwaysOnUnlessStoppedManually'],
  Restart: ['Manual', 'AlwaysOnUnlessStoppedManually', 'AlwaysOn'],
  Migrate: ['Manual', 'AlwaysOnUnlessStoppedManually', 'AlwaysOn'],
  Evict: ['Manual', 'AlwaysOnUnlessStoppedManually', 'AlwaysOn'],
  Restore: ['Manual', 'AlwaysOnUnlessStoppedManually', 'AlwaysOn', 'AlwaysOff'],
  Clone: ['Manual', 'AlwaysOnUnlessStoppedManually', 'AlwaysOn', 'AlwaysOff'],
};

test('each type runs under its run policies only, and the policy is told before the phase', () => {
  for (const type of vmopTypes) {
    for (const policy of ['Manual', 'AlwaysOnUnlessStoppedManually', 'AlwaysOn', 'AlwaysOff'] as const) {
      const decision = decide([], { type }, 'a', vm('Terminating', policy));
      const expected = policies[type].includes(policy)
        ? 'NotApplicableForVirtualMachinePhase'
        : 'NotApplicableForVirtualMachineRunPolicy';
      assert.ok(decision.kind === 'notApplicable' && decision.reason === expected, `${type} under ${policy}`);
    }
  }
});

test('vmop/A35 a missing VM is told as such, but an incumbent that blocks comes first', () => {
  assert.equal(decide([], kind('Stop'), 'a', undefined).kind, 'vmNotFound');
  assert.equal(decide([incumbent('Stop')], kind('Stop'), 'a', undefined).kind, 'reject');
});

test('people are told who could take over', () => {
  assert.deepEqual(superseders(kind('Stop')), [
    { type: 'Stop', force: true },
    { type: 'Restart', force: true },
  ]);
  assert.deepEqual(superseders(kind('Stop!')), []);
  assert.equal(supersededMessage({ ...kind('Stop!'), name: 'p1' }), 'superseded by p1 (Stop, forced)');
});
