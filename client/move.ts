import type { Action } from './commands/command.ts';
import { usageError } from './errors.ts';
import { moveSets } from './set/move.ts';
import { findNamed } from './set/named.ts';
import { moveVms, type PowerFlags } from './vm/act.ts';

/** `move VM|SET...`: VMs by an operation of their own, sets by the node that they ask for. */
export const move: Action<PowerFlags> = async (session, names, flags) => {
  const isPicked = flags.selector !== undefined || flags.all === true;
  // Who says that it is a VM, or picks VMs, needs no look.
  if (isPicked || names.length === 0 || names.every((name) => name.startsWith('vm/')))
    return await moveVms(session, names, flags);
  const found = await findNamed(session, names, ['vm', 'set'], flags);
  const sets = found.flatMap((one) => (one.kind === 'set' ? [one.set] : []));
  const vms = found.flatMap((one) => (one.kind === 'vm' ? [`${one.vm.namespace}/${one.vm.name}`] : []));
  if (sets.length > 0 && vms.length > 0)
    throw usageError('VMs and sets are moved in different ways: one command for each', [
      `vmflow move ${vms.map((vm) => `vm/${vm}`).join(' ')}`,
      `vmflow move ${sets.map(({ namespace, name }) => `set/${namespace}/${name}`).join(' ')}`,
    ]);
  return sets.length > 0 ? await moveSets(session, sets, flags) : await moveVms(session, vms, flags);
};
