import type { Vmop } from '../../activities/vmop/objects.ts';
import type { VmFacts, VmopSpec } from '../../workflows/contracts/vmop.ts';
import { decide, type Incumbent } from '../../workflows/domain/vmop/decide.ts';
import { problemWithNodeSelector } from './node-selector.ts';

/** What an answer is made from, all of it read at this moment. */
export interface AdmissionFacts {
  readonly newcomer: { readonly namespace: string; readonly name: string; readonly spec: VmopSpec };
  /** All operations of the namespace. */
  readonly operations: readonly Vmop[];
  /** Absent: there is none, or it can't be read. */
  readonly vm?: VmFacts;
}

export type Admission =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      /** HTTP status that the person gets. */
      readonly code: 403;
      readonly message: string;
      /** Absent: it would be refused whatever is active. */
      readonly incumbent?: Incumbent;
    };

/**
 * Whether an operation may be created. The rule is `decide`, the one that judges it again before it runs; that judgement is
 * the one that counts, so only what can't have changed by then is refused here.
 */
export function admission({ newcomer, operations, vm }: AdmissionFacts): Admission {
  const { spec } = newcomer;
  const problem = problemWithNodeSelector(spec.migrate?.nodeSelector);
  if (problem !== undefined) return refused(problem);
  const incumbents = activeBefore(newcomer, operations);
  const decision = decide(incumbents, spec, spec.virtualMachineName, vm);
  switch (decision.kind) {
    case 'reject':
      return refused(decision.message, decision.incumbent);
    case 'notApplicable':
      return isForGood(decision.reason, incumbents) ? refused(decision.message, incumbents[0]) : { allowed: true };
    // A VM that is missing is no reason to refuse: the operation exists, fails, and says so for everybody to see.
    case 'vmNotFound':
    case 'run':
    case 'supersede':
      return { allowed: true };
  }
}

/**
 * The phase of a VM moves by itself: what doesn't fit now may fit when the operation gets its turn, and an operation that never
 * fits ends failed, where people look for it. The run policy is what somebody wants of the VM: while something else is active, a
 * newcomer that it rules out is refused, rather than look as if it could take over. With nothing active it fails like any other.
 */
function isForGood(reason: string, incumbents: readonly Incumbent[]): boolean {
  return incumbents.length > 0 && reason === 'NotApplicableForVirtualMachineRunPolicy';
}

/** Active ones of the same VM. One of the same name is no rival: creating it again must be answered with "already exists". */
function activeBefore(newcomer: AdmissionFacts['newcomer'], operations: readonly Vmop[]): readonly Incumbent[] {
  return operations
    .filter(({ ref, isTerminal }) => !isTerminal && ref.vmName === newcomer.spec.virtualMachineName)
    .filter(({ ref }) => ref.namespace === newcomer.namespace && ref.name !== newcomer.name)
    .map(({ ref: { name, uid, type, force } }) => ({ name, uid, type, ...(force === undefined ? {} : { force }) }));
}

function refused(message: string, incumbent?: Incumbent): Admission {
  return { allowed: false, code: 403, message, ...(incumbent === undefined ? {} : { incumbent }) };
}
