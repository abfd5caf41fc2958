import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vmopKeys, type VmPhase } from '../../../workflows/contracts/vmop.ts';
import type { World } from '../../sim/vm-layer/moves.ts';
import { phaseOf } from '../../sim/vm-layer/vm-status.ts';
import { instance, machine, vm, world } from './builders.ts';

const transfer = { migrationUid: 'm', startTimestamp: 't', sourceNode: 'a', targetNode: 'b', targetPod: 'p' };
const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' } as const;
const paused = { type: 'Paused', status: 'True', reason: 'PausedByUser' } as const;
const requested = machine({}, { annotations: { [vmopKeys.startRequested]: 'true' } });
const startEntry = machine({ stateChangeRequests: [{ action: 'Start' }] });
const alwaysOn = vm({ spec: { runPolicy: 'AlwaysOn' } });
const alwaysOff = vm({ spec: { runPolicy: 'AlwaysOff' } });

/** In the order of the table of phases. */
const rows: readonly (readonly [what: string, phase: VmPhase, world: World])[] = [
  ['no machine yet', 'Pending', world({ machine: undefined })],
  [
    'an instance that no node takes',
    'Pending',
    world({ instance: instance({ phase: 'Scheduling', conditions: [unschedulable] }) }),
  ],
  ['an instance of which nothing is known', 'Pending', world({ instance: instance({ phase: 'Unknown' }) })],
  [
    'a start that is held up',
    'Pending',
    world({ machine: startEntry, switches: { 'test/block-instance-creation': 'true' } }),
  ],
  ['an instance is on its way', 'Starting', world({ machine: startEntry })],
  ['an instance is on its way, by the run policy', 'Starting', world({ vm: alwaysOn })],
  ['an instance without a phase', 'Starting', world({ instance: instance({}) })],
  ['an instance that boots', 'Starting', world({ instance: instance({ phase: 'Scheduled' }) })],
  ['an instance that runs', 'Running', world({ instance: instance() })],
  ['an instance that is paused', 'Pause', world({ instance: instance({ phase: 'Running', conditions: [paused] }) })],
  [
    'an instance that is being deleted',
    'Stopping',
    world({ instance: instance({ phase: 'Running' }, { deleting: true }) }),
  ],
  ['one that is deleted while it boots', 'Stopping', world({ instance: instance({}, { deleting: true }) })],
  [
    'one that is deleted while it moves',
    'Stopping',
    world({ instance: instance({ phase: 'Running', migrationState: transfer }, { deleting: true }) }),
  ],
  ['an instance that has ended', 'Stopping', world({ instance: instance({ phase: 'Succeeded' }) })],
  ['no instance, nothing asks for one', 'Stopped', world()],
  [
    'no instance, a Stop entry that is left',
    'Stopped',
    world({ machine: machine({ stateChangeRequests: [{ action: 'Stop', uid: 'x' }] }) }),
  ],
  [
    'a stopped VM whose start request waits',
    'Stopped',
    world({ vm: vm({ status: { phase: 'Stopped' } }), machine: requested }),
  ],
  [
    'a pending VM whose start request waits',
    'Pending',
    world({ vm: vm({ status: { phase: 'Pending' } }), machine: requested }),
  ],
  ['a pending VM that nobody wants to start any more', 'Stopped', world({ vm: vm({ status: { phase: 'Pending' } }) })],
  ['a Start entry of a VM that is to be off', 'Stopped', world({ vm: alwaysOff, machine: startEntry })],
  ['memory is copied', 'Migrating', world({ instance: instance({ phase: 'Running', migrationState: transfer }) })],
  [
    'memory was copied',
    'Running',
    world({ instance: instance({ phase: 'Running', migrationState: { ...transfer, endTimestamp: 't' } }) }),
  ],
  ['the VM is being deleted', 'Terminating', world({ vm: vm({ deleting: true }), instance: instance() })],
];

for (const [what, phase, underneath] of rows) {
  test(`a VM is ${phase}: ${what}`, () => assert.equal(phaseOf(underneath), phase));
}
