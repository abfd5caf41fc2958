import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VmPhase } from '../../../workflows/domain/vmop/applicability.ts';
import { withCondition } from '../../../workflows/domain/conditions.ts';
import type { VmopType } from '../../../workflows/domain/vmop/matrix.ts';
import { progressOf, type MigrationFacts } from '../../../workflows/domain/vmop/migration.ts';
import { proofOf, type World } from '../../../workflows/domain/vmop/proof.ts';

const op = (type: VmopType) => ({ type, vmName: 'a' });
const before = { vmUid: 'vm-1', instanceUid: 'i-1' };

function world(phase: VmPhase, instanceUid?: string, more: Partial<NonNullable<World['vm']>> = {}): World {
  return {
    vm: { uid: 'vm-1', phase, runPolicy: 'Manual', deleting: false, ...more },
    ...(instanceUid === undefined
      ? {}
      : { instance: { uid: instanceUid, phase: phase === 'Running' ? phase : 'Pending', deleting: false } }),
  };
}

const rows: readonly [title: string, type: VmopType, world: World, expected: string | undefined][] = [
  ['a start is done when another instance runs', 'Start', world('Running', 'i-2'), 'OperationCompleted'],
  ['a start is not done by the instance that was there', 'Start', world('Running', 'i-1'), undefined],
  [
    'a start is not done while the VM still says what its last instance did',
    'Start',
    { ...world('Running'), instance: { uid: 'i-2', phase: 'Scheduling', deleting: false } },
    undefined,
  ],
  ['a start waits while nothing runs', 'Start', world('Pending'), undefined],
  ['a start waits while the new instance boots', 'Start', world('Starting', 'i-2'), undefined],
  [
    'a start can not be reached once the VM is always off',
    'Start',
    world('Stopped', undefined, { runPolicy: 'AlwaysOff' }),
    'NotApplicableForVirtualMachineRunPolicy',
  ],
  ['a stop is done when the VM is stopped and nothing is left', 'Stop', world('Stopped'), 'OperationCompleted'],
  ['a stop waits for its instance', 'Stop', world('Stopping', 'i-1'), undefined],
  ['a stop waits though the VM says stopped while the instance is there', 'Stop', world('Stopped', 'i-1'), undefined],
  ['a stop fails when somebody started the VM again', 'Stop', world('Running', 'i-2'), 'OperationFailed'],
  ['a restart is done when another instance runs', 'Restart', world('Running', 'i-2'), 'OperationCompleted'],
  ['a restart is not done before its instance is another', 'Restart', world('Running', 'i-1'), undefined],
  ['a VM that is gone ends everything', 'Start', {}, 'VirtualMachineNotFound'],
  ['a VM of the same name is another', 'Stop', world('Stopped', undefined, { uid: 'vm-2' }), 'VirtualMachineNotFound'],
  [
    'a VM that is being deleted is gone',
    'Stop',
    world('Stopped', undefined, { deleting: true }),
    'VirtualMachineNotFound',
  ],
  ['a migration that vanished has failed', 'Migrate', world('Running', 'i-1'), 'OperationFailed'],
  [
    'a migration that succeeded is done',
    'Evict',
    { ...world('Running', 'i-1'), migration: progressOf(migration('Succeeded')) },
    'Completed',
  ],
  [
    'a migration that is copying is waited for',
    'Migrate',
    { ...world('Migrating', 'i-1'), migration: progressOf(migration('Running')) },
    undefined,
  ],
  [
    'a migration that was aborted has failed with that reason',
    'Migrate',
    { ...world('Running', 'i-1'), migration: progressOf(migration('Failed', { abortRequested: true })) },
    'Aborted',
  ],
];

for (const [title, type, now, expected] of rows) {
  test(title, () => assert.equal(proofOf(op(type), before, now)?.reason, expected));
}

function migration(phase: string, more: Partial<MigrationFacts> = {}): MigrationFacts {
  return { uid: 'm-1', phase, deleting: false, abortRequested: false, troubles: [], ...more };
}

const progress: readonly [phase: string, more: Partial<MigrationFacts>, expected: string][] = [
  ['Pending', {}, 'Pending MigrationPending 0%'],
  ['Scheduling', {}, 'InProgress TargetScheduling 2%'],
  [
    'Scheduling',
    { troubles: [{ type: 'TargetScheduled', reason: 'Unschedulable', message: 'no node' }] },
    'InProgress TargetUnschedulable 2%',
  ],
  ['PreparingTarget', {}, 'InProgress TargetPreparing 3%'],
  [
    'PreparingTarget',
    { troubles: [{ type: 'TargetReady', reason: 'DiskError', message: 'no space' }] },
    'InProgress TargetDiskError 3%',
  ],
  ['Running', {}, 'InProgress Syncing 10%'],
  ['Running', { copied: 50 }, 'InProgress Syncing 50%'],
  ['Running', { copied: 100 }, 'InProgress Syncing 90%'],
  [
    'Running',
    { copied: 100, troubles: [{ type: 'Converging', reason: 'Dirty', message: 'too fast' }] },
    'InProgress NotConverging 90%',
  ],
  ['SomethingNew', {}, 'Pending MigrationPending 0%'],
];

for (const [phase, more, expected] of progress) {
  test(`a migration in ${phase} ${JSON.stringify(more)} is ${expected}`, () => {
    const shown = progressOf(migration(phase, more));
    assert.equal(`${shown.phase} ${shown.reason} ${shown.progress}%`, expected);
  });
}

test('the transition time of a condition moves with its status and its reason, not with its message', () => {
  const first = { type: 'Completed', status: 'False', reason: 'Syncing', message: '10 %' } as const;
  const at = (time: string, change: Parameters<typeof withCondition>[1], list: ReturnType<typeof withCondition>) =>
    withCondition(list, change, time);
  const one = at('t1', first, []);
  const two = at('t2', { ...first, message: '20 %' }, one);
  const three = at('t3', { ...first, reason: 'TargetResumed' }, two);
  const four = at('t4', { ...first, reason: 'TargetResumed', status: 'True' }, three);
  assert.deepEqual(
    [one, two, three, four].map(([condition]) => condition?.lastTransitionTime),
    ['t1', 't1', 't3', 't4'],
  );
  assert.equal(two[0]?.message, '20 %');
});
