import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import { vmopKeys, type VmPhase } from '../../../workflows/contracts/vmop.ts';
import { isPausedNow } from './guest.ts';
import { isOver } from './migration-status.ts';
import { setStatus, type Rule, type World } from './moves.ts';
import {
  annotationsOf,
  instanceStatus,
  isDeleting,
  machineStatus,
  vmStatus,
  type Condition,
  type InstanceMigration,
} from './objects.ts';
import { wantsInstance } from './power.ts';
import { isTransferring } from './transfer.ts';

/** Phase of a VM by what is underneath. */
export function phaseOf(world: World): VmPhase {
  const { vm, machine, instance } = world;
  if (vm !== undefined && isDeleting(vm)) return 'Terminating';
  if (machine?.status === undefined) return 'Pending';
  if (instance !== undefined) return phaseWith(instance);
  if (wantsInstance(world)) return world.behaviour.is('blockInstanceCreation') ? 'Pending' : 'Starting';
  const { [vmopKeys.startRequested]: start, [vmopKeys.restartRequested]: restart } = annotationsOf(machine);
  const wasPending = vm !== undefined && vmStatus(vm).phase === 'Pending';
  return wasPending && (start ?? restart) !== undefined ? 'Pending' : 'Stopped';
}

function phaseWith(instance: KubeObject): VmPhase {
  if (isDeleting(instance)) return 'Stopping';
  const { phase = 'Pending', conditions = [] } = instanceStatus(instance);
  switch (phase) {
    case 'Running':
      if (isPausedNow(instance)) return 'Pause';
      return isTransferring(instance) ? 'Migrating' : 'Running';
    case 'Succeeded':
    case 'Failed':
      return 'Stopping';
    case 'Pending':
    case 'Scheduling':
    case 'Scheduled':
      return conditions.some(({ reason }) => reason === 'Unschedulable') ? 'Pending' : 'Starting';
    default:
      return 'Pending'; // unknown
  }
}

/** Phases in which an instance runs. */
const running: readonly VmPhase[] = ['Running', 'Migrating', 'Pause'];

/**
 * What must not be seen together: a status that says Running and a new instance, which nobody may take for the one that runs; or
 * one that says Migrating and a migration that is over. In these cases the status is written first.
 */
export const statusFirst: Rule = (world) => {
  const { vm, instance } = world;
  if (vm === undefined) return undefined;
  const { phase = 'Pending' } = vmStatus(vm);
  const isLate = instance === undefined ? running.includes(phase) : phase === 'Migrating' && !isTransferring(instance);
  return isLate ? vmStatusRule(world) : undefined;
};

export const vmStatusRule: Rule = (world) => {
  const { vm, instance } = world;
  if (vm === undefined) return undefined;
  const phase = phaseOf(world);
  const { nodeName, ipAddress, migrationState } = instance === undefined ? {} : instanceStatus(instance);
  const status = {
    ...vm.status,
    phase,
    nodeName,
    ipAddress,
    observedGeneration: vm.metadata.generation,
    migrationState: migrationState === undefined ? undefined : shown(migrationState),
    conditions: conditionsOf(world, vm, phase),
  };
  return setStatus('vm', vm, status, `it is ${phase}`);
};

const printable: Readonly<Partial<Record<VmPhase, string>>> = { Pause: 'Paused', Pending: 'Provisioning' };

export const printableStatus: Rule = (world) => {
  const { vm, machine, instance, behaviour } = world;
  if (vm === undefined || machine?.status === undefined) return undefined;
  const phase = phaseOf(world);
  const isUnschedulable = phase === 'Pending' && instance !== undefined && behaviour.is('unschedulable');
  const wanted = isUnschedulable ? 'ErrorUnschedulable' : (printable[phase] ?? phase);
  if (machineStatus(machine).printableStatus === wanted) return undefined;
  return setStatus('machine', machine, { ...machine.status, printableStatus: wanted }, `it is ${wanted}`);
};

function shown({ startTimestamp, endTimestamp, failed, ...migration }: InstanceMigration): object {
  const { sourceNode, targetNode, targetPod } = migration;
  return {
    startTimestamp,
    endTimestamp,
    source: { node: sourceNode },
    target: { node: targetNode, pod: targetPod },
    result: endTimestamp === undefined ? '' : failed === true ? 'Failed' : 'Succeeded',
  };
}

type Wanted = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** Ours as they are to be, with those of others as they are. A time moves with status or reason. */
function conditionsOf(world: World, vm: KubeObject, phase: VmPhase): readonly Condition[] {
  const before = vmStatus(vm).conditions ?? [];
  const wanted = [runningCondition(phase), migratable(world), ...migrating(world, phase)];
  const ours = wanted.map((next) => {
    const last = before.find(({ type }) => type === next.type);
    const isSame = last?.status === next.status && last.reason === next.reason;
    return { ...next, lastTransitionTime: isSame ? last.lastTransitionTime : world.now };
  });
  const types = ['Running', 'Migratable', 'Migrating'];
  return [...ours, ...before.filter(({ type }) => !types.includes(type))];
}

function runningCondition(phase: VmPhase): Wanted {
  const runs = running.includes(phase);
  return { type: 'Running', status: runs ? 'True' : 'False', reason: runs ? 'Running' : 'NotRunning', message: '' };
}

function migratable({ behaviour }: World): Wanted {
  return behaviour.is('notMigratable')
    ? { type: 'Migratable', status: 'False', reason: 'NonMigratable', message: 'a device binds it to its node' }
    : { type: 'Migratable', status: 'True', reason: 'Migratable', message: '' };
}

/** Only where something runs that could move. */
function migrating({ instance, migrations, behaviour }: World, phase: VmPhase): readonly Wanted[] {
  if (instance === undefined || !running.includes(phase)) return [];
  const type = 'Migrating';
  if (isTransferring(instance)) return [{ type, status: 'True', reason: 'InProgress', message: 'memory is copied' }];
  if (migrations.some((migration) => !isOver(migration)))
    return [{ type, status: 'False', reason: 'Pending', message: 'a migration waits or is prepared' }];
  if (behaviour.is('notMigratable') || behaviour.is('notReadyToMigrate'))
    return [{ type, status: 'False', reason: 'Pending', message: 'it is not ready to migrate' }];
  return [{ type, status: 'False', reason: 'ReadyToMigrate', message: '' }];
}
