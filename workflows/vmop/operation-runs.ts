import {
  ParentClosePolicy,
  TemporalFailure,
  WorkflowIdReusePolicy,
  getExternalWorkflowHandle,
  startChild,
} from '@temporalio/workflow';
import type { FinishResult, VmopActivities } from '../contracts/activities.ts';
import { longestAttribute, searchKeys } from '../contracts/attributes.ts';
import { vmOperationId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import type {
  AcceptedOperation,
  ActiveOperation,
  OperationInput,
  TakeDown,
  VmOperationMemo,
} from '../contracts/vmop.ts';
import { cutToBytes } from '../domain/text.ts';
import { inWords } from '../domain/vmop/matrix.ts';
import { control, oneLine } from '../shared/proxies.ts';
import { budgets } from './budgets.ts';
import type { vmOperation } from './vm-operation.ts';

/** False: it has a workflow already. One that was ended by hand may be started again, one that returned may not. */
export async function startOperation(input: OperationInput): Promise<boolean> {
  const { op, decision } = input;
  const memo: VmOperationMemo = {
    type: op.type,
    force: op.force ?? false,
    name: op.name,
    seq: op.seq,
    supersedes: decision.kind === 'supersede' ? decision.incumbents.map(({ name }) => name) : [],
  };
  try {
    await startChild<typeof vmOperation>('vmOperation', {
      workflowId: vmOperationId(op.namespace, op.uid),
      args: [input],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
      staticSummary: oneLine(`${inWords(op)}: ${op.namespace}/${op.vmName} (${op.name})`),
      memo: { ...memo },
      typedSearchAttributes: [
        { key: searchKeys.kind, value: 'vm-operation' },
        { key: searchKeys.status, value: 'Pending' },
        { key: searchKeys.vm, value: cutToBytes(`${op.namespace}/${op.vmName}`, longestAttribute) },
      ],
    });
    return true;
  } catch (err) {
    if (err instanceof TemporalFailure && err.name === 'WorkflowExecutionAlreadyStartedError') return false;
    throw err;
  }
}

/** Tells the workflow of an operation to end. False: none is running. */
export async function takeDown({ namespace, uid }: AcceptedOperation, order: TakeDown): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(vmOperationId(namespace, uid)).signal<[TakeDown]>(messages.takeDown, order);
    return true;
  } catch {
    return false;
  }
}

/** Ends an operation that has no workflow to end itself. False: it has one, and nothing was done. */
export async function failOperation(op: AcceptedOperation, message: string): Promise<boolean> {
  const done = (await control<VmopActivities>(budgets.finish, `end ${op.name} as failed`).finishVmop({
    op,
    result: { ok: false, reason: 'OperationFailed', message },
    revoke: true,
    unlessRuns: true,
  })) as FinishResult | null | undefined;
  // Workers of an earlier release answer nothing.
  return done?.runs !== true;
}

/** Without what only the coordinator needs to know. */
export function acceptedOf(active: ActiveOperation): AcceptedOperation {
  const { namespace, name, uid, vmName, type, createdAt, seq, force, by, nodeSelector } = active;
  return {
    ...{ namespace, name, uid, vmName, type, createdAt, seq },
    ...(force === undefined ? {} : { force }),
    ...(by === undefined ? {} : { by }),
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  };
}
