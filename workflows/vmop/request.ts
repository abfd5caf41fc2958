import { currentUpdateInfo } from '@temporalio/workflow';
import type { VmopActivities } from '../contracts/activities.ts';
import type { ActiveOperation, OperationName, RequestAnswer, VmRequest } from '../contracts/vmop.ts';
import { sha256Hex } from '../domain/sha256.ts';
import { decide } from '../domain/vmop/decide.ts';
import { inWords } from '../domain/vmop/matrix.ts';
import { isAlreadySo, isSameRequest, objectName } from '../domain/vmop/vm-request.ts';
import { failure } from '../shared/failures.ts';
import { control } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';
import type { Ledger } from './coordinator-state.ts';

/**
 * What a person's request comes to: an operation that is under way already, a VM that is so already, a refusal with its reason,
 * or a new object, which the API server has to accept.
 */
export async function answerRequest(
  vm: { readonly namespace: string; readonly vmName: string },
  ledger: Ledger,
  { spec, name, by, reason, dryRun = false }: VmRequest,
): Promise<RequestAnswer> {
  const { namespace, vmName } = vm;
  const activities = control<VmopActivities>(budgets.person, `${inWords(spec)} of ${vmName}, asked by ${by}`);
  const look = await activities.lookAtVm({ ...vm, operations: ledger.active });
  ledger.drop(look.ended);
  const active = ledger.active.filter(({ deleted }) => deleted !== true);
  const same = active.find((op) => isSameRequest(op, spec));
  if (same !== undefined && name === undefined) return { outcome: 'in-progress', ...nameOf(same) };
  if (look.vm === undefined)
    throw failure('NotFound', `there is no VirtualMachine "${vmName}" in namespace ${namespace}`, {
      code: 'VM_NOT_FOUND',
      next: `vmflow vm list -n ${namespace}`,
    });
  if (active.length === 0 && isAlreadySo(spec, look.vm.phase)) return { outcome: 'already-so', phase: look.vm.phase };
  const decision = decide(ledger.active, spec, vmName, look.vm);
  if (decision.kind !== 'run' && decision.kind !== 'supersede')
    throw failure('Refused', decision.message, {
      code: decision.kind === 'reject' ? 'NOT_READY_TO_BE_EXECUTED' : 'NOT_APPLICABLE',
      next:
        decision.kind === 'reject'
          ? `wait for it: vmflow op watch ${decision.incumbent.name} -n ${namespace}`
          : `vmflow vm get ${vmName} -n ${namespace}`,
    });
  const requestId = currentUpdateInfo()?.id ?? '';
  const ref = await activities.createVmop({
    namespace,
    name: name ?? objectName(vmName, spec, sha256Hex(requestId).slice(0, 8)),
    spec: { ...spec, virtualMachineName: vmName },
    by,
    ...(reason === undefined ? {} : { reason }),
    requestId,
    dryRun,
  });
  const supersedes = decision.kind === 'supersede' ? decision.incumbents.map((incumbent) => nameOf(incumbent)) : [];
  if (dryRun) return { outcome: 'would-create', supersedes };
  ledger.accept({ op: ref });
  return { outcome: 'created', ...nameOf(ref), supersedes };
}

function nameOf({ name, uid }: Pick<ActiveOperation, 'name' | 'uid'>): OperationName {
  return { name, uid };
}
