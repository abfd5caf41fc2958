import type { KubeObject } from '../../../activities/kubernetes/port.ts';
import type { RunPolicy } from '../../../workflows/contracts/vmop.ts';
import { remove, setFinalizer, setSpec, setStatus, type Rule } from './moves.ts';
import { belonging, finalizers, hasFinalizer, isDeleting, runPolicyOf, vmUidOf } from './objects.ts';

const runStrategies: Readonly<Record<RunPolicy, string>> = {
  AlwaysOn: 'Always',
  AlwaysOff: 'Halted',
  Manual: 'Manual',
  AlwaysOnUnlessStoppedManually: 'Manual',
};

/** What was made for a VM that isn't there any more goes. What somebody else made is left alone. */
export const formerVm: Rule = ({ vm, machine, instance }) => {
  const isLeft = (object: KubeObject): boolean => {
    const uid = vmUidOf(object);
    return uid !== undefined && uid !== vm?.metadata.uid;
  };
  const why = 'its VM is gone';
  if (instance !== undefined && isLeft(instance))
    return isDeleting(instance) ? undefined : remove('instance', instance, why);
  return machine !== undefined && instance === undefined && isLeft(machine)
    ? remove('machine', machine, why)
    : undefined;
};

/** Instance, machine, VM: in this order. */
export const vmDeletion: Rule = ({ vm, machine, instance }) => {
  if (vm === undefined || !isDeleting(vm)) return undefined;
  const why = 'its VM is being deleted';
  if (instance !== undefined) return isDeleting(instance) ? undefined : remove('instance', instance, why);
  if (machine !== undefined) return remove('machine', machine, why);
  if (!hasFinalizer(vm, finalizers.vm)) return undefined;
  return setFinalizer('vm', vm, finalizers.vm, false, 'nothing is left underneath');
};

export const vmProtection: Rule = ({ vm }) => {
  if (vm === undefined || isDeleting(vm) || hasFinalizer(vm, finalizers.vm)) return undefined;
  return setFinalizer('vm', vm, finalizers.vm, true, 'it must not go before what is underneath');
};

/** Each VM has a machine of its name. One without a status is new: only then the VM may start because it was created. */
export const machineOfVm: Rule = ({ vm, machine, behaviour }) => {
  if (vm === undefined || isDeleting(vm)) return undefined;
  const runStrategy = runStrategies[runPolicyOf(vm)];
  if (machine === undefined) {
    const { name, namespace, uid } = vm.metadata;
    const body = { metadata: { name, namespace, ...belonging(uid, vm, 'vm') }, spec: { runStrategy } };
    return { verb: 'create', on: 'machine', body, why: 'the VM needs a machine' };
  }
  if (vmUidOf(machine) !== vm.metadata.uid) return undefined;
  if (machine.status === undefined) {
    const stateChangeRequests = startsOnCreation(vm, behaviour.value('startOnCreation')) ? [{ action: 'Start' }] : [];
    return setStatus('machine', machine, { printableStatus: 'Stopped', stateChangeRequests }, 'the VM is new');
  }
  return machine.spec?.['runStrategy'] === runStrategy
    ? undefined
    : setSpec('machine', machine, { ...machine.spec, runStrategy }, 'the run policy was changed');
};

function startsOnCreation(vm: KubeObject, wanted: string | undefined): boolean {
  const policy = runPolicyOf(vm);
  if (policy === 'AlwaysOn' || policy === 'AlwaysOff') return false; // decided by the policy alone
  return wanted === undefined ? policy === 'AlwaysOnUnlessStoppedManually' : wanted === 'true';
}
