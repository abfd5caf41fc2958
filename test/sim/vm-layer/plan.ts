import { boot, guestActs, pause, shutdown } from './guest.ts';
import { migrations } from './migration.ts';
import { firstOf, type Move, type Rule, type World } from './moves.ts';
import { formerVm, machineOfVm, vmDeletion, vmProtection } from './ownership.ts';
import { alwaysOff, endedByItself, firstEntry, instanceCreation, requestAnnotations } from './power.ts';
import { printableStatus, statusFirst, vmStatusRule } from './vm-status.ts';

/** In the order in which they act. The VM's status comes last: it shows what is there when nothing more is to be done at once. */
const rules: readonly Rule[] = [
  vmProtection,
  formerVm,
  vmDeletion,
  machineOfVm,
  shutdown,
  guestActs,
  alwaysOff,
  endedByItself,
  requestAnnotations,
  firstEntry,
  statusFirst,
  instanceCreation,
  boot,
  pause,
  migrations,
  printableStatus,
  vmStatusRule,
];

/** The next write, or when to look again. Each rule is asked in every round, so that its clock runs while its reason holds. */
export function plan(world: World): Move {
  return firstOf(rules.map((rule) => rule(world)));
}
