import { kindOf, type OperationKind, type VmopType } from './matrix.ts';

export type RunPolicy = 'AlwaysOn' | 'AlwaysOff' | 'Manual' | 'AlwaysOnUnlessStoppedManually';

export type VmPhase =
  'Pending' | 'Running' | 'Degraded' | 'Terminating' | 'Stopped' | 'Stopping' | 'Starting' | 'Migrating' | 'Pause';

/** The part of a VM that the rules look at. */
export interface VmFacts {
  readonly uid: string;
  readonly runPolicy: RunPolicy;
  readonly phase: VmPhase;
}

interface Applicable {
  /** Absent: any. */
  readonly policies?: readonly RunPolicy[];
  readonly phases: readonly VmPhase[];
  /** Further phases when forced. */
  readonly forced?: readonly VmPhase[];
}

const manual = ['Manual', 'AlwaysOnUnlessStoppedManually'] as const;
const switchable = [...manual, 'AlwaysOn'] as const;

/** Under which run policies and in which phases an operation can run. */
const applicable: Readonly<Record<VmopType, Applicable>> = {
  Start: { policies: manual, phases: ['Stopped', 'Stopping'] },
  Stop: { policies: manual, phases: ['Running', 'Degraded', 'Starting', 'Pause', 'Pending'], forced: ['Stopping'] },
  Restart: { policies: switchable, phases: ['Running', 'Degraded', 'Starting', 'Pause'], forced: ['Stopping'] },
  Migrate: { policies: switchable, phases: ['Running'] },
  Evict: { policies: switchable, phases: ['Running'] },
  Restore: { phases: ['Stopped', 'Running', 'Pending'] },
  Clone: { phases: ['Stopped', 'Running'] },
};

/** Phases in which a newcomer can run only because it takes over this incumbent (`incumbent → newcomer`). */
const widened: Readonly<Record<string, readonly VmPhase[]>> = {
  'Start → Stop': ['Stopped', 'Stopping'],
  'Start → Stop!': ['Stopped', 'Stopping'],
  'Stop → Stop!': ['Stopped'],
  'Stop → Restart!': ['Stopped', 'Pending'],
  'Restart → Stop!': ['Stopped', 'Stopping'],
  'Restart → Restart!': ['Stopped', 'Pending'],
  'Migrate → Stop': ['Migrating'],
  'Migrate → Stop!': ['Migrating'],
  'Migrate → Restart': ['Migrating'],
  'Migrate → Restart!': ['Migrating'],
};

export type NotApplicable = 'NotApplicableForVirtualMachineRunPolicy' | 'NotApplicableForVirtualMachinePhase';

/** Why an operation can't run on the VM as it is; undefined: it can. The run policy is looked at first and never widened. */
export function notApplicable(
  operation: OperationKind,
  vm: VmFacts,
  takesOver: readonly OperationKind[],
): NotApplicable | undefined {
  const { policies, phases, forced = [] } = applicable[operation.type];
  if (policies !== undefined && !policies.includes(vm.runPolicy)) return 'NotApplicableForVirtualMachineRunPolicy';
  const extra = takesOver.flatMap((incumbent) => widened[`${incumbentName(incumbent)} → ${kindOf(operation)}`] ?? []);
  const all = [...phases, ...(operation.force === true ? forced : []), ...extra];
  return all.includes(vm.phase) ? undefined : 'NotApplicableForVirtualMachinePhase';
}

/** An eviction is a migration that somebody else asked for. */
function incumbentName(incumbent: OperationKind): string {
  return incumbent.type === 'Evict' ? 'Migrate' : kindOf(incumbent);
}
