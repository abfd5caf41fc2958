import { notApplicable, type NotApplicable, type VmFacts } from './applicability.ts';
import { canSupersede, inWords, type OperationKind } from './matrix.ts';

/** An active operation that was accepted earlier for the same VM. */
export interface Incumbent extends OperationKind {
  readonly name: string;
  readonly uid: string;
}

export type Decision =
  | { readonly kind: 'run' }
  | { readonly kind: 'supersede'; readonly incumbents: readonly Incumbent[] }
  | { readonly kind: 'reject'; readonly incumbent: Incumbent; readonly message: string }
  | { readonly kind: 'notApplicable'; readonly reason: NotApplicable; readonly message: string }
  | { readonly kind: 'vmNotFound'; readonly message: string };

/**
 * What happens to a newcomer: the one rule of admission, of the coordinator and of the gate before execution. Pure and total.
 * Both the matrix and the applicability are looked at before any incumbent is touched. `tookOver`: what the newcomer has taken
 * over already, before a crash; it counts as if it were still there.
 */
export function decide(
  incumbents: readonly Incumbent[],
  newcomer: OperationKind,
  vmName: string,
  vm: VmFacts | undefined,
  tookOver: readonly OperationKind[] = [],
): Decision {
  const blocker = incumbents.find((incumbent) => !canSupersede(incumbent, newcomer));
  if (blocker !== undefined)
    return { kind: 'reject', incumbent: blocker, message: rejection(blocker, newcomer, vmName) };
  if (vm === undefined) return { kind: 'vmNotFound', message: `there is no VirtualMachine "${vmName}"` };
  const reason = notApplicable(newcomer, vm, [...incumbents, ...tookOver]);
  if (reason !== undefined)
    return { kind: 'notApplicable', reason, message: inapplicable(reason, newcomer, vmName, vm) };
  return incumbents.length === 0 ? { kind: 'run' } : { kind: 'supersede', incumbents };
}

/** Automation matches the name in quotes and "should finish first". */
function rejection(incumbent: Incumbent, newcomer: OperationKind, vmName: string): string {
  const forced = newcomer.force === true ? `${newcomer.type} (forced)` : newcomer.type;
  return `operation "${incumbent.name}" (${inWords(incumbent)}) is still active for VirtualMachine "${vmName}"; ${forced} cannot supersede it and it should finish first`;
}

function inapplicable(reason: NotApplicable, newcomer: OperationKind, vmName: string, vm: VmFacts): string {
  const because =
    reason === 'NotApplicableForVirtualMachineRunPolicy' ? `its run policy is ${vm.runPolicy}` : `it is ${vm.phase}`;
  return `${inWords(newcomer)} can't be applied to VirtualMachine "${vmName}": ${because}`;
}

/** Message on a superseded incumbent; automation matches the newcomer's name and type. */
export function supersededMessage(newcomer: OperationKind & { readonly name: string }): string {
  return `superseded by ${newcomer.name} (${inWords(newcomer)})`;
}
