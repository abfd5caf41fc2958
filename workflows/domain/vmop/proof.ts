import type { RunPolicy, VmPhase } from './applicability.ts';
import type { OperationKind } from './matrix.ts';
import type { MigrationProgress } from './migration.ts';

/** What an operation on a VM looks at while it waits. Absent: not there. */
export interface World {
  readonly vm?: {
    readonly uid: string;
    readonly phase: VmPhase;
    readonly runPolicy: RunPolicy;
    readonly deleting: boolean;
  };
  readonly instance?: { readonly uid: string; readonly phase: string; readonly deleting: boolean };
  /** The migration that the operation created. */
  readonly migration?: MigrationProgress;
}

export interface Proof {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

interface Waiting extends OperationKind {
  readonly vmName: string;
}

/** What was there before the signal. */
interface Before {
  readonly vmUid: string;
  readonly instanceUid?: string;
}

/**
 * Whether an operation has reached its goal, can't reach it any more, or (undefined) has to wait. Done is proven by the
 * identity of objects, never by comparing times. Pure and total.
 */
export function proofOf(op: Waiting, before: Before, world: World): Proof | undefined {
  const { vm } = world;
  if (vm === undefined || vm.uid !== before.vmUid || vm.deleting) {
    const what = vm === undefined || vm.deleting ? 'was deleted' : 'was replaced by another of the same name';
    return failed('VirtualMachineNotFound', `VirtualMachine "${op.vmName}" ${what}`);
  }
  return judges[op.type](op, before, { ...world, vm });
}

type Judge = (op: Waiting, before: Before, world: World & { vm: NonNullable<World['vm']> }) => Proof | undefined;

/** The VM may still say what held for its last instance: the new one has to run itself. */
const isRunningAnew: Judge = (op, before, { vm, instance }) => {
  const isAnother = instance !== undefined && instance.uid !== before.instanceUid && !instance.deleting;
  if (isAnother && instance.phase === 'Running' && vm.phase === 'Running')
    return done(`VirtualMachine "${op.vmName}" is running`);
  if (vm.runPolicy !== 'AlwaysOff') return undefined;
  return failed(
    'NotApplicableForVirtualMachineRunPolicy',
    `the run policy of VirtualMachine "${op.vmName}" was changed to AlwaysOff: it will not run`,
  );
};

const isStopped: Judge = (op, before, { vm, instance }) => {
  if (instance !== undefined && instance.uid !== before.instanceUid)
    return failed('OperationFailed', `VirtualMachine "${op.vmName}" was started again by someone else`);
  return vm.phase === 'Stopped' && instance === undefined
    ? done(`VirtualMachine "${op.vmName}" is stopped`)
    : undefined;
};

const isMoved: Judge = (op, _before, { migration }) => {
  if (migration === undefined)
    return failed('OperationFailed', `the migration of VirtualMachine "${op.vmName}" vanished; nobody here deleted it`);
  if (migration.ended === undefined) return undefined;
  return migration.ended === 'succeeded'
    ? { ok: true, reason: 'Completed', message: migration.message }
    : failed(migration.reason, migration.message);
};

const isUnsupported: Judge = (op) => failed('OperationFailed', notSupported(op));

const judges: Readonly<Record<OperationKind['type'], Judge>> = {
  Start: isRunningAnew,
  Restart: isRunningAnew,
  Stop: isStopped,
  Migrate: isMoved,
  Evict: isMoved,
  Restore: isUnsupported,
  Clone: isUnsupported,
};

export function notSupported({ type }: OperationKind): string {
  return `${type} is not supported yet by this release; nothing was changed`;
}

function done(message: string): Proof {
  return { ok: true, reason: 'OperationCompleted', message };
}

function failed(reason: string, message: string): Proof {
  return { ok: false, reason, message };
}
