import type { VmopActivities } from '../../workflows/contracts/activities.ts';
import { vmopKeys, type Pins } from '../../workflows/contracts/vmop.ts';
import { OperationError } from '../failures.ts';
import { resources } from '../kubernetes/resources.ts';
import { setFinalizer, setKeys } from '../kubernetes/change.ts';
import type { VmopDeps } from './deps.ts';
import { claimMachine } from './machine.ts';
import { annotation } from './objects.ts';
import { changeVmop } from './status.ts';

/**
 * Claims the VM, remembers what runs on it now, and protects the operation's object until it is over. Taken again after a lost
 * answer, unless the signal was sent: then what was remembered holds.
 */
export function createPin({ cluster }: VmopDeps): VmopActivities['pin'] {
  return async ({ op, vmUid, supersedes }) => {
    const { namespace, vmName } = op;
    const vm = await cluster.get(resources.vm, namespace, vmName);
    if (vm?.metadata.uid !== vmUid) {
      const how = vm === undefined ? 'was deleted' : 'was replaced by another of the same name';
      return { reason: 'VirtualMachineNotFound', message: `VirtualMachine "${vmName}" ${how}` };
    }
    const machine = await claimMachine(cluster, op);
    if (machine === undefined) throw notYet(vmName);
    const instance = await cluster.get(resources.instance, namespace, vmName);
    const isSent = annotation(machine, vmopKeys.receipt) === op.uid;
    let pinned = instance?.metadata.uid ?? '';
    const vmop = await changeVmop(cluster, op, ({ object, isDeleting }) => {
      const before = annotation(object, vmopKeys.pinnedInstance);
      if (isSent && before !== undefined) pinned = before;
      const list = supersedes.map(({ name, uid }) => `${name}/${uid}`).join(',');
      const supersedesNow = annotation(object, vmopKeys.supersedes) ?? (list === '' ? undefined : list);
      return [
        ...setKeys(object, 'annotations', {
          [vmopKeys.pinnedInstance]: pinned,
          [vmopKeys.supersedes]: supersedesNow,
        }),
        ...(isDeleting ? [] : setFinalizer(object, vmopKeys.finalizer, true)),
      ];
    });
    if (vmop === undefined || vmop.isDeleting) throw beingDeleted(op.name);
    if (vmop.isTerminal) throw hasEnded(op.name);
    return { vmUid, ...(pinned === '' ? {} : { instanceUid: pinned }) } satisfies Pins;
  };
}

function notYet(vmName: string): OperationError {
  return new OperationError('Unavailable', `VirtualMachine "${vmName}" has no machine below it yet`, {
    code: 'NO_MACHINE',
    next: 'see whether the VM controller is running',
  });
}

/** Its deletion is on its way to us and ends the operation; without a signal it has nothing to take back. */
function beingDeleted(name: string): OperationError {
  return new OperationError('Refused', `operation "${name}" was deleted before it began`, { code: 'DELETED' });
}

function hasEnded(name: string): OperationError {
  return new OperationError('Refused', `operation "${name}" was ended before it began`, { code: 'ENDED' });
}
