import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import type { World } from '../../sim/vm-layer/moves.ts';
import type { ChangeRequest } from '../../sim/vm-layer/objects.ts';
import { plan } from '../../sim/vm-layer/plan.ts';
import { instance, inWords, machine, vm, world } from './builders.ts';

const start: ChangeRequest = { action: 'Start' };
const stop = (uid?: string): ChangeRequest => ({ action: 'Stop', ...(uid === undefined ? {} : { uid }) });
const asked = (requests: readonly ChangeRequest[], keys: readonly string[] = []): World['machine'] =>
  machine({ stateChangeRequests: requests }, { annotations: Object.fromEntries(keys.map((key) => [key, 'true'])) });
const running = instance();
const deleting = instance({ phase: 'Running' }, { deleting: true });
const patience = { 'test/ignore-shutdown': 'true' };
const { startRequested, restartRequested } = vmopKeys;

const rows: readonly (readonly [title: string, move: string, world: World])[] = [
  [
    'a first entry Stop deletes its instance',
    'delete instance: the first entry is Stop',
    world({ machine: asked([stop('instance-1'), start]), instance: running }),
  ],
  [
    'a Stop without a UID means whatever runs',
    'delete instance: the first entry is Stop',
    world({ machine: asked([stop()]), instance: running }),
  ],
  [
    'a Stop of another instance is dropped',
    'patch machine: the instance of the Stop is gone',
    world({ machine: asked([stop('instance-0')]), instance: running }),
  ],
  [
    'a Stop of an instance that is gone is dropped',
    'patch machine: the instance of the Stop is gone',
    world({ machine: asked([stop('instance-1'), start]) }),
  ],
  ['a first entry Start makes an instance', 'create instance: the VM is to run', world({ machine: asked([start]) })],
  [
    'a first entry Start is dropped once there is an instance',
    'patch machine: an instance answers the Start',
    world({ machine: asked([start]), instance: running }),
  ],
  [
    'a second entry Start has to wait for the first',
    'delete instance: the first entry is Stop',
    world({ machine: asked([stop('instance-1'), start]), instance: running }),
  ],
  [
    'a start request becomes an entry',
    'patch machine: a start is requested',
    world({ machine: asked([], [startRequested]) }),
  ],
  [
    'a restart request of a VM that is off, too',
    'patch machine: a restart is requested',
    world({ machine: asked([], [restartRequested]) }),
  ],
  [
    'a restart request of a running VM becomes two entries',
    'patch machine: a restart is requested',
    world({ machine: asked([], [restartRequested]), instance: running }),
  ],
  [
    'a request that has become an entry is taken away before anything is done about it',
    'patch machine: the request has become an entry',
    world({ machine: asked([stop('instance-1'), start], [restartRequested]), instance: running }),
  ],
  [
    'an older request comes first',
    'patch machine: an instance answers the Start',
    world({ machine: asked([start], [restartRequested]), instance: running }),
  ],
  [
    'a VM that is to be off is stopped',
    'delete instance: the run policy is AlwaysOff',
    world({
      vm: vm({ spec: { runPolicy: 'AlwaysOff' } }),
      machine: machine({}, { spec: { runStrategy: 'Halted' } }),
      instance: running,
    }),
  ],
  [
    'a VM that is to be on is started',
    'create instance: the VM is to run',
    world({ vm: vm({ spec: { runPolicy: 'AlwaysOn' } }), machine: machine({}, { spec: { runStrategy: 'Always' } }) }),
  ],
  [
    'a deleted instance goes when its guest is down',
    'patch instance: the guest has shut down',
    world({ instance: deleting }),
  ],
  [
    'a deleted instance goes at the end of the grace period',
    'patch instance: the grace period is over',
    world({ instance: deleting, switches: patience, elapsed: () => 60_000 }),
  ],
  [
    'an instance that a former VM left is deleted',
    'delete instance: its VM is gone',
    world({ instance: instance({}, { vmUid: 'vm-0' }) }),
  ],
  [
    'a machine that a former VM left is deleted',
    'delete machine: its VM is gone',
    world({ machine: machine({}, { vmUid: 'vm-0' }) }),
  ],
  ['a machine without a VM is deleted', 'delete machine: its VM is gone', world({ vm: undefined })],
  [
    'a deleted VM takes its instance along first',
    'delete instance: its VM is being deleted',
    world({ vm: vm({ deleting: true }), instance: running }),
  ],
  [
    'a deleted VM takes its machine along then',
    'delete machine: its VM is being deleted',
    world({ vm: vm({ deleting: true }) }),
  ],
  [
    'a deleted VM goes last',
    'patch vm: nothing is left underneath',
    world({ vm: vm({ deleting: true }), machine: undefined }),
  ],
];

for (const [title, move, underneath] of rows) test(title, () => assert.equal(inWords(plan(underneath)), move));

test('a status that still says Running is corrected before a new instance is made', () => {
  const vmThatRan = vm({ status: { phase: 'Running' } });
  assert.equal(inWords(plan(world({ vm: vmThatRan, machine: asked([start]) }))), 'patch vm: it is Starting');
});

const shown = (underneath: World): World => {
  // What the rules have to say about the status is written first, so that nothing but time can move them.
  let now = underneath;
  for (let round = 0; round < 5; round++) {
    const move = plan(now);
    if (move === undefined || !('verb' in move) || move.verb !== 'patch') return now;
    const status = move.operations[0]?.op === 'add' ? (move.operations[0].value as Record<string, unknown>) : {};
    now = { ...now, [move.on]: { ...move.object, status } };
  }
  return now;
};

test('a start request waits while an instance shuts down', () => {
  const waiting = shown(world({ machine: asked([], [startRequested]), instance: deleting, switches: patience }));
  assert.equal(inWords(plan(waiting)), 'later (60000 ms)');
});

test('a restart request waits until the instance runs', () => {
  const booting = world({
    machine: asked([], [restartRequested]),
    instance: instance({}),
    switches: { 'test/boot-delay': '5s' },
  });
  assert.equal(inWords(plan(shown(booting))), 'later (5000 ms)');
});

test('a deletion waits for the shorter of guest and grace period as it is written now', () => {
  const grace = (seconds: number): World['instance'] =>
    instance({ phase: 'Running' }, { deleting: true, spec: { terminationGracePeriodSeconds: seconds } });
  const later = (seconds: number): string =>
    inWords(plan(shown(world({ instance: grace(seconds), switches: { 'test/guest-shutdown-delay': '9s' } }))));
  assert.deepEqual([later(600), later(5)], ['later (9000 ms)', 'later (5000 ms)']);
  assert.equal(
    inWords(plan(world({ instance: grace(0), switches: patience }))),
    'patch instance: the grace period is over',
  );
});
